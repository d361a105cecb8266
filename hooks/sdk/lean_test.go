package sdk

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

// same reads a document both ways and holds that the same comes of it, then writes it both ways.
func same[T any](t *testing.T, doc []byte) {
	t.Helper()
	var a, b T
	if err := json.Unmarshal(doc, &a); err != nil {
		t.Fatalf("%s: %v", doc, err)
	}
	if err := readLean(doc, &b); err != nil {
		t.Fatalf("%s: %v", doc, err)
	}
	if !reflect.DeepEqual(a, b) {
		t.Fatalf("%s is read as %+v, not %+v", doc, b, a)
	}
	want, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	have, err := writeLean(b)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, have) {
		t.Fatalf("written as\n%s, not\n%s", have, want)
	}
}

func TestLeanReadsAndWritesMachinesAsJSONDoes(t *testing.T) {
	files, err := filepath.Glob("../../test/machines/*.json")
	if err != nil || len(files) < 45 {
		t.Fatalf("%d machines, %v", len(files), err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		same[Machine](t, b)
	}
}

// filled sets every field that t has, and two of every list, to something.
func filled(v reflect.Value, text string) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		filled(v.Elem(), text)
	case reflect.Struct:
		for i := range v.NumField() {
			filled(v.Field(i), text)
		}
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			v.SetBytes([]byte(`{"a": [1, -2.5e3, true, null], "b <": "x \"&\" \\ y"}`))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		filled(v.Index(0), text)
		filled(v.Index(1), text+"2")
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("Z"), reflect.ValueOf(text))
		v.SetMapIndex(reflect.ValueOf("A"), reflect.ValueOf(""))
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(-9007199254740993)
	default:
		panic(v.Kind())
	}
}

// TestLeanKnowsEveryTypeOfTheProtocol goes through all fields of both documents, with every kind of text.
func TestLeanKnowsEveryTypeOfTheProtocol(t *testing.T) {
	for _, text := range []string{"plain", "", "a \"quoted\" \\ back/slash", "<b>&\u2028\u2029", "\x00\x01\b\f\n\r\t\x1f\x7f", "Größe 東京 \U0001F600", "\xff broken \xc3"} {
		var req Request
		var resp Response
		filled(reflect.ValueOf(&req).Elem(), text)
		filled(reflect.ValueOf(&resp).Elem(), text)
		for _, v := range []any{req, resp, Request{}, Response{}} {
			want, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			have, err := writeLean(v)
			if err != nil || !bytes.Equal(want, have) {
				t.Fatalf("%v\n%s, not\n%s", err, have, want)
			}
			if _, ok := v.(Request); ok {
				same[Request](t, want)
			} else {
				same[Response](t, want)
			}
		}
	}
}

func TestLeanReadsWhatOthersWrite(t *testing.T) {
	for _, doc := range []string{
		`{}`, ` { } `, "{\n\t\"api\" : \"x\" ,\r\n \"round\" : 3 }", `{"round":-0}`, `{"round":null,"probes":null,"environment":null}`,
		`{"later":{"a":[{},[],"x",1.5e-3,true,false,null]},"round":2}`, `{"api":"\u0041\u00e4\ud83d\ude00\ud83d\/\"\\"}`, `{"api":"\udc00x"}`, `{"api":"\ud83d\u0041"}`,
		`{"probes":[{"id":"a"},{"id":"b","pci":[]}]}`, `{"probes":[]}`, `{"round":1,"round":2}`,
	} {
		same[Request](t, []byte(doc))
	}
}

func TestLeanRefusesWhatIsNoDocument(t *testing.T) {
	for _, doc := range []string{
		"", " ", "{", "[", `{"api"`, `{"api":`, `{"api":"x`, `{"api":"x"`, `{"api":"x",`, `{"api" "x"}`, `{api:1}`, `{"api":"x"}}`, `{"api":"x"} {}`, `{"api":1}`, `{"api":true}`,
		`{"round":"1"}`, `{"round":1.5}`, `{"round":99999999999999999999}`, `{"facts":[]}`, `{"probes":{}}`, `{"api":"\x"}`, `{"api":"\u12"}`, `{"api":"\u12g4"}`, `{"api":"` + "\n" + `"}`,
		`{"api":nul}`, `{"x":tru}`, `{"x":-}`, `{"x":1e}`, `x`, `{"api":"\`, strings.Repeat("[", 100), strings.Repeat(`{"a":`, 100),
	} {
		var r Request
		if err := readLean([]byte(doc), &r); err == nil {
			t.Errorf("%q is read as %+v", doc, r)
		}
	}
}

// FuzzLean holds that what both readers take means the same to both. The host writes UTF-8 alone.
func FuzzLean(f *testing.F) {
	f.Add([]byte(`{"api":"rigup.hook/v1","hook":"x","facts":{"pci":{"status":"known","value":[{"address":"0000:01:00.0"}]}}}`))
	f.Add([]byte(`{"api":"\u00e4","probes":[{"id":"a","exit":-3}],"failure":{"output":"\n"}}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		var a, b Request
		if !utf8.Valid(doc) || readLean(doc, &a) != nil || walk(doc, reflect.TypeFor[Request]()) != nil || json.Unmarshal(doc, &b) != nil || !json.Valid(doc) {
			return
		}
		x, errX := json.Marshal(a)
		y, errY := json.Marshal(b)
		if errX != nil || errY != nil || !bytes.Equal(x, y) {
			t.Fatalf("%s\n%s", x, y)
		}
		if z, err := writeLean(a); err != nil || !bytes.Equal(x, z) {
			t.Fatalf("%v\n%s\n%s", err, z, x)
		}
	})
}
