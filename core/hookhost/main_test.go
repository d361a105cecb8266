package hookhost

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"testing"
	"time"

	w "rigup.dev/rigup/core/hookhost/wasmtest"
)

// Arguments that make the test program something else than tests.
const (
	evilArg   = "__evil"   // a child that does not keep to the protocol; what it does comes next
	lookArg   = "__look"   // a child that says what it can reach
	parentArg = "__parent" // a host that asks a hook which never ends
)

// TestMain makes the test program its own child, as the real program is.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) == 2 && os.Args[1] == ChildArg:
		os.Exit(Child(context.Background(), os.Stdin, os.Stdout))
	case len(os.Args) == 3 && os.Args[1] == evilArg:
		evil(os.Args[2])
	case len(os.Args) == 2 && os.Args[1] == lookArg:
		b, _ := json.Marshal(look())
		fmt.Println(string(b))
	case len(os.Args) == 2 && os.Args[1] == parentArg:
		endless()
	default:
		os.Exit(m.Run())
	}
}

// evil is a child that was taken over.
func evil(what string) {
	signal.Ignore(os.Interrupt)
	in, l := bufio.NewReader(os.Stdin), Limits{}.withDefaults()
	frame := func() { _, _, _ = readFrame(in, l.fromParent) }
	say := func(kind byte, text string) { _ = writeFrame(os.Stdout, kind, []byte(text)) }
	claim := func(kind byte, n uint32) { _, _ = os.Stdout.Write(binary.LittleEndian.AppendUint32([]byte{kind}, n)) }
	switch frame(); what { // the setup
	case "silent":
		time.Sleep(time.Minute)
	case "gone":
		os.Exit(3)
	case "babble":
		for {
			_, _ = os.Stdout.WriteString(strings.Repeat("babble ", 1000))
		}
	case "shouts":
		for {
			_, _ = os.Stderr.WriteString(strings.Repeat("\x1b[31m\u202eshout ", 1000))
		}
	case "complains":
		fmt.Fprintln(os.Stderr, "cannot \x1b[31mwork\u202e here")
		os.Exit(exitBroken)
	}
	say(frameHello, "")
	frame() // the module
	if what == "no module" {
		claim(frameDecoded, 1)
	}
	say(frameDecoded, "")
	frame() // the request
	switch what {
	case "large log":
		claim(frameLog, 1<<32-1)
	case "unknown frame":
		say('x', "x")
	case "wrong way":
		say(frameModule, "x")
	case "no log":
		say(frameAnswer, answer)
	}
	say(frameLog, "log \x1b[2Jline\u202e\n")
	switch what {
	case "large answer":
		claim(frameAnswer, 1<<20+1)
	case "half answer":
		claim(frameAnswer, 100)
		_, _ = os.Stdout.WriteString("{")
		os.Exit(0)
	case "unknown cause":
		say(frameFailure, "host\nall is well")
	case "hidden text":
		say(frameFailure, "crashed\nsaid \x1b[31mred\u202e\nand more"+strings.Repeat("!", 2000))
	case "stalls":
		time.Sleep(time.Minute)
	case "more":
		say(frameAnswer, answer)
		say(frameLog, "")
		say(frameAnswer, strings.Replace(answer, "decline", "claim", 1))
		frame()
	}
	os.Exit(0)
}

// endless asks a hook that calls itself, which nothing but the end of its process stops, and says which process.
func endless() {
	h := New(Options{})
	go func() {
		for {
			time.Sleep(10 * time.Millisecond)
			h.mu.Lock()
			for _, s := range h.sessions {
				if len(s.turn) == 0 && s.child != nil && s.child.hello {
					fmt.Println(s.child.process.Pid)
					h.mu.Unlock()
					return
				}
			}
			h.mu.Unlock()
		}
	}()
	for _, c := range runaways() {
		if c.name == "recursion without a loop" {
			_, _ = h.Ask(context.Background(), NewModule("endless", c.module()), detect())
		}
	}
}

// hello is a module that answers.
func hello() Module { return NewModule("hello", w.Echo([]byte(answer))) }
