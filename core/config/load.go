package config

import (
	"errors"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"

	"rigup.dev/rigup/core/reason"
)

// Input is where settings are read from.
type Input struct {
	// Flags are those that were given, by name without dashes, each with its values as they were written.
	// "config" names the file.
	Flags map[string][]string
	Env   func(string) string
	// ReadFile reads the configuration file.
	ReadFile  func(string) ([]byte, error)
	UserHome  string // the user's home directory
	ConfigDir string // the user's configuration directory; empty: none
	WorkDir   string // what relative paths are relative to
}

// FileName is the name of the configuration file in the folder "rigup" of the user's configuration directory.
// It is never looked for in the current directory: a folder that one walks into must not decide.
const FileName = "rigup.yaml"

// Load reads all settings. Its errors carry a reason that names what is wrong where.
func Load(in Input) (Config, error) {
	c := Config{Home: in.Env("RIGUP_HOME")}
	if c.Home == "" {
		c.Home = filepath.Join(in.UserHome, ".rigup")
	}
	c.Home = absolute(c.Home, in.UserHome, in.WorkDir)
	for _, f := range fields {
		if f.Default == "" {
			continue
		}
		if err := f.set(&c, place{source: Default, name: f.Name}, []string{f.Default}); err != nil {
			return c, err
		}
	}
	if err := in.file(&c); err != nil {
		return c, err
	}
	for _, f := range fields {
		v := in.Env(f.Env())
		if v == "" {
			continue // an empty variable is how scripts leave one out
		}
		raw := []string{v}
		if f.Many { // values may hold commas and spaces, so each stands on a line
			raw = lines(v)
		}
		if len(raw) == 0 {
			continue
		}
		if err := f.set(&c, in.place(Env, f.Env(), in.WorkDir), raw); err != nil {
			return c, err
		}
	}
	for _, f := range fields {
		if raw := in.Flags[f.Name]; len(raw) > 0 {
			if err := f.set(&c, in.place(Flag, "--"+f.Name, in.WorkDir), raw); err != nil {
				return c, err
			}
		}
	}
	if !c.DataDir.Set() {
		c.DataDir = Setting[string]{filepath.Join(c.Dir(), "data"), Default}
	}
	return c, nil
}

// file reads the configuration file: the one that is named, or the user's own if there is one.
func (in Input) file(c *Config) error {
	path, named := in.Env("RIGUP_CONFIG"), true
	if v := in.Flags["config"]; len(v) > 0 {
		path = v[len(v)-1]
	}
	if path == "" {
		if in.ConfigDir == "" {
			return nil
		}
		path, named = filepath.Join(in.ConfigDir, "rigup", FileName), false
	}
	path = absolute(path, in.UserHome, in.WorkDir)
	b, err := in.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !named:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return reason.Fail(reason.New(reason.UsageConfig, "file", path, "what", "it does not exist"), nil)
	case err != nil:
		return reason.Fail(reason.New(reason.UsageConfig, "file", path, "what", "it cannot be read"), err)
	}
	c.File = path
	return in.apply(c, path, b)
}

func lines(s string) []string {
	var out []string
	for l := range strings.Lines(s) {
		if l = strings.TrimSpace(l); l != "" {
			out = append(out, l)
		}
	}
	return out
}

func envName(flag string) string {
	return "RIGUP_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// place is where a value stands, for errors and for relative paths.
type place struct {
	source Source
	name   string // --flag, VARIABLE or key
	file   string // the configuration file, with the line
	base   string // what relative paths are relative to
	home   string
}

func (in Input) place(s Source, name, base string) place {
	return place{source: s, name: name, base: base, home: in.UserHome}
}

// refuse makes the error for a value that is not allowed. A parser that knows its own reason keeps it.
func (p place) refuse(value string, allowed error) error {
	var own *reason.Error
	if errors.As(allowed, &own) {
		return allowed
	}
	if value = hide(value); value == "" {
		value = "empty"
	}
	if p.source == File {
		return p.mistake(p.name + " cannot be " + value + ": " + allowed.Error())
	}
	return reason.Fail(reason.New(reason.UsageValue, "flag", p.name, "value", value, "allowed", allowed.Error()), nil)
}

func (p place) mistake(what string) error {
	return reason.Fail(reason.New(reason.UsageConfig, "file", p.file, "what", what), nil)
}

var userinfo = regexp.MustCompile(`://[^/@\s]*@`)

// hide takes user and password out of an address: errors are kept and shown around (E2).
func hide(s string) string { return userinfo.ReplaceAllString(s, "://***@") }

func (p place) path(s string) (string, error) {
	if strings.TrimSpace(s) == "" {
		return "", errors.New("name a path")
	}
	return absolute(s, p.home, p.base), nil
}

// absolute makes a path absolute. The shell expands ~ on a command line, but not in files and variables.
func absolute(path, home, base string) string {
	if path == "~" || strings.HasPrefix(path, "~/") {
		path = filepath.Join(home, path[1:])
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(base, path)
	}
	return filepath.Clean(path)
}
