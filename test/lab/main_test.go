package main

import (
	"strings"
	"testing"
)

func TestParseCommandLine(t *testing.T) {
	for line, want := range map[string]string{
		"up":                          "20",
		"up --engine 20,29":           "20 29",
		"up --engine=29":              "29",
		"down":                        "20 29",
		"exec -- ls -l":               "20|ls -l",
		"exec --engine 29 -- x --y=1": "29|x --y=1",
		"exec --dir /tmp -- x":        "20|x",
		"exec":                        "error",
		"exec --engine 20,29 -- x":    "error",
		"info --engine 20,29":         "error",
		"up --engine 27":              "error",
		"up now":                      "error",
		"up --bogus":                  "error",
		"bogus":                       "error",
	} {
		o, err := parse(strings.Fields(line))
		got := "error"
		if err == nil {
			var names []string
			for _, e := range o.engines {
				names = append(names, e.name)
			}
			got = strings.Join(names, " ")
			if len(o.args) > 0 {
				got += "|" + strings.Join(o.args, " ")
			}
		}
		if got != want {
			t.Errorf("%q: got %q (%v), want %q", line, got, err, want)
		}
	}
}

func TestEnginesShareNoNetwork(t *testing.T) {
	seen := map[string]string{}
	for _, name := range []string{defaultState + " 20", defaultState + " 29", "/tmp/a 20", "/tmp/a 29", "/tmp/b 20"} {
		state, n, _ := strings.Cut(name, " ")
		net := engineNetwork(state, n)
		for _, v := range []string{net.ns, net.veth, net.host, net.eng, net.subnet} {
			if other, ok := seen[v]; ok {
				t.Errorf("engines %s and %s share %s", other, name, v)
			}
			seen[v] = name
		}
		// The kernel's limit for an interface's name.
		if len(net.veth) > 15 {
			t.Errorf("%s is too long", net.veth)
		}
	}
}
