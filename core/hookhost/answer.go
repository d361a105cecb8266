package hookhost

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"rigup.dev/rigup/hooks/sdk"
)

// CheckResponse reads what a hook wrote as the answer to a request: exactly one document, of the kind that the phase
// allows, with the one field that belongs to the kind, and of moderate size. Hidden characters are taken out of
// sentences; anywhere else they are refused. What the response asks for is not held against any permission.
//
// The error is a *Failure whose text names the field.
func CheckResponse(req sdk.Request, response []byte) (sdk.Response, error) {
	r, err := readResponse(req, response)
	if err != nil {
		return sdk.Response{}, &Failure{Cause: Garbled, Text: line(err.Error(), 500)}
	}
	return r, nil
}

func readResponse(req sdk.Request, b []byte) (sdk.Response, error) {
	if len(strings.TrimSpace(string(b))) == 0 {
		return sdk.Response{}, refuse("wrote no answer")
	}
	if !utf8.Valid(b) {
		return sdk.Response{}, refuse("answered with text that is not UTF-8")
	}
	r, err := sdk.DecodeResponse(b)
	if err != nil {
		return r, fmt.Errorf("did not answer with one valid document: %w", err)
	}
	if r.API != sdk.API {
		return r, refuse("answered in the version %s of the protocol, not %s", quoted(r.API), sdk.API)
	}
	if err := fits(req, r); err != nil {
		return r, err
	}
	return r, tidy(reflect.ValueOf(&r).Elem(), "", false)
}

// answers are the kinds of responses that a phase knows.
func answers(p sdk.Phase) []sdk.ResponseKind {
	switch p {
	case sdk.Detect:
		return []sdk.ResponseKind{sdk.Decline, sdk.Ask, sdk.Claimed}
	case sdk.Decide:
		return []sdk.ResponseKind{sdk.Decision, sdk.Because, sdk.Ask}
	case sdk.Diagnose:
		return []sdk.ResponseKind{sdk.Because, sdk.Decline, sdk.Ask}
	}
	return nil
}

// fits holds the kind of a response against the request, and its fields against its kind.
func fits(req sdk.Request, r sdk.Response) error {
	if !slices.Contains(answers(req.Phase), r.Kind) {
		return refuse("answered the phase %s with the kind %s, which it does not have: %s", req.Phase, quoted(string(r.Kind)), strings.Trim(fmt.Sprint(answers(req.Phase)), "[]"))
	}
	want := map[sdk.ResponseKind]string{
		sdk.Ask: "probes", sdk.Claimed: "claim", sdk.Because: "reason", sdk.Decision: map[sdk.Kind]string{
			sdk.EnvironmentHook: "environment", sdk.GPUHook: "gpu"}[req.Kind],
	}[r.Kind]
	have := []struct {
		field string
		there bool
	}{
		{"probes", len(r.Probes) > 0}, {"claim", r.Claim != nil}, {"environment", r.Environment != nil}, {"gpu", r.GPU != nil}, {"reason", r.Reason != nil},
	}
	for _, f := range have {
		switch {
		case f.there && f.field != want:
			return refuse("answered with the kind %s and the field %s, which does not belong to it", r.Kind, f.field)
		case !f.there && f.field == want:
			return refuse("answered with the kind %s and without its field %s", r.Kind, f.field)
		}
	}
	switch {
	case r.Kind == sdk.Ask:
		return askable(r.Probes)
	case r.Kind == sdk.Claimed && (r.Claim.Confidence < 1 || r.Claim.Confidence > 100):
		return refuse("answered with claim.confidence %d, which is not 1 to 100", r.Claim.Confidence)
	case r.Kind == sdk.Because:
		return reasonable(*r.Reason, "reason")
	}
	return nil
}

// askable holds that there are not too many probes, and that their results can be told apart.
func askable(probes []sdk.Probe) error {
	if len(probes) > sdk.MaxProbes {
		return refuse("asked for %d probes; a round has at most %d", len(probes), sdk.MaxProbes)
	}
	ids := map[string]bool{}
	for i, p := range probes {
		if p.ID == "" || ids[p.ID] {
			return refuse("answered with probes[%d].id %s, which is empty or stands there twice", i, quoted(p.ID))
		}
		ids[p.ID] = true
	}
	return nil
}

// reasonable holds that a reason says something, and can be searched for.
func reasonable(r sdk.Reason, at string) error {
	ok := r.ID != "" && len(r.ID) <= 64
	for _, c := range r.ID {
		ok = ok && (c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '.')
	}
	if !ok {
		return refuse("answered with %s.id %s, which is not of lower-case words with dashes", at, quoted(r.ID))
	}
	if line(r.Text, maxText) == "" {
		return refuse("answered with an empty %s.text", at)
	}
	return nil
}

// sentences are the fields that people read, by type: hidden characters are taken out of them. They may quote what a
// driver or an engine printed.
var sentences = map[reflect.Type][]string{
	reflect.TypeFor[sdk.Response]():    {"Why"},
	reflect.TypeFor[sdk.Reason]():      {"Text", "Remedy", "Evidence"},
	reflect.TypeFor[sdk.Device]():      {"Model"},
	reflect.TypeFor[sdk.Environment](): {"Title", "Restart", "Start", "Grow"},
	reflect.TypeFor[sdk.GPU]():         {"Vendor"},
}

// tidy bounds every string, list and map below v; sentences are cut, the rest is refused. Bytes (the CDI spec) are left alone: they have a check of their own.
func tidy(v reflect.Value, at string, sentence bool) error {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return tidy(v.Elem(), at, sentence)
		}
	case reflect.String:
		return tidyString(v, at, sentence)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return nil
		}
		if v.Len() > maxList {
			return refuse("answered with %d items in %s; at most %d are taken", v.Len(), at, maxList)
		}
		for i := range v.Len() {
			if err := tidy(v.Index(i), fmt.Sprintf("%s[%d]", at, i), sentence); err != nil {
				return err
			}
		}
	case reflect.Map:
		return tidyMap(v, at)
	case reflect.Struct:
		return tidyStruct(v, at)
	}
	return nil
}

func tidyStruct(v reflect.Value, at string) error {
	t := v.Type()
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		path := strings.TrimPrefix(at+"."+name, ".")
		if err := tidy(v.Field(i), path, slices.Contains(sentences[t], f.Name)); err != nil {
			return err
		}
	}
	return nil
}

// tidyMap is for maps of strings: those of variables.
func tidyMap(v reflect.Value, at string) error {
	if v.Len() > maxEntry {
		return refuse("answered with %d entries in %s; at most %d are taken", v.Len(), at, maxEntry)
	}
	for it := v.MapRange(); it.Next(); {
		for _, s := range []string{it.Key().String(), it.Value().String()} {
			if err := checkString(s, at+"."+line(it.Key().String(), 60)); err != nil {
				return err
			}
		}
	}
	return nil
}

func tidyString(v reflect.Value, at string, sentence bool) error {
	if sentence {
		v.SetString(line(v.String(), maxText))
	}
	return checkString(v.String(), at)
}

// checkString refuses what is too long or hides something. Scripts among the words of a command have lines.
func checkString(s, at string) error {
	if len(s) > maxText {
		return refuse("answered with %d bytes in %s; at most %d are taken", len(s), at, maxText)
	}
	for _, c := range s {
		if hidden(c) && c != '\n' && c != '\t' {
			return refuse("answered with the character %U in %s, which is not shown", c, at)
		}
	}
	return nil
}
