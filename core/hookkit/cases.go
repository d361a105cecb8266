package hookkit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"rigup.dev/rigup/hooks/sdk"
)

const (
	caseSuffix     = ".json"
	expectedSuffix = ".expected.json"
)

// Case is one file that a hook is tested with: a machine, which is asked about as rigup would, or one request.
type Case struct {
	Name    string // of the file, without .json
	Path    string
	Machine *sdk.Machine
	Request *sdk.Request
}

// Expected is the path of the file with the expected answers.
func (c Case) Expected() string { return strings.TrimSuffix(c.Path, caseSuffix) + expectedSuffix }

// LoadCases reads cases: files, and all of the folders, by name. Files with expected answers are left out. The error
// names the file.
func LoadCases(paths []string) ([]Case, error) {
	var files []string
	for _, p := range paths {
		info, err := os.Stat(p)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, &nowhere{p, err}
		case err != nil:
			return nil, err
		case !info.IsDir():
			files = append(files, p)
			continue
		}
		found, err := filepath.Glob(filepath.Join(p, "*"+caseSuffix))
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	files = slices.DeleteFunc(files, func(f string) bool { return strings.HasSuffix(f, expectedSuffix) })
	if len(paths) > 0 && len(files) == 0 {
		return nil, fmt.Errorf("no cases in %s", strings.Join(paths, ", "))
	}
	var out []Case
	for _, f := range files {
		c, err := loadCase(f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f, err)
		}
		out = append(out, c)
	}
	return out, nil
}

// nowhere is a path that does not exist.
type nowhere struct {
	path string
	err  error
}

func (e *nowhere) Error() string { return e.path + ": there is no such file or folder" }
func (e *nowhere) Unwrap() error { return e.err }

func loadCase(path string) (Case, error) {
	c := Case{Name: strings.TrimSuffix(filepath.Base(path), caseSuffix), Path: path}
	b, err := os.ReadFile(path)
	if err != nil {
		return c, err
	}
	var head struct{ API string }
	if err := json.Unmarshal(b, &head); err != nil {
		if _, plain := sdk.DecodeMachine(b); plain != nil {
			err = plain
		}
		return c, err
	}
	switch head.API {
	case sdk.MachineAPI:
		m, err := sdk.DecodeMachine(b)
		c.Machine = &m
		return c, err
	case sdk.API:
		var r sdk.Request
		if err := json.Unmarshal(b, &r); err != nil {
			return c, err
		}
		if r.Phase != sdk.Detect && r.Phase != sdk.Decide && r.Phase != sdk.Diagnose {
			return c, fmt.Errorf("the phase is %q", r.Phase)
		}
		c.Request = &r
		return c, nil
	}
	return c, fmt.Errorf("the field api is %q; a machine has %q, a request %q", head.API, sdk.MachineAPI, sdk.API)
}

// golden holds the answers to a case against the file beside it, or writes that.
func (c Case) golden(got Expected, update bool) Check {
	k := Check{Name: "case " + c.Name, Result: OK, Text: summary(got)}
	text, err := got.text()
	if err != nil {
		return k.failed(err.Error())
	}
	if update {
		if err := os.WriteFile(c.Expected(), text, 0o644); err != nil {
			return k.failed(err.Error())
		}
		k.Text += "; written to " + filepath.Base(c.Expected())
		return k
	}
	b, err := os.ReadFile(c.Expected())
	if errors.Is(err, fs.ErrNotExist) {
		k.Result, k.Text = Skipped, k.Text+"; there is no "+filepath.Base(c.Expected())+" to compare with: --update writes it"
		return k
	}
	var want []byte
	if err == nil {
		want, err = readExpected(b)
	}
	if err != nil {
		return k.failed(filepath.Base(c.Expected()) + ": " + err.Error())
	}
	if lines := diff(string(want), string(text)); len(lines) > 0 {
		k = k.failed("it answers otherwise than " + filepath.Base(c.Expected()) + " says; --update keeps the new answer")
		k.Details = append([]string{"- expected  + answered"}, lines...)
	}
	return k
}

// summary is what the answers amount to: "detect: claim, decide: decision".
func summary(e Expected) string {
	var parts []string
	for _, a := range e.Answers {
		s := fmt.Sprintf("%s: %s", a.Phase, a.Response.Kind)
		switch {
		case a.Response.Reason != nil:
			s += " " + a.Response.Reason.ID
		case a.Response.Kind == sdk.Ask:
			s += fmt.Sprintf(" (%d)", len(a.Response.Probes))
		}
		parts = append(parts, s)
	}
	if len(parts) == 0 {
		return "not asked: the manifest does not match"
	}
	return strings.Join(parts, ", ")
}
