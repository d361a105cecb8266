package runlog

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestE2_TheLogHoldsNoSecrets(t *testing.T) {
	l, err := Open(t.TempDir(), "install", time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	l.Secret("hunter2")
	l.Info("pull", "from", "https://ada:hunter2@registry.test/v2/", "header", "Authorization: Bearer abc.def.ghi")
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	b, _ := os.ReadFile(l.Path)
	for _, secret := range []string{"hunter2", "abc.def.ghi"} {
		if strings.Contains(string(b), secret) {
			t.Errorf("%s is in the log: %s", secret, b)
		}
	}
	if !strings.Contains(string(b), "registry.test") {
		t.Errorf("%s", b)
	}
	if info, _ := os.Stat(l.Path); info.Mode().Perm() != 0o600 {
		t.Error(info.Mode())
	}
}

func TestOldLogsGo(t *testing.T) {
	dir := t.TempDir()
	for i := range Keep + 5 {
		l, err := Open(dir, "install", time.Unix(int64(i), 0))
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
	}
	logs, _ := filepath.Glob(filepath.Join(dir, "*.log"))
	if len(logs) != Keep {
		t.Errorf("%d logs", len(logs))
	}
	if !strings.Contains(logs[Keep-1], "000014") {
		t.Error("the newest is gone:", logs)
	}
}
