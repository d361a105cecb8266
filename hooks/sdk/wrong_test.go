package sdk

import "testing"

// TestH1_WhatIsWrongWithADocument is for the author of a hook: the text names the place, and what has to stand there.
func TestH1_WhatIsWrongWithADocument(t *testing.T) {
	for name, c := range map[string]struct{ document, want string }{
		"a line before it":   {"phase detect\n{}", `the beginning, "phase detect", is not JSON: invalid character 'p' looking for beginning of value`},
		"a comment in it":    {"{\n  \"api\": \"x\",\n  // why\n}", "line 3 is not JSON: invalid character '/' looking for beginning of object key string"},
		"a comma too many":   {"{\n  \"why\": [\n    \"x\",\n  ]\n}", "line 4 is not JSON: invalid character ']' looking for beginning of value"},
		"cut off":            {`{"api": "x"`, "the JSON document is not complete"},
		"nothing":            {``, "the JSON document is not complete"},
		"text for a list":    {`{"why": "x"}`, "the field why is a string, and has to be a list"},
		"text for a number":  {`{"claim": {"confidence": "90"}}`, "the field claim.confidence is a string, and has to be a whole number"},
		"a fraction":         {`{"claim": {"confidence": 0.9}}`, "the field claim.confidence is the number 0.9, and has to be a whole number"},
		"a list for text":    {`{"kind": ["claim"]}`, "the field kind is a list, and has to be a string"},
		"text for an object": {`{"claim": "x"}`, "the field claim is a string, and has to be an object"},
		"a number as flag":   {`{"claim": {"devices": [{"integrated": 1}]}}`, "the field claim.devices.integrated is a number, and has to be true or false"},
		"a list as document": {`[]`, "the document is a list, and has to be an object"},
		"another case":       {`{"claim": {"Confidence": 90}}`, "the field claim.Confidence is not known: it is written confidence"},
		"another name":       {`{"claim": {"certainty": 90}}`, "the field claim.certainty is not known"},
	} {
		if _, err := DecodeResponse([]byte(c.document)); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v\nwant: %s", name, err, c.want)
		}
	}
}
