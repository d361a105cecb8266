package hookkit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aead.dev/minisign"

	"rigup.dev/rigup"
	"rigup.dev/rigup/core/hookhost"
	"rigup.dev/rigup/core/hookhost/hookfake"
	"rigup.dev/rigup/core/hookhost/wasmtest"
	"rigup.dev/rigup/core/hookstore"
	"rigup.dev/rigup/hooks/sdk"
)

func acme() Project {
	return Project{Language: "c", Name: "acme", PCI: "0x1ACE", Publisher: "Acme Inc."}
}

func TestInit(t *testing.T) {
	for _, l := range Languages() {
		t.Run(l.ID, func(t *testing.T) {
			p, dir := acme(), filepath.Join(t.TempDir(), "deep", "acme")
			p.Language = l.ID
			written, err := Init(rigup.Files, p, dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{"README.md", guideName, "Makefile", "manifest.json", ".gitignore", "cases/one-gpu.json", "cases/one-gpu.expected.json"} {
				if !slices.Contains(written, want) {
					t.Errorf("no %s", want)
				}
			}
			for _, name := range written {
				b, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
				if err != nil {
					t.Fatal(err)
				}
				for _, bad := range []string{"@ID@", "@TITLE@", "@PUBLISHER@", "@PCI@", "@DEVICE@", "@PREFIX@", "@RESOURCE@", "@LANGUAGE@", "@INSTALL@", "@BUILD@", "@SOURCES@"} {
					if strings.Contains(string(b), bad) {
						t.Errorf("%s: %s is left", name, bad)
					}
				}
			}
			b, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Pack(module(t), b); err != nil {
				t.Error(err)
			}
			if err := validator(t, "manifest").Validate(anyOf(t, b)); err != nil {
				t.Error(err)
			}
			cases, err := LoadCases([]string{filepath.Join(dir, "cases")})
			if err != nil || len(cases) < 5 {
				t.Errorf("%d cases, %v", len(cases), err)
			}
			if _, err := Init(rigup.Files, p, dir); !errors.Is(err, ErrExists) {
				t.Errorf("written twice: %v", err)
			}
		})
	}
}

func TestInitBringsTheWholeSDK(t *testing.T) {
	p, dir := acme(), t.TempDir()
	p.Language = "go"
	if _, err := Init(rigup.Files, p, dir); err != nil {
		t.Fatal(err)
	}
	sources, err := filepath.Glob(filepath.Join(sdkTree, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sources {
		_, err := os.Stat(filepath.Join(dir, "sdk", filepath.Base(s)))
		if test := strings.HasSuffix(s, "_test.go"); test == (err == nil) {
			t.Errorf("%s: %v", s, err)
		}
	}
}

func TestInitNamesWhatIsNotPossible(t *testing.T) {
	for _, x := range []struct {
		change func(*Project)
		flag   string
	}{
		{func(p *Project) { p.Language = "cobol" }, "--lang"},
		{func(p *Project) { p.Name = "Acme GPU" }, "NAME"},
		{func(p *Project) { p.Name = "../acme" }, "NAME"},
		{func(p *Project) { p.Name = strings.Repeat("a", 41) }, "NAME"},
		{func(p *Project) { p.PCI = "" }, "--pci"},
		{func(p *Project) { p.PCI = "10de" }, "--pci"},
		{func(p *Project) { p.Device = "/dev/*" }, "--device"},
		{func(p *Project) { p.Device = "/dev/sd*" }, "--device"},
		{func(p *Project) { p.Device = "/dev/acme0" }, "--device"},
		{func(p *Project) { p.Resource = "gpu" }, "--resource"},
		{func(p *Project) { p.Resource = "kubernetes.io/gpu" }, "--resource"},
		{func(p *Project) { p.Title = `a "title"` }, "--title"},
		{func(p *Project) { p.Publisher = "a\nb" }, "--publisher"},
	} {
		p, dir := acme(), t.TempDir()
		x.change(&p)
		_, err := Init(rigup.Files, p, dir)
		var bad *Invalid
		if !errors.As(err, &bad) || bad.Flag != x.flag || bad.Allowed == "" {
			t.Errorf("%+v: %v", p, err)
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("%+v: something was written", p)
		}
	}
}

// module is the smallest one that the host takes.
func module(t *testing.T) []byte {
	t.Helper()
	b := wasmtest.Raw(
		wasmtest.Section(wasmtest.TypeID, wasmtest.Vec([]byte{0x60, 0, 0})),
		wasmtest.Section(wasmtest.FunctionID, wasmtest.Vec([]byte{0})),
		wasmtest.Section(wasmtest.ExportID, wasmtest.Vec(wasmtest.Cat(wasmtest.Name("_start"), []byte{0, 0}))),
		wasmtest.Section(wasmtest.CodeID, wasmtest.Vec([]byte{2, 0, wasmtest.End})),
	)
	if _, err := hookhost.Inspect(b); err != nil {
		t.Fatal(err)
	}
	return b
}

func manifest() sdk.Manifest {
	return sdk.Manifest{
		API: sdk.API, ABI: sdk.ABI, ID: "acme", Version: "1.2.3", Title: "Acme GPUs", Publisher: "Acme Inc.", Kinds: []sdk.Kind{sdk.GPUHook},
		Match: sdk.Match{OS: []string{"linux"}, PCI: []string{"0x1ace"}, Devices: []string{"/dev/acme*"}},
		Permissions: sdk.Permissions{
			Probes: []sdk.ProbeKind{sdk.ToolVersion}, Tools: []string{"acme-smi"}, Devices: []string{"/dev/acme*"},
			Attach: []sdk.AttachKind{sdk.AttachDevices}, Resources: []string{"acme.com/gpu"}, Targets: []string{"node"},
		},
	}
}

func packed(t *testing.T, m sdk.Manifest) Packed {
	t.Helper()
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Pack(module(t), b)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPack(t *testing.T) {
	first := packed(t, manifest())
	m := manifest()
	m.Version = "2.0.0"
	text, _ := json.Marshal(m)
	again, err := Pack(first.Bytes, text) // the new manifest takes the place of the old one
	if err != nil || again.Manifest.Version != "2.0.0" || len(again.Static.Manifests) != 1 {
		t.Fatal(again.Manifest, err)
	}
	if same, err := Ready(again.Bytes); err != nil || string(same.Bytes) != string(again.Bytes) {
		t.Error(same.Manifest, err)
	}
	if _, err := Ready(module(t)); err == nil {
		t.Error("a manifest out of nothing")
	}
	var bad *BadModule
	if _, err := Pack([]byte("no module"), text); !errors.As(err, &bad) {
		t.Error(err)
	}
	m.Permissions.Devices = []string{"/dev/*"}
	text, _ = json.Marshal(m)
	if _, err := Pack(module(t), text); err == nil || errors.As(err, &bad) || !strings.Contains(err.Error(), "permissions.devices") {
		t.Error(err)
	}
	if _, err := Pack(module(t), []byte(`{"api":"rigup.hook/v1","colour":"red"}`)); err == nil || !strings.Contains(err.Error(), "colour") {
		t.Error(err)
	}
}

func TestSign(t *testing.T) {
	p := packed(t, manifest())
	private, public, err := NewKey("")
	if err != nil {
		t.Fatal(err)
	}
	k, err := ReadKey(private, nil)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := k.Public(); err != nil || string(again) != string(public) {
		t.Errorf("%s, %s, %v", public, again, err)
	}
	sig := k.Sign(p)
	key, err := hookstore.ParseKey(string(public))
	if err != nil {
		t.Fatal(err)
	}
	var pub minisign.PublicKey
	if err := pub.UnmarshalText([]byte(key.Text)); err != nil || !minisign.Verify(pub, p.Bytes, sig) {
		t.Error("the signature does not hold", err)
	}
	if !strings.Contains(string(sig), "trusted comment: rigup hook acme 1.2.3\n") {
		t.Errorf("%s", sig)
	}
	if _, err := ReadKey([]byte("nonsense"), nil); err == nil {
		t.Error("nonsense is a key")
	}
}

// The key of the test is encrypted with little work. A real one takes seconds, on purpose.
func TestEncryptedKey(t *testing.T) {
	private, err := os.ReadFile(filepath.Join("testdata", "cheap.key"))
	if err != nil {
		t.Fatal(err)
	}
	for password, want := range map[string]error{"correct horse": nil, "wrong": ErrPassword} {
		asked := 0
		_, err := ReadKey(private, func() (string, error) { asked++; return password, nil })
		if !errors.Is(err, want) || asked != 1 {
			t.Errorf("%s: %v, asked %d times", password, err, asked)
		}
	}
}

// hook is a well-behaved one, which tests spoil.
func hook(r sdk.Request) sdk.Response {
	mine := slices.ContainsFunc(r.Facts.PCI.Value, func(d sdk.PCIDevice) bool { return d.Vendor == "0x1ace" })
	switch {
	case r.Phase == sdk.Diagnose || !mine:
		return sdk.No("not mine")
	case r.Phase == sdk.Detect:
		return sdk.Claiming(sdk.Claim{Confidence: 90})
	case len(r.Probes) == 0:
		return sdk.Probing(sdk.Probe{ID: "v", Kind: sdk.ToolVersion, Tool: "acme-smi", Args: []string{"--version"}})
	case r.Probes[0].Status != sdk.Known:
		return sdk.Giving(sdk.Reason{ID: "tool-missing", Text: "There is no acme-smi."})
	}
	return sdk.Using(sdk.GPU{
		Vendor: "Acme Inc.", Resource: "acme.com/gpu", Devices: []sdk.Device{{ID: "0"}}, Node: sdk.Node{Target: "node"},
		Attach: []sdk.Attach{{Kind: sdk.AttachDevices, Nodes: []string{"/dev/acme0"}}}, Check: sdk.Check{Compute: sdk.ComputeDevices},
		CDI: sdk.CDI{Mode: sdk.CDIStatic, Kind: "acme.com/gpu", Spec: json.RawMessage(`{"kind":"acme.com/gpu","cdiVersion":"0.5.0",` +
			`"devices":[{"name":"0","containerEdits":{"deviceNodes":[{"path":"/dev/acme0"}]}}]}`)},
	})
}

func run(t *testing.T, h sdk.Hook, update bool, cases ...Case) Report {
	t.Helper()
	s := Suite{Run: &hookfake.Runner{Hooks: map[string]sdk.Hook{"acme": h}}, Update: update}
	r, err := s.Test(context.Background(), "acme.wasm", packed(t, manifest()).Bytes, cases)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func failing(r Report) (out []string) {
	for _, c := range r.Checks {
		if c.Result == Failed {
			out = append(out, c.Name+": "+c.Text)
		}
	}
	return out
}

func TestSuiteFindsWhatIsWrong(t *testing.T) {
	if f := failing(run(t, hook, false)); len(f) > 0 {
		t.Fatalf("a good hook fails: %v", f)
	}
	calls := 0
	for _, x := range []struct {
		name string
		hook sdk.Hook
		want string // in one of the failures
	}{
		{"claims everything", func(r sdk.Request) sdk.Response {
			switch r.Phase {
			case sdk.Detect:
				return sdk.Claiming(sdk.Claim{Confidence: 1})
			case sdk.Decide:
				return sdk.Giving(sdk.Reason{ID: "nothing", Text: "There is nothing."})
			}
			return hook(r)
		}, "no GPU: it claims a machine that has nothing"},
		{"H5: not the same twice", func(r sdk.Request) sdk.Response {
			calls++
			return sdk.No(fmt.Sprint("call ", calls))
		}, "does not answer the same"},
		{"H4: a probe beyond", func(r sdk.Request) sdk.Response {
			if r.Phase == sdk.Decide {
				return sdk.Probing(sdk.Probe{ID: "x", Kind: sdk.FileRead, Path: "/etc/os-release"})
			}
			return hook(r)
		}, "a card with driver: it asks for the probe file.read"},
		{"H4: a probe beyond, diagnosing", func(r sdk.Request) sdk.Response {
			if r.Phase == sdk.Diagnose {
				return sdk.Probing(sdk.Probe{ID: "x", Kind: sdk.EngineInfo})
			}
			return hook(r)
		}, "an empty failure: it asks for the probe engine.info"},
		{"asks for ever", func(r sdk.Request) sdk.Response {
			if r.Phase == sdk.Diagnose {
				return sdk.Probing(sdk.Probe{ID: "x", Kind: sdk.ToolVersion, Tool: "acme-smi", Args: []string{"-v"}})
			}
			return hook(r)
		}, "more than 3 times"},
		{"answers the wrong kind", func(r sdk.Request) sdk.Response { return sdk.Giving(sdk.Reason{ID: "x", Text: "y"}) }, "answered the phase detect with the kind"},
	} {
		t.Run(x.name, func(t *testing.T) {
			f := failing(run(t, x.hook, false))
			if !slices.ContainsFunc(f, func(s string) bool { return strings.Contains(s, x.want) }) {
				t.Errorf("no %q in %q", x.want, f)
			}
		})
	}
}

// A hook that never answers in time costs seconds for each question. It is not asked all of them.
func TestSuiteLosesPatience(t *testing.T) {
	late := &hookfake.Runner{Failures: map[string]*hookhost.Failure{"acme": {Cause: hookhost.TimedOut, Text: "did not end within 2 s"}}}
	r, err := Suite{Run: late}.Test(context.Background(), "acme.wasm", packed(t, manifest()).Bytes, nil)
	if err != nil || r.Count(Failed) != patience || r.Count(Skipped) != 1 || len(late.Asked()) != patience {
		t.Errorf("%d asked, %+v, %v", len(late.Asked()), r.Checks, err)
	}
}

func TestSuiteOfModulesThatAreNone(t *testing.T) {
	s := Suite{Run: &hookfake.Runner{}}
	two := wasmtest.Cat(packed(t, manifest()).Bytes, packed(t, manifest()).Bytes[len(module(t)):])
	bad := manifest()
	bad.Permissions.Binds = []string{"/home"}
	text, _ := json.Marshal(bad)
	beyond, err := hookhost.AddManifest(module(t), text)
	if err != nil {
		t.Fatal(err)
	}
	for name, x := range map[string]struct {
		module []byte
		want   string
	}{
		"garbage":     {[]byte("garbage"), ""},
		"no manifest": {module(t), "rigup hooks pack"},
		"two":         {two, "there are 2"},
		"beyond":      {beyond, "permissions.binds"},
	} {
		r, err := s.Test(context.Background(), name, x.module, nil)
		f := failing(r)
		if err != nil || len(f) != 1 || !strings.Contains(f[0], x.want) || r.Manifest != nil {
			t.Errorf("%s: %v %v", name, f, err)
		}
	}
}

func TestCases(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, v any) {
		t.Helper()
		b, ok := v.([]byte)
		if !ok {
			var err error
			if b, err = json.Marshal(v); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	own := machines(manifest())
	m := sdk.Machine{API: sdk.MachineAPI, Title: "one card", Facts: own[len(own)-1].facts, Probes: []sdk.Case{{
		Probe:  sdk.Probe{Kind: sdk.ToolVersion, Tool: "acme-smi", Args: []string{"--version"}},
		Result: sdk.ProbeResult{Status: sdk.Known, Text: "acme-smi 1.0"},
	}}}
	write("one.json", m)
	m.Probes = nil
	write("no-tool.json", m)
	m.Facts = own[0].facts
	write("none.json", m)
	write("failure.json", sdk.Request{API: sdk.API, Hook: "other", Kind: sdk.GPUHook, Phase: sdk.Diagnose, Facts: m.Facts, Failure: &sdk.Failure{Step: sdk.StepPod}})
	cases, err := LoadCases([]string{dir})
	if err != nil || len(cases) != 4 {
		t.Fatal(cases, err)
	}
	if r := run(t, hook, false, cases...); r.Count(Skipped) != 4 || r.Count(Failed) != 0 {
		t.Errorf("without expected answers: %+v", r)
	}
	if r := run(t, hook, true, cases...); r.Count(Skipped) != 0 || r.Count(Failed) != 0 {
		t.Errorf("--update: %+v", r)
	}
	r := run(t, hook, false, cases...)
	if r.Count(Skipped)+r.Count(Failed) != 0 {
		t.Errorf("as written: %+v", r)
	}
	var texts []string
	for _, c := range r.Checks {
		if strings.HasPrefix(c.Name, "case ") {
			texts = append(texts, c.Name+": "+c.Text)
		}
	}
	want := []string{
		"case failure: diagnose: decline",
		"case no-tool: detect: claim, decide: probes (1), decide: reason tool-missing",
		"case none: not asked: the manifest does not match",
		"case one: detect: claim, decide: probes (1), decide: decision",
	}
	if !slices.Equal(texts, want) {
		t.Errorf("%q", texts)
	}
	r = run(t, func(r sdk.Request) sdk.Response {
		a := hook(r)
		if a.Reason != nil {
			a.Reason.Text = "Something else."
		}
		return a
	}, false, cases...)
	i := slices.IndexFunc(r.Checks, func(c Check) bool { return c.Result == Failed })
	if r.Count(Failed) != 1 || r.Checks[i].Name != "case no-tool" || !slices.ContainsFunc(r.Checks[i].Details, func(s string) bool {
		return strings.HasPrefix(s, "+ ") && strings.Contains(s, "Something else.")
	}) {
		t.Errorf("%+v", r.Checks)
	}
	b, err := os.ReadFile(filepath.Join(dir, "one.expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := validator(t, "expected").Validate(anyOf(t, b)); err != nil {
		t.Error(err)
	}
	write("bad.json", []byte(`{"api":"something/v1"}`))
	if _, err := LoadCases([]string{dir}); err == nil || !strings.Contains(err.Error(), "bad.json") {
		t.Error(err)
	}
	if _, err := LoadCases([]string{filepath.Join(dir, "nowhere")}); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := LoadCases([]string{t.TempDir()}); err == nil {
		t.Error("a folder without cases")
	}
}

func TestDiff(t *testing.T) {
	for _, x := range []struct{ a, b, want string }{
		{"a\nb\nc", "a\nb\nc", ""},
		{"a\nb\nc", "a\nx\nc", "  a|- b|+ x|  c"},
		{"1\n2\n3\n4\n5\n6\n7\n8\n9", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10", "...|  8|  9|+ 10"},
		{"a", "a\na", "  a|+ a"},
		{"1\n2\n3\n4\n5\n6\n7\n8", "0\n2\n3\n4\n5\n6\n7\n9", "- 1|+ 0|  2|  3|...|  6|  7|- 8|+ 9"},
	} {
		if got := strings.Join(diff(x.a, x.b), "|"); strings.TrimPrefix(got, "...|") != strings.TrimPrefix(x.want, "...|") {
			t.Errorf("%q, %q: %q, not %q", x.a, x.b, got, x.want)
		}
	}
}
