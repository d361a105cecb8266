package jobs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
)

// MaxBody is the largest request, in bytes.
const MaxBody = 1 << 20

// Request is a job to be made.
type Request struct {
	// Name is optional; without one the job gets a name of its own.
	Name      string            `json:"name,omitempty"`
	Image     string            `json:"image"`
	Command   []string          `json:"command"`
	Args      []string          `json:"args,omitempty"`
	Env       map[string]string `json:"env,omitempty"`
	Resources Resources         `json:"resources"`
	// WorkingDir is the directory in which the command starts; empty: the image's own.
	WorkingDir string `json:"workingDir,omitempty"`
	// TimeoutSeconds ends a job that runs longer; 0: never.
	TimeoutSeconds int64 `json:"timeoutSeconds,omitempty"`
	// Retries is how often a failed run is tried again; nil: as the chart says.
	Retries *int32 `json:"retries,omitempty"`
}

// Resources is what a job needs. Requests equal limits.
type Resources struct {
	CPU    string `json:"cpu,omitempty"`
	Memory string `json:"memory,omitempty"`
	GPU    int64  `json:"gpu,omitempty"`
}

// Problem is a refusal. It is the body of the answer, under "error".
type Problem struct {
	// Status is the HTTP status.
	Status int `json:"-"`
	// Field is the part of the request that is wrong, dotted; empty when it is none.
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
}

func (p *Problem) Error() string {
	if p.Field == "" {
		return p.Message
	}
	return p.Field + ": " + p.Message
}

func invalid(field, format string, args ...any) *Problem {
	return &Problem{Status: 400, Field: field, Message: fmt.Sprintf(format, args...)}
}

// Decode reads one request strictly: a field that is not known is refused by name.
func Decode(r io.Reader) (Request, error) {
	var req Request
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	if err := d.Decode(&req); err != nil {
		return req, decodeProblem(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return req, invalid("", "there is something after the JSON object")
	}
	return req, nil
}

var unknownField = regexp.MustCompile(`unknown field "(.*)"`)

func decodeProblem(err error) *Problem {
	var big *http.MaxBytesError
	var kind *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &big):
		return &Problem{Status: 413, Message: fmt.Sprintf("the request is larger than %d bytes", MaxBody)}
	case errors.As(err, &kind) && kind.Field != "":
		return invalid(kind.Field, "a %s is expected, not a %s", kindName(kind.Type.Kind().String()), kind.Value)
	case errors.As(err, &syntax):
		return invalid("", "not valid JSON at byte %d: %s", syntax.Offset, syntax.Error())
	case errors.Is(err, io.EOF):
		return invalid("", "the request is empty; a JSON object is expected")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return invalid("", "the JSON ends in the middle")
	}
	if m := unknownField.FindStringSubmatch(err.Error()); m != nil {
		return invalid(m[1], "there is no such field; known are name, image, command, args, env, resources{cpu,memory,gpu}, workingDir, timeoutSeconds, retries")
	}
	return invalid("", "a JSON object is expected")
}

func kindName(kind string) string {
	switch {
	case strings.HasPrefix(kind, "int"):
		return "number"
	case kind == "slice":
		return "list"
	case kind == "struct" || kind == "map":
		return "object"
	}
	return kind
}

// limits on a request, so that a Job stays an object that the API server takes.
const (
	maxParts = 1000
	maxName  = 63 - len("-00000") // pods of a job add six characters to its name
)

// check validates every field; the first problem is returned.
func (s Settings) check(r Request) error {
	if r.Name != "" {
		if errs := validation.IsDNS1123Label(r.Name); len(errs) > 0 {
			return invalid("name", "%q: lower-case letters, digits and dashes are allowed, with a letter or digit at both ends", r.Name)
		}
		if len(r.Name) > maxName {
			return invalid("name", "it has %d characters, %d are allowed", len(r.Name), maxName)
		}
	}
	if err := image(r.Image); err != nil {
		return err
	}
	if len(r.Command) == 0 {
		return invalid("command", "it is missing; for example [\"python\", \"train.py\"]")
	}
	if r.Command[0] == "" {
		return invalid("command.0", "the program to run is empty")
	}
	if len(r.Command) > maxParts || len(r.Args) > maxParts || len(r.Env) > maxParts {
		return invalid("", "command, args and env take %d entries each at most", maxParts)
	}
	for i, list := range [][]string{r.Command, r.Args} {
		for j, v := range list {
			if strings.ContainsRune(v, 0) {
				return invalid(fmt.Sprintf("%s.%d", []string{"command", "args"}[i], j), "it contains a zero byte")
			}
		}
	}
	for _, k := range sortedKeys(r.Env) {
		if errs := validation.IsEnvVarName(k); len(errs) > 0 {
			return invalid("env."+k, "this is not the name of a variable")
		}
		if strings.ContainsRune(r.Env[k], 0) {
			return invalid("env."+k, "it contains a zero byte")
		}
	}
	if r.WorkingDir != "" && !strings.HasPrefix(r.WorkingDir, "/") {
		return invalid("workingDir", "%q is not an absolute path", r.WorkingDir)
	}
	if r.TimeoutSeconds < 0 {
		return invalid("timeoutSeconds", "it cannot be negative")
	}
	if r.Retries != nil && (*r.Retries < 0 || *r.Retries > 100) {
		return invalid("retries", "a number from 0 to 100 is allowed")
	}
	if _, err := amount("resources.cpu", r.Resources.CPU, s.CPU, "2 or 500m"); err != nil {
		return err
	}
	if _, err := amount("resources.memory", r.Resources.Memory, s.Memory, "8Gi"); err != nil {
		return err
	}
	return s.checkGPU(r.Resources.GPU)
}

func (s Settings) checkGPU(n int64) error {
	switch {
	case n < 0:
		return invalid("resources.gpu", "it cannot be negative")
	case n > 0 && s.GPU.Resource == "":
		return &Problem{Status: 422, Field: "resources.gpu", Message: "this cluster runs on the CPU: it has no GPU that a job can ask for; rigup status says why"}
	case n > s.GPU.Max:
		return &Problem{Status: 422, Field: "resources.gpu", Message: fmt.Sprintf("%d are asked for, a job can have %d of %s", n, s.GPU.Max, s.GPU.Resource)}
	}
	return nil
}

func amount(field, v string, otherwise resource.Quantity, example string) (resource.Quantity, error) {
	if v == "" {
		return otherwise, nil
	}
	q, err := resource.ParseQuantity(v)
	if err != nil {
		return q, invalid(field, "%q is not an amount, such as %s", v, example)
	}
	if q.Sign() <= 0 {
		return q, invalid(field, "%q: it must be more than nothing", v)
	}
	return q, nil
}

var (
	tagged = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._:/-]*:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$`)
	pinned = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._:/-]*@sha256:[0-9a-f]{64}$`)
)

// image accepts a digest or a tag that names one image for good: a job that is run again must run the same.
func image(ref string) error {
	if ref == "" {
		return invalid("image", "it is missing")
	}
	if pinned.MatchString(ref) {
		return nil
	}
	name := ref[strings.LastIndexByte(ref, '/')+1:]
	_, tag, ok := strings.Cut(name, ":")
	switch {
	case !ok && !strings.Contains(ref, "@"):
		return invalid("image", "%q has no tag; a fixed tag (not latest) or a digest is needed, so that a second run gets the same image", ref)
	case tag == "latest":
		return invalid("image", "%q: latest means another image tomorrow; a fixed tag or a digest is needed", ref)
	case !tagged.MatchString(ref):
		return invalid("image", "%q is not an image reference, such as registry.example/team/app:1.2", ref)
	}
	return nil
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
