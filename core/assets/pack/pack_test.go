package pack

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestAFileIsWrittenWhenItsContentChanged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.zst")
	long := bytes.Repeat([]byte("content "), 1000)
	past := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	write := func(content []byte) (packed []byte, touched bool) {
		t.Helper()
		if err := Write(path, content); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, past, past); err != nil {
			t.Fatal(err)
		}
		return b, !info.ModTime().Equal(past)
	}
	first, touched := write(long)
	if !touched || len(first) == 0 || len(first) >= len(long) {
		t.Errorf("%d bytes, written %v", len(first), touched)
	}
	if same, touched := write(long); touched || !bytes.Equal(same, first) {
		t.Error("the same content is written again")
	}
	if _, touched := write(long[:100]); !touched {
		t.Error("other content is not written")
	}
	if err := os.WriteFile(path, []byte("no zstd"), 0o644); err != nil {
		t.Fatal(err)
	}
	if mended, _ := write(long); !bytes.Equal(mended, first) {
		t.Error("a damaged file is kept")
	}
}
