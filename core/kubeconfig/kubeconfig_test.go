package kubeconfig

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"rigup.dev/rigup/core/reason"
)

// node is what a node hands out, with its address as the machine sees it.
const node = `apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: Q0EtREFUQQ==
    server: https://127.0.0.1:16443
  name: default
contexts:
- context:
    cluster: default
    user: default
  name: default
current-context: default
kind: Config
preferences: {}
users:
- name: default
  user:
    client-certificate-data: Q0VSVA==
    client-key-data: S0VZ
`

func write1(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read1(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func wantReason(t *testing.T, err error, id reason.ID) {
	t.Helper()
	var e *reason.Error
	if !errors.As(err, &e) || e.Reason.ID != id {
		t.Fatalf("error %v, want reason %s", err, id)
	}
}

func mustMerge(t *testing.T, o Options) Result {
	t.Helper()
	res, err := Merge(context.Background(), o, []byte(node))
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func mustRemove(t *testing.T, o Options) Result {
	t.Helper()
	res, err := Remove(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// TestC3_OthersStayAsTheyAre merges into every file of the corpus, twice, and removes again. clientcmd, which is
// what kubectl reads with, must see the same of everybody else's at every step.
func TestC3_OthersStayAsTheyAre(t *testing.T) {
	files, err := filepath.Glob("testdata/good/*")
	if err != nil || len(files) == 0 {
		t.Fatal("no corpus", err)
	}
	for _, f := range files {
		for _, policy := range []Current{IfNone, Always, Never} {
			t.Run(filepath.Base(f)+[]string{"/if-none", "/always", "/never"}[policy], func(t *testing.T) {
				before := read1(t, f)
				path := filepath.Join(t.TempDir(), "config")
				write1(t, path, before)
				o := Options{File: path, Cluster: "demo", Current: policy}
				was, err := clientcmd.Load([]byte(before))
				if err != nil {
					t.Fatal("the corpus is not valid: ", err)
				}

				if res := mustMerge(t, o); !res.Changed {
					t.Fatal("nothing changed")
				}
				merged := read1(t, path)
				is, err := clientcmd.Load([]byte(merged))
				if err != nil {
					t.Fatalf("kubectl could not read the result: %v\n%s", err, merged)
				}
				c := is.Contexts["rigup-demo"]
				if c == nil || is.Clusters[c.Cluster] == nil || is.Clusters[c.Cluster].Server != "https://127.0.0.1:16443" ||
					string(is.AuthInfos[c.AuthInfo].ClientKeyData) != "KEY" {
					t.Fatalf("our context is not there:\n%s", merged)
				}
				wantCurrent := was.CurrentContext
				if policy == Always || policy == IfNone && wantCurrent == "" {
					wantCurrent = "rigup-demo"
				}
				if is.CurrentContext != wantCurrent {
					t.Errorf("current context %q, want %q", is.CurrentContext, wantCurrent)
				}
				for _, line := range strings.Split(before, "\n") {
					if strings.Contains(line, "#") && !strings.Contains(merged, strings.TrimSpace(line[strings.Index(line, "#"):])) {
						t.Errorf("comment lost: %s", line)
					}
				}
				delete(is.Clusters, c.Cluster)
				delete(is.AuthInfos, c.AuthInfo)
				delete(is.Contexts, "rigup-demo")
				is.CurrentContext = was.CurrentContext
				equalConfig(t, was, is)

				if res := mustMerge(t, o); res.Changed {
					t.Error("the second merge changed something")
				}
				if read1(t, path) != merged {
					t.Error("the second merge wrote")
				}

				if res := mustRemove(t, o); !res.Changed {
					t.Error("nothing was removed")
				}
				after := read1(t, path)
				is, err = clientcmd.Load([]byte(after))
				if err != nil {
					t.Fatalf("kubectl could not read the result: %v\n%s", err, after)
				}
				equalConfig(t, was, is)
				if strings.Contains(filepath.Base(f), "exact") && after != before {
					t.Errorf("not byte for byte as before:\n%s", after)
				}
				if left, _ := filepath.Glob(filepath.Dir(path) + "/*"); len(left) != 1 {
					t.Errorf("left behind: %v", left)
				}
			})
		}
	}
}

func equalConfig(t *testing.T, want, got any) {
	t.Helper()
	w, err1 := marshal(want)
	g, err2 := marshal(got)
	if err1 != nil || err2 != nil || !bytes.Equal(w, g) {
		t.Errorf("others' entries differ: %v %v\nwant:\n%s\ngot:\n%s", err1, err2, w, g)
	}
}

// TestC3_DamagedIsLeftAlone holds that what cannot be understood is refused by name and not touched.
func TestC3_DamagedIsLeftAlone(t *testing.T) {
	files, err := filepath.Glob("testdata/bad/*")
	if err != nil || len(files) == 0 {
		t.Fatal("no corpus", err)
	}
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) {
			before := read1(t, f)
			path := filepath.Join(t.TempDir(), "config")
			write1(t, path, before)
			o := Options{File: path, Cluster: "demo"}
			_, err := Merge(context.Background(), o, []byte(node))
			wantReason(t, err, reason.KubeconfigInvalid)
			if !strings.Contains(err.Error(), path) {
				t.Errorf("the file is not named: %v", err)
			}
			_, err = Remove(context.Background(), o)
			wantReason(t, err, reason.KubeconfigInvalid)
			_, err = Preflight(context.Background(), o)
			wantReason(t, err, reason.KubeconfigInvalid)
			if read1(t, path) != before {
				t.Error("the file was changed")
			}
			if left, _ := filepath.Glob(filepath.Dir(path) + "/*"); len(left) != 1 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// TestC3_NewFile holds modes, and that a file that rigup made goes away with its last entry.
func TestC3_NewFile(t *testing.T) {
	home := t.TempDir()
	o := Options{Home: home, Env: func(string) string { return "" }, Cluster: "demo"}
	res := mustMerge(t, o)
	path := filepath.Join(home, ".kube", "config")
	if res.File != path || !res.Created || res.Current != "rigup-demo" || res.Backup != "" {
		t.Errorf("%+v", res)
	}
	if runtime.GOOS != "windows" {
		for p, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
			if fi, err := os.Stat(p); err != nil || fi.Mode().Perm() != want {
				t.Errorf("%s: %v, want %v (%v)", p, fi.Mode(), want, err)
			}
		}
	}
	two := o
	two.Cluster, two.Current = "two", Always
	mustMerge(t, two)
	if res := mustRemove(t, o); res.Deleted || res.Current != "rigup-two" {
		t.Errorf("%+v", res)
	}
	if res := mustRemove(t, two); !res.Deleted {
		t.Errorf("%+v\n%s", res, read1(t, path))
	}
	if left, _ := os.ReadDir(home); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	if res := mustRemove(t, two); res.Changed {
		t.Errorf("removing again: %+v", res)
	}
}
