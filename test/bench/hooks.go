package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"time"

	"rigup.dev/rigup/core/event"
)

// decide measures the decision when every hook has to run and when all answers are remembered.
func (b *bench) decide() error {
	var cold, warm, whole []time.Duration
	for range 7 {
		if err := os.RemoveAll(filepath.Join(b.home, ".rigup/cache")); err != nil {
			return err
		}
		for _, into := range []*[]time.Duration{&cold, &warm} {
			begun := time.Now()
			events, err := b.events("plan")
			if err != nil {
				return err
			}
			*into = append(*into, stageTime(events, "decide"))
			if into == &warm {
				whole = append(whole, time.Since(begun))
			}
		}
	}
	row("decide, with nothing remembered", millis(median(cold)), "", "")
	row("decide, on an unchanged machine", millis(median(warm)), "", "")
	row("plan, on an unchanged machine", millis(median(whole)), "", "")
	return b.manyHooks(median(whole))
}

func stageTime(events []event.Event, stage string) (d time.Duration) {
	for _, e := range events {
		if e.Type == event.TypeStage && e.Stage == stage && e.State != event.Running {
			d = time.Duration(e.Seconds * float64(time.Second))
		}
	}
	return d
}

// manyHooks measures a plan with hooks that do not match this machine, against one without them.
func (b *bench) manyHooks(without time.Duration) error {
	module := "bin/hooks/moorethreads.wasm"
	manifest, err := os.ReadFile("hooks/examples/moorethreads/manifest.json")
	if err != nil {
		return err
	}
	if _, err := os.Stat(module); err != nil {
		return fmt.Errorf("%w: test/hooks.sh builds it", err)
	}
	defer os.RemoveAll(filepath.Join(b.home, ".rigup/hooks"))
	have := 0
	for _, n := range []int{1, 10, 100} {
		for ; have < n; have++ {
			if err := b.approve(module, manifest, fmt.Sprintf("other-%d", have)); err != nil {
				return err
			}
		}
		var all []time.Duration
		for range 7 {
			begun := time.Now()
			if _, err := b.events("plan"); err != nil {
				return err
			}
			all = append(all, time.Since(begun))
		}
		row(fmt.Sprintf("  and %d hooks that do not match", n), millis(median(all)), millis(without), fmt.Sprintf("%.2f", median(all).Seconds()/without.Seconds()))
	}
	return nil
}

// approve installs the module under another id.
func (b *bench) approve(module string, manifest []byte, id string) error {
	var m map[string]any
	if err := json.Unmarshal(manifest, &m); err != nil {
		return err
	}
	m["id"] = id
	changed, err := json.Marshal(m)
	if err != nil {
		return err
	}
	file, out := filepath.Join(b.home, id+".json"), filepath.Join(b.home, id+".wasm")
	if err := os.WriteFile(file, changed, 0o600); err != nil {
		return err
	}
	for _, args := range [][]string{{"hooks", "pack", module, "--manifest", file, "-o", out}, {"hooks", "add", out, "--allow-unsigned"}} {
		cmd := exec.Command(b.rigup, args...)
		cmd.Env = append(os.Environ(), "HOME="+b.home)
		said, err := cmd.CombinedOutput()
		if digest := regexp.MustCompile(`--accept (sha256:[0-9a-f]{64})`).FindSubmatch(said); digest != nil {
			cmd = exec.Command(b.rigup, append(args, "--accept", string(digest[1]))...)
			cmd.Env = append(os.Environ(), "HOME="+b.home)
			said, err = cmd.CombinedOutput()
		}
		if err != nil {
			return fmt.Errorf("rigup %v: %w\n%s", args, err, said)
		}
	}
	return nil
}
