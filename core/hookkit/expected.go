package hookkit

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"rigup.dev/rigup/core/hookhost"
	"rigup.dev/rigup/hooks/sdk"
)

// ExpectedAPI names the version of the format of expected answers.
const ExpectedAPI = "rigup.expected/v1"

// Expected is what a hook answers to a case, written down.
type Expected struct {
	API string `json:"api"`
	// Answers are all responses, in order. Without any the hook is not asked: its manifest does not match the machine.
	Answers []ExpectedAnswer `json:"answers"`
}

// ExpectedAnswer is the response to one request.
type ExpectedAnswer struct {
	Phase sdk.Phase `json:"phase"`
	// Round is how many rounds of probes were answered before.
	Round    int          `json:"round"`
	Response sdk.Response `json:"response"`
}

// asked is one question to a hook, and what came of it.
type asked struct {
	request sdk.Request
	answer  hookhost.Answer
	err     error
}

// recorder writes down what a hook is asked and says.
type recorder struct {
	hookhost.Runner
	mu   sync.Mutex
	said []asked
}

func (r *recorder) Ask(ctx context.Context, m hookhost.Module, req sdk.Request) (hookhost.Answer, error) {
	a, err := r.Runner.Ask(ctx, m, req)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.said = append(r.said, asked{req, a, err})
	return a, err
}

// expected is what was said so far, as it is written down: the order of fields in a CDI spec, which the hook chose,
// is the alphabet's.
func (r *recorder) expected() (Expected, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := Expected{API: ExpectedAPI, Answers: []ExpectedAnswer{}}
	for _, s := range r.said {
		if s.err != nil {
			continue
		}
		resp := s.answer.Response
		if resp.GPU != nil && len(resp.GPU.CDI.Spec) > 0 {
			gpu := *resp.GPU
			spec, err := sorted(gpu.CDI.Spec)
			if err != nil {
				return e, fmt.Errorf("read the CDI spec: %w", err)
			}
			gpu.CDI.Spec, resp.GPU = spec, &gpu
		}
		e.Answers = append(e.Answers, ExpectedAnswer{s.request.Phase, s.request.Round, resp})
	}
	return e, nil
}

// sorted is a document with its fields in the order of the alphabet, and its numbers as they are.
func sorted(doc []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

// text is the file of an Expected.
func (e Expected) text() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(e)
	return b.Bytes(), err
}

// readExpected reads such a file, so that its form does not count: only what is in it.
func readExpected(b []byte) ([]byte, error) {
	var e Expected
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&e); err != nil {
		return nil, err
	}
	if e.API != ExpectedAPI {
		return nil, fmt.Errorf("the field api is %q, not %q", e.API, ExpectedAPI)
	}
	for i, a := range e.Answers {
		if a.Response.GPU != nil && len(a.Response.GPU.CDI.Spec) > 0 {
			spec, err := sorted(a.Response.GPU.CDI.Spec)
			if err != nil {
				return nil, err
			}
			e.Answers[i].Response.GPU.CDI.Spec = spec
		}
	}
	return e.text()
}
