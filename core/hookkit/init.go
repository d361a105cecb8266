package hookkit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"rigup.dev/rigup/core/grant"
	"rigup.dev/rigup/hooks/sdk"
)

// Where the templates, the document for vendors and the Go sources of the SDK lie in the files that rigup carries.
const (
	guide = "hooks/README.md"
	// guideName is what that document is called in a project, which has a README of its own.
	guideName = "HOOKS.md"

	templateDir = "hooks/templates"
	commonDir   = templateDir + "/common"
	sdkDir      = "hooks/sdk"
	// templateSuffix is on files whose own name would mean something in rigup's tree: go.mod, .gitignore.
	templateSuffix = ".tmpl"
)

// Language is a language that there is a template for.
type Language struct {
	ID   string // as in --lang, and the name of the template's folder
	Name string
	// Install says how its compiler for WebAssembly is had, one line for each kind of system.
	Install []string
	// Build are the commands that make build/hook.wasm.
	Build []string
	// sources are the rows about its files in the project's README.
	sources []string
}

// Languages are those that there are templates for.
func Languages() []Language {
	return []Language{
		{ID: "go", Name: "Go",
			Install: []string{"any system: Go 1.24 or later from https://go.dev/dl; nothing else is needed"},
			Build:   []string{"mkdir -p build", "GOOS=wasip1 GOARCH=wasm go build -trimpath -buildvcs=false -ldflags '-s -w' -o build/hook.wasm ."},
			sources: []string{"| `main.go` | the hook |", "| `sdk/` | rigup's types for requests and responses, copied: it uses the standard library alone |"}},
		{ID: "c", Name: "C",
			Install: []string{
				"Debian 12: apt-get install make clang lld wasi-libc libclang-rt-14-dev-wasm32",
				"Ubuntu 24.04: apt-get install make clang lld wasi-libc libclang-rt-18-dev-wasm32",
				"elsewhere: wasi-sdk from https://github.com/WebAssembly/wasi-sdk, then make CLANG=/opt/wasi-sdk/bin/clang",
			},
			Build:   []string{"mkdir -p build", "clang --target=wasm32-wasi -std=c11 -Oz -flto -Wl,--strip-all -Wl,-z,stack-size=262144 -o build/hook.wasm hook.c"},
			sources: []string{"| `hook.c` | the hook |", "| `json.h` | a small reader and writer of JSON |"}},
		{ID: "rust", Name: "Rust",
			Install: []string{
				"with rustup, on any system: rustup target add wasm32-wasip1",
				"Debian 12: apt-get install make rustc libstd-rust-dev-wasm32; there the target is called wasm32-wasi",
			},
			Build:   []string{"mkdir -p build", "rustc --edition 2021 --target wasm32-wasip1 -C opt-level=z -C lto -C codegen-units=1 -C panic=abort -C strip=symbols -o build/hook.wasm src/main.rs"},
			sources: []string{"| `src/main.rs` | the hook |", "| `src/json.rs` | a small reader and writer of JSON |"}},
		{ID: "assemblyscript", Name: "AssemblyScript",
			Install: []string{"any system: Node.js 16 or later with npm from https://nodejs.org; make brings the compiler itself, as package-lock.json pins it", "Debian 12: apt-get install make npm"},
			Build:   []string{"npm ci", "npm run build"},
			sources: []string{"| `assembly/index.ts` | the hook |", "| `assembly/json.ts`, `assembly/wasi.ts` | a small reader and writer of JSON; standard input and output |"}},
	}
}

// Project is what a new hook is about. The fields that are empty get a default where there is a sensible one.
type Project struct {
	Language  string // the ID of a Language
	Name      string // the hook's id
	Title     string // for people: "Moore Threads GPUs"
	Publisher string // "Moore Threads"
	PCI       string // PCI vendor id: 0x1ed5
	// Device is how the driver's device nodes are called: a path below /dev, with a * in the place of the number.
	Device   string
	Resource string // what pods ask for: mthreads.com/gpu
}

// Invalid is a value that a project cannot have.
type Invalid struct{ Flag, Value, Allowed string }

func (e *Invalid) Error() string {
	return fmt.Sprintf("%s cannot be %s: %s", e.Flag, e.Value, e.Allowed)
}

// ErrExists is returned by Init when a file would be overwritten.
var ErrExists = errors.New("already there")

var (
	nameForm   = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)
	deviceForm = regexp.MustCompile(`^/dev/[A-Za-z0-9][A-Za-z0-9._/-]+\*$`)
	pciForm    = regexp.MustCompile(`^0x[0-9a-f]{4}$`)
)

// withDefaults fills in what was not given.
func (p Project) withDefaults() Project {
	set := func(s *string, value string) {
		if *s == "" {
			*s = value
		}
	}
	p.PCI = strings.ToLower(p.PCI)
	set(&p.Publisher, p.Name)
	set(&p.Title, p.Publisher+" GPUs")
	set(&p.Device, "/dev/"+p.Name+"*")
	set(&p.Resource, p.Name+".com/gpu")
	return p
}

// check says which value a project cannot have.
func (p Project) check() error {
	text := func(flag, s string) error {
		if s == "" || len(s) > 100 || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || strings.ContainsRune("\"\\`@|\x7f", r) }) {
			return &Invalid{flag, s, "it is one line of up to 100 characters, without quotes, backslashes, @ and |"}
		}
		return nil
	}
	manifest := p.manifest()
	switch {
	case len(p.Name) > 40 || !nameForm.MatchString(p.Name):
		return &Invalid{"NAME", p.Name, "use up to 40 lower-case letters, digits and dashes, beginning with a letter"}
	case !slices.ContainsFunc(Languages(), func(l Language) bool { return l.ID == p.Language }):
		var ids []string
		for _, l := range Languages() {
			ids = append(ids, l.ID)
		}
		return &Invalid{"--lang", p.Language, "it is one of " + strings.Join(ids, ", ")}
	case !pciForm.MatchString(p.PCI):
		return &Invalid{"--pci", p.PCI, "it is a PCI vendor id such as 0x10de: 0x and the four digits before the colon in lspci -nn"}
	case !deviceForm.MatchString(p.Device) || grant.Attachable(p.Device) != nil:
		return &Invalid{"--device", p.Device, "it is a path below /dev with a * in the place of the number, such as /dev/mtgpu.*"}
	}
	if err := text("--publisher", p.Publisher); err != nil {
		return err
	}
	if err := text("--title", p.Title); err != nil {
		return err
	}
	err := grant.Valid(manifest)
	if err != nil {
		if why, ok := strings.CutPrefix(err.Error(), "permissions.resources: "); ok {
			return &Invalid{"--resource", p.Resource, why}
		}
	}
	return err
}

// manifest is the part of the project's manifest that depends on what was given.
func (p Project) manifest() sdk.Manifest {
	return sdk.Manifest{
		API: sdk.API, ABI: sdk.ABI, ID: p.Name, Version: "0.1.0", Title: p.Title, Publisher: p.Publisher, Kinds: []sdk.Kind{sdk.GPUHook},
		Match:       sdk.Match{PCI: []string{p.PCI}, Devices: []string{p.Device}},
		Permissions: sdk.Permissions{Devices: []string{p.Device}, Resources: []string{p.Resource}},
	}
}

// replacer puts a project's values into the places of a template.
func (p Project) replacer(l Language) *strings.Replacer {
	code := "    " + strings.Join(l.Build, "\n    ")
	return strings.NewReplacer(
		"@ID@", p.Name, "@TITLE@", p.Title, "@PUBLISHER@", p.Publisher, "@PCI@", p.PCI,
		"@DEVICE@", p.Device, "@PREFIX@", strings.TrimSuffix(p.Device, "*"), "@RESOURCE@", p.Resource,
		"@LANGUAGE@", l.Name, "@INSTALL@", "- "+strings.Join(l.Install, "\n- "), "@BUILD@", code, "@SOURCES@", strings.Join(l.sources, "\n"),
	)
}

// Init writes a new project below dir, which it makes if need be, and returns the paths that it wrote, with slashes.
// It stops before the first write if one of them is there (ErrExists), or if a value is not possible (*Invalid).
// files are those that rigup carries.
func Init(files fs.FS, p Project, dir string) ([]string, error) {
	p = p.withDefaults()
	if err := p.check(); err != nil {
		return nil, err
	}
	content, err := p.files(files)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	var paths []string
	for name := range content {
		if _, err := root.Lstat(filepath.FromSlash(name)); err == nil {
			return nil, fmt.Errorf("%s: %w", filepath.Join(dir, filepath.FromSlash(name)), ErrExists)
		}
		paths = append(paths, name)
	}
	slices.Sort(paths)
	for _, name := range paths {
		if err := root.MkdirAll(filepath.FromSlash(path.Dir(name)), 0o755); err != nil {
			return nil, err
		}
		if err := root.WriteFile(filepath.FromSlash(name), []byte(content[name]), 0o644); err != nil {
			return nil, err
		}
	}
	return paths, nil
}

// files are the contents of a project, by path.
func (p Project) files(files fs.FS) (map[string]string, error) {
	i := slices.IndexFunc(Languages(), func(l Language) bool { return l.ID == p.Language })
	r := p.replacer(Languages()[i])
	out := map[string]string{}
	for _, from := range []string{commonDir, path.Join(templateDir, p.Language)} {
		err := fs.WalkDir(files, from, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			b, err := fs.ReadFile(files, name)
			out[inProject(strings.TrimPrefix(name, from+"/"))] = r.Replace(string(b))
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("read the template: %w", err)
		}
	}
	b, err := fs.ReadFile(files, guide)
	if err != nil {
		return nil, fmt.Errorf("read the guide: %w", err)
	}
	out[guideName] = string(b)
	if p.Language != "go" {
		return out, nil
	}
	sources, err := fs.Glob(files, sdkDir+"/*.go")
	if err != nil {
		return nil, err
	}
	for _, name := range sources {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		b, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, fmt.Errorf("read the SDK: %w", err)
		}
		out["sdk/"+path.Base(name)] = string(b)
	}
	return out, nil
}

// inProject is the name of a template's file in a project.
func inProject(name string) string {
	name = strings.TrimSuffix(name, templateSuffix)
	if path.Base(name) == "gitignore" {
		return path.Join(path.Dir(name), ".gitignore")
	}
	return name
}
