package sdk

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// same reads a document with encoding/json and as a hook does, and holds that the same comes of it; then it writes it
// both ways.
func same[T any](t *testing.T, doc []byte) {
	t.Helper()
	var want, have T
	if err := json.Unmarshal(doc, &want); err != nil {
		t.Fatalf("%s: %v", doc, err)
	}
	if err := readPlain(bytes.NewReader(doc), &have); err != nil {
		t.Fatalf("%s: %v", doc, err)
	}
	sameJSON(t, want, have)
	written, err := writePlain(have)
	if err != nil {
		t.Fatal(err)
	}
	var again T
	if err := json.Unmarshal(written, &again); err != nil {
		t.Fatal(err)
	}
	sameJSON(t, want, again)
	var fields, wantFields any
	if b, err := json.Marshal(want); err != nil || json.Unmarshal(b, &wantFields) != nil || json.Unmarshal(written, &fields) != nil || !reflect.DeepEqual(fields, wantFields) {
		t.Fatalf("other fields are written: %s, not %s (%v)", written, b, err)
	}
}

// sameJSON compares values as documents.
func sameJSON(t *testing.T, want, have any) {
	t.Helper()
	a, errA := json.Marshal(want)
	b, errB := json.Marshal(have)
	if errA != nil || errB != nil || !bytes.Equal(a, b) {
		t.Fatalf("%v %v\n%s, not\n%s", errA, errB, b, a)
	}
}

func TestHooksReadAndWriteMachinesAsJSONDoes(t *testing.T) {
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

// filled sets every field that v has, and two of every list, to something.
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
			v.SetBytes([]byte(`{"a":[1,-2.5e3,true,null],"b":"x"}`))
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

// Every field of both documents, with every kind of text; a type that is new to the protocol fails here.
func TestHooksReadAndWriteEveryTypeOfTheProtocol(t *testing.T) {
	for _, text := range []string{"plain", "", "a \"quoted\" \\ back/slash", "<b>&\u2028\u2029", "\x00\x01\b\f\n\r\t\x1f\x7f", "Größe 東京 \U0001F600"} {
		var req Request
		var resp Response
		filled(reflect.ValueOf(&req).Elem(), text)
		filled(reflect.ValueOf(&resp).Elem(), text)
		for _, v := range []Request{req, {}} {
			b, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			same[Request](t, b)
		}
		for _, v := range []Response{resp, {}} {
			b, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			same[Response](t, b)
		}
	}
}

func TestHooksReadWhatOthersWrite(t *testing.T) {
	for _, doc := range []string{
		`{}`, "{\n\t\"api\" : \"x\" ,\r\n \"round\" : 3 }", `{"round":null,"probes":null,"environment":null}`,
		`{"later":{"a":[{},[],"x",1.5e-3,true,false,null]},"round":2}`, `{"api":"\u0041\u00e4\ud83d\ude00"}`, `{"probes":[{"id":"a"},{"id":"b","pci":[]}]}`,
	} {
		same[Request](t, []byte(doc))
	}
}

func TestHooksRefuseWhatIsNoRequest(t *testing.T) {
	for _, doc := range []string{
		"", "{", `{"api":"x"`, `{api:1}`, `{"api":"x"} {}`, `{"api":1}`, `{"round":"1"}`, `{"round":1.5}`, `{"round":99999999999999999999}`,
		`{"facts":[]}`, `{"probes":{}}`, `{"failure":{"timedOut":1}}`, strings.Repeat("[", 100),
	} {
		var r Request
		if err := readPlain(strings.NewReader(doc), &r); err == nil {
			t.Errorf("%q is read as %+v", doc, r)
		}
	}
}
