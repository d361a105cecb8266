package facts

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"time"
	"unicode"

	"rigup.dev/rigup/core/facts/program"
	"rigup.dev/rigup/hooks/sdk"
)

// vendorTool is a program that is asked for a version. The questions are asked in their order, until one is
// understood: tools differ by version in what they take.
type vendorTool struct {
	name string
	ask  []question
}

type question struct {
	args    string
	version *regexp.Regexp // its group is the version
}

var (
	anyVersion = regexp.MustCompile(`(?:^|[^\d.])v?(\d+(?:\.\d+)+)`)
	// misunderstood is how tools answer an option that they do not know.
	misunderstood = regexp.MustCompile(`(?i)invalid (?:combination|option|argument|choice)|unrecogni[sz]ed|unknown (?:option|flag|command|argument)|not (?:a )?(?:valid|recogni[sz]ed)|usage:`)
)

// vendorTools are the tools, by name. nvidia-smi is asked for the driver's version, which is its own too, because that
// makes it talk to the driver: asked for its own alone it answers where the driver does not work. Its list of devices
// is not asked for: it has the ids of the machine's GPUs. rocminfo has no option, and tells what the runtime is.
var vendorTools = []vendorTool{
	{"amd-smi", []question{{"version", anyVersion}}},
	{"clinfo", []question{{"--version", anyVersion}}},
	{"nvidia-container-cli", []question{{"--version", anyVersion}}},
	{"nvidia-container-runtime", []question{{"--version", anyVersion}}},
	{"nvidia-ctk", []question{{"--version", anyVersion}}},
	{"nvidia-smi", []question{
		{"--query-gpu=driver_version --format=csv,noheader", regexp.MustCompile(`^\s*(\d+(?:\.\d+)+)\s*(?:\n|$)`)},
		{"-h", regexp.MustCompile(`NVIDIA System Management Interface -- v(\d+(?:\.\d+)+)`)},
	}},
	{"rocm-smi", []question{{"--version", anyVersion}, {"-V", anyVersion}}},
	{"rocminfo", []question{{"", regexp.MustCompile(`(?m)^Runtime Version:\s+(\d+(?:\.\d+)+)`)}}},
	{"xpu-smi", []question{{"--version", anyVersion}, {"-v", anyVersion}}},
}

// toolLimit is how long a tool may take, all questions together. Those of large machines need seconds to start when
// nothing keeps the driver initialised.
const toolLimit = 5 * time.Second

// shortOutput is how much of a tool's complaint is kept.
const shortOutput = 400

// tools asks every tool that is installed, at the same time. They are unknown together: a tool that could not be
// looked for is neither there nor not there.
func (o Observer) tools(ctx context.Context) Fact[[]sdk.Tool] {
	answers := make([]Fact[sdk.Tool], len(vendorTools))
	var all sync.WaitGroup
	for i, t := range vendorTools {
		all.Go(func() { answers[i] = o.tool(ctx, t) })
	}
	all.Wait()
	var found []sdk.Tool
	for _, t := range answers {
		switch t.Status {
		case Known:
			found = append(found, t.Value)
		case Unknown:
			return Not[[]sdk.Tool](t.Why)
		}
	}
	return Of(found)
}

// tool asks one tool. One that is not installed is absent, one that fails is known.
func (o Observer) tool(ctx context.Context, t vendorTool) Fact[sdk.Tool] {
	ctx, cancel := context.WithTimeout(ctx, toolLimit)
	defer cancel()
	path := Within(ctx, toolLimit, func(context.Context) (string, error) { return o.Programs().Find(t.name) })
	if !path.Known() {
		return Fact[sdk.Tool]{Status: path.Status, Why: path.Why}
	}
	p := path.Value
	out := sdk.Tool{Name: t.name, Path: p}
	for _, q := range t.ask {
		r := program.Run(ctx, program.Call{Root: o.root(), Path: p, Args: strings.Fields(q.args), Env: o.ToolEnv(), Limit: toolLimit, Max: small})
		if m := q.version.FindStringSubmatch(r.Output); m != nil && r.Err == nil && r.Exit == 0 {
			out.Version, out.Output = m[1], ""
			break
		}
		if complaint := o.complaint(r); out.Output == "" || complaint != "" {
			out.Output = complaint
		}
		if r.Err != nil || !misunderstood.MatchString(r.Output) {
			break
		}
	}
	return Of(out)
}

// complaint is what a tool said instead of a version.
func (o Observer) complaint(r program.Result) string {
	switch {
	case errors.Is(r.Err, context.DeadlineExceeded):
		return fmt.Sprintf("no answer within %d s", int(toolLimit.Seconds()))
	case r.Err != nil:
		return "it could not be run: " + Why(r.Err)
	}
	text := o.Private.Clean(printable(r.Output))
	if len(text) > shortOutput {
		text = strings.ToValidUTF8(text[:shortOutput], "") + " ..."
	}
	if text == "" {
		text = fmt.Sprintf("exit code %d", r.Exit)
	}
	return text
}

// printable keeps the lines of a text, without control characters.
func printable(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r != '\n' && unicode.IsControl(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "?")))
}

// Programs says where programs are looked for: where vendors put them, then in PATH.
func (o Observer) Programs() program.Search {
	s := program.Search{Root: o.root()}
	if runtime.GOOS == "windows" {
		s.Suffix, s.Any = ".exe", true
		for _, d := range []string{o.env("SystemRoot") + `\System32`, o.env("ProgramFiles") + `\NVIDIA Corporation\NVSMI`} {
			s.Dirs = append(s.Dirs, program.PathDirs(d)...)
		}
	} else {
		s.Dirs = []string{"/usr/bin", "/usr/local/bin", "/usr/sbin", "/bin", "/usr/lib/wsl/lib", "/opt/rocm*/bin", "/usr/local/cuda*/bin", "/opt/nvidia/bin", "/snap/bin"}
	}
	for _, d := range program.PathDirs(o.env("PATH")) {
		// WSL adds Windows' directories, which are slow to look into and hold no program of Linux.
		if o.env("WSL_DISTRO_NAME") == "" || !strings.HasPrefix(d, "/mnt/") {
			s.Dirs = append(s.Dirs, d)
		}
	}
	return s
}

// ToolEnv is the environment of a vendor's tool: what it needs to find itself and its libraries, and English.
func (o Observer) ToolEnv() []string {
	env := []string{"LC_ALL=C"}
	for _, n := range []string{"PATH", "HOME", "LD_LIBRARY_PATH", "SystemRoot", "SystemDrive", "ProgramFiles", "windir", "TEMP"} {
		if v := o.env(n); v != "" {
			env = append(env, n+"="+v)
		}
	}
	return env
}
