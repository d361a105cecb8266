// Package sdk is the protocol between rigup and its hooks, as Go types, and what a hook written in Go needs to
// speak it. It uses the standard library alone and may be copied into other projects.
//
// A hook is a WASI preview 1 command. It gets one Request as JSON on its standard input, writes one Response as
// JSON to its standard output and ends with exit code 0. It is a pure function: the same request gives the same
// response, on every machine. README.md in the folder above explains the protocol; the JSON schemas beside it
// are made from these types.
package sdk

import (
	"fmt"
	"io"
	"os"
)

// API names the version of the documents. A request may gain fields within a version, which hooks ignore;
// anything else makes a new one.
const API = "rigup.hook/v1"

// ABI names how a module is started and spoken to.
const ABI = "wasip1-json/1"

// Section is the name of the custom section that holds the manifest of a hook.
const Section = "rigup.hook"

// Kind is what a hook decides about.
type Kind string

// The kinds of hooks.
const (
	EnvironmentHook Kind = "environment" // the surroundings of the engine
	GPUHook         Kind = "gpu"         // the GPUs of one vendor
)

// Phase is what a hook is asked for.
type Phase string

// The phases.
const (
	Detect   Phase = "detect"   // is this machine yours? Answer with a claim, or decline.
	Decide   Phase = "decide"   // what is to be done? Answer with a decision, or a reason why nothing can.
	Diagnose Phase = "diagnose" // why did this step fail? Answer with a reason, or decline.
)

// Request is what a hook reads on its standard input.
type Request struct {
	API string `json:"api" jsonschema:"rigup.hook/v1"`
	// Hook is the id of the hook that is asked: a module may carry several.
	Hook  string `json:"hook"`
	Kind  Kind   `json:"kind"`
	Phase Phase  `json:"phase"`
	// Round is how many rounds of probes were answered before, 0 to 3.
	Round int   `json:"round"`
	Facts Facts `json:"facts"`
	// Probes are the results of all rounds, in the order in which they were asked for.
	Probes []ProbeResult `json:"probes,omitempty"`
	// Environment is what the environment hook decided. Only gpu hooks get it.
	Environment *Environment `json:"environment,omitempty"`
	// Failure is what a diagnose request is about.
	Failure *Failure `json:"failure,omitempty"`
}

// ResponseKind says which field of a response counts.
type ResponseKind string

// The kinds of responses.
const (
	Decline  ResponseKind = "decline"  // not mine, or nothing to say
	Ask      ResponseKind = "probes"   // run these, then ask again
	Claimed  ResponseKind = "claim"    // detect: these are mine
	Decision ResponseKind = "decision" // decide: do this
	Because  ResponseKind = "reason"   // decide: mine, but they cannot be used; diagnose: this is why it failed
)

// Response is what a hook writes to its standard output: exactly one JSON document. Unknown fields, a field
// twice, or anything after the document make the hook count as failed.
type Response struct {
	API  string       `json:"api"`
	Kind ResponseKind `json:"kind"`
	// Why says in short sentences what the answer rests on. rigup plan --explain shows it.
	Why    []string `json:"why,omitempty"`
	Probes []Probe  `json:"probes,omitempty"`
	Claim  *Claim   `json:"claim,omitempty"`
	// Environment is the decision of an environment hook, GPU that of a gpu hook.
	Environment *Environment `json:"environment,omitempty"`
	GPU         *GPU         `json:"gpu,omitempty"`
	Reason      *Reason      `json:"reason,omitempty"`
}

// Claim is what a hook recognised.
type Claim struct {
	// Confidence is 1 to 100. Of several environment hooks that claim the engine the most confident one decides;
	// every gpu hook that claims something is asked to decide.
	Confidence int      `json:"confidence"`
	Devices    []Device `json:"devices,omitempty"`
}

// Reason says why something cannot be, and what to do about it.
type Reason struct {
	// ID is short and stable, for searching: lower-case words with dashes, such as "driver-missing". rigup puts
	// the id of the hook before it.
	ID string `json:"id"`
	// Text is one sentence without codes.
	Text string `json:"text"`
	// Remedy is what to do, most useful first: a command, or a menu path that exists in this environment.
	Remedy []string `json:"remedy,omitempty"`
	// Evidence is what was seen, verbatim and short.
	Evidence []string `json:"evidence,omitempty"`
}

// Hook answers one request.
type Hook func(Request) Response

// No declines, and says why.
func No(why ...string) Response { return Response{API: API, Kind: Decline, Why: why} }

// Probing asks for probes.
func Probing(probes ...Probe) Response { return Response{API: API, Kind: Ask, Probes: probes} }

// Claiming claims what was recognised.
func Claiming(c Claim, why ...string) Response {
	return Response{API: API, Kind: Claimed, Claim: &c, Why: why}
}

// Using decides how GPUs are used.
func Using(g GPU, why ...string) Response {
	return Response{API: API, Kind: Decision, GPU: &g, Why: why}
}

// Surrounding decides about the engine's surroundings.
func Surrounding(e Environment, why ...string) Response {
	return Response{API: API, Kind: Decision, Environment: &e, Why: why}
}

// Giving gives a reason.
func Giving(r Reason, why ...string) Response {
	return Response{API: API, Kind: Because, Reason: &r, Why: why}
}

// Main is the main function of a module with these hooks, by id: it reads the request, asks the hook that is
// meant and writes its response. A module with one hook is asked under any id.
func Main(hooks map[string]Hook) {
	if err := Serve(os.Stdin, os.Stdout, hooks); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Serve answers one request.
func Serve(in io.Reader, out io.Writer, hooks map[string]Hook) error {
	var req Request
	if err := readPlain(in, &req); err != nil {
		return fmt.Errorf("read the request: %w", err)
	}
	hook, ok := hooks[req.Hook]
	if !ok && len(hooks) == 1 {
		for _, hook = range hooks {
			ok = true
		}
	}
	if !ok {
		return fmt.Errorf("there is no hook %q in this module", req.Hook)
	}
	b, err := writePlain(hook(req))
	if err != nil {
		return fmt.Errorf("write the response: %w", err)
	}
	_, err = out.Write(append(b, '\n'))
	return err
}
