package sdk

import (
	"runtime"
	"strings"
	"testing"
)

// H1: a document costs memory and time in proportion to its size, whatever is nested in names of whatever length.
// Texts of places, made for every item, would cost its square: half a minute for one answer.
func TestH1_ReadingADocumentCostsInProportionToItsSize(t *testing.T) {
	name := strings.Repeat("k", 500_000)
	for what, doc := range map[string]string{
		"items":  `{"gpu":{"cdi":{"spec":{"` + name + `":[` + strings.Repeat("1,", 200_000) + `1]}}}}`,
		"fields": `{"gpu":{"cdi":{"spec":[{"` + name + `":{"a":[` + strings.Repeat(`{"a":1},`, 50_000) + `1]}}]}}}`,
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := DecodeResponse([]byte(doc)); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > uint64(200*len(doc)) {
			t.Errorf("%s: a document of %d bytes took %d", what, len(doc), used)
		}
	}
}

func TestAnErrorNamesThePlaceShortly(t *testing.T) {
	long := strings.Repeat("ä", 1000)
	for doc, want := range map[string]string{
		`{"gpu":{"attach":[{},{"kind":"cdi","ids":[],"kind":"cdi"}]}}`: "the field gpu.attach[1].kind stands there twice",
		`{"gpu":{"cdi":{"spec":{"` + long + `":[[{"x":1,"x":2}]]}}}}`:  "the field gpu.cdi.spec." + strings.Repeat("ä", 30) + "[0][0].x stands there twice",
		`{"surprise":1}`: "the field surprise is not known",
		strings.Replace(`{"gpu":{"cdi":{"spec":X}}}`, "X", strings.Repeat("[", 70)+strings.Repeat("]", 70), 1): "more than 64 levels deep",
	} {
		if _, err := DecodeResponse([]byte(doc)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
