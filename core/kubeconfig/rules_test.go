package kubeconfig

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"rigup.dev/rigup/core/reason"
)

const others = `apiVersion: v1
kind: Config
clusters:
- cluster: {server: "https://a.test:6443"}
  name: a
contexts:
- context: {cluster: a, user: a}
  name: a
users:
- name: a
  user: {token: t}
current-context: a
`

// TestC3_WhichFile holds the rule by which the file is chosen.
func TestC3_WhichFile(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	write1(t, at("first"), others)
	write1(t, at("second"), others)
	mustMerge(t, Options{File: at("second"), Cluster: "demo"})
	write1(t, at("damaged"), "{")
	join := func(names ...string) string { return strings.Join(names, string(os.PathListSeparator)) }
	for _, c := range []struct{ name, flag, env, cluster, want string }{
		{"the flag wins", at("flag"), at("first"), "demo", at("flag")},
		{"one entry, not there yet", "", at("new"), "demo", at("new")},
		{"the one that has ours", "", join(at("new"), at("first"), at("second")), "demo", at("second")},
		{"else the first that exists", "", join(at("new"), at("first"), at("second")), "other", at("first")},
		{"else the last", "", join(at("new"), at("newer")), "demo", at("newer")},
		{"empty entries are skipped", "", join("", at("first"), ""), "demo", at("first")},
		{"only empty entries", "", join("", ""), "demo", filepath.Join(dir, "home", ".kube", "config")},
		{"nothing is set", "", "", "demo", filepath.Join(dir, "home", ".kube", "config")},
		{"a damaged one that is first is chosen, to be refused by name", "", join(at("damaged"), at("first")), "other", at("damaged")},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := Options{File: c.flag, Cluster: c.cluster, Home: filepath.Join(dir, "home"), Env: func(k string) string {
				if k == "KUBECONFIG" {
					return c.env
				}
				return ""
			}}
			if got := o.locate(); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// TestC3_NotOurs holds that an entry of our name that is another's is neither overwritten nor removed.
func TestC3_NotOurs(t *testing.T) {
	merged := func(t *testing.T) string {
		path := filepath.Join(t.TempDir(), "config")
		write1(t, path, others)
		mustMerge(t, Options{File: path, Cluster: "demo"})
		return read1(t, path)
	}
	for _, c := range []struct{ name, kind, text string }{
		{"a cluster without our mark", "cluster", strings.Replace(others, "name: a\ncontexts", "name: rigup-demo\ncontexts", 1)},
		{"a context without our mark", "context", strings.Replace(others, "name: a\nusers", "name: rigup-demo\nusers", 1)},
		{"a user without our mark", "user", strings.Replace(others, "- name: a\n", "- name: rigup-demo\n", 1)},
		{"our mark, another machine", "cluster", strings.Replace(merged(t), "https://127.0.0.1:16443", "https://10.0.0.9:6443", 1)},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "config")
			write1(t, path, c.text)
			o := Options{File: path, Cluster: "demo"}
			_, err := Merge(context.Background(), o, []byte(node))
			wantReason(t, err, reason.KubeconfigForeign)
			if !strings.Contains(err.Error(), c.kind+" rigup-demo") || !strings.Contains(err.Error(), path) {
				t.Errorf("not named: %v", err)
			}
			_, err = Preflight(context.Background(), o)
			wantReason(t, err, reason.KubeconfigForeign)
			if read1(t, path) != c.text {
				t.Error("the file was changed")
			}
			res := mustRemove(t, o)
			if len(res.Warnings) == 0 || res.Warnings[0].ID != reason.KubeconfigForeign {
				t.Errorf("no warning: %+v", res)
			}
			d, err := parse([]byte(read1(t, path)))
			if err != nil || !d.has("rigup-demo") {
				t.Errorf("another's entry was removed (%v)", err)
			}
		})
	}
}

// TestC3_CurrentComesBack holds what becomes of the current context.
func TestC3_CurrentComesBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config")
	write1(t, path, others)
	one := Options{File: path, Cluster: "one", Current: Always}
	two := Options{File: path, Cluster: "two", Current: Always}
	want := func(what, current string) {
		t.Helper()
		d, err := parse([]byte(read1(t, path)))
		if err != nil || d.current() != current {
			t.Fatalf("%s: current context %q, want %q (%v)", what, d.current(), current, err)
		}
	}
	mustMerge(t, one)
	want("one installed", "rigup-one")
	mustMerge(t, two)
	want("two installed", "rigup-two")
	mustMerge(t, Options{File: path, Cluster: "one"})
	want("one again, not asked", "rigup-two")
	mustRemove(t, one)
	want("one removed, not current", "rigup-two")
	if res := mustRemove(t, two); res.Current != "a" {
		t.Errorf("result says %q", res.Current)
	}
	want("two removed", "a")
	if got := read1(t, path); got != others {
		t.Errorf("not as before:\n%s", got)
	}

	// The one before is gone: none is current then.
	mustMerge(t, one)
	text := strings.ReplaceAll(read1(t, path), "  name: a\n", "  name: renamed\n")
	write1(t, path, text)
	mustRemove(t, one)
	want("the one before is gone", "")

	// The user chose another in between: it stays.
	write1(t, path, others)
	mustMerge(t, one)
	write1(t, path, strings.Replace(read1(t, path), "current-context: rigup-one", "current-context: a", 1))
	mustRemove(t, one)
	want("the user's choice", "a")
}

// TestC3_UsersOwnChangesStay holds that what a user adds to our context survives a new merge.
func TestC3_UsersOwnChangesStay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config")
	write1(t, path, others)
	o := Options{File: path, Cluster: "demo"}
	mustMerge(t, o)
	c, err := clientcmd.LoadFromFile(path)
	if err != nil {
		t.Fatal(err)
	}
	c.Contexts["rigup-demo"].Namespace = "mine" // as kubectl config set-context does, which also lays the file out anew
	if err := clientcmd.WriteToFile(*c, path); err != nil {
		t.Fatal(err)
	}
	if res := mustMerge(t, o); res.Changed {
		t.Error("kubectl's layout was taken for a change")
	}
	if _, err := Merge(context.Background(), o, []byte(strings.Replace(node, "16443", "16444", 1))); err != nil {
		t.Fatal(err)
	}
	if c, err = clientcmd.LoadFromFile(path); err != nil || c.Contexts["rigup-demo"].Namespace != "mine" || c.Clusters["rigup-demo"].Server != "https://127.0.0.1:16444" {
		t.Errorf("%v\n%s", err, read1(t, path))
	}
}

// TestC3_Backup holds that the original is kept, and not overwritten by what rigup has changed already.
func TestC3_Backup(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config")
	write1(t, path, others)
	o := Options{File: path, Cluster: "demo", Current: Always}
	res := mustMerge(t, o)
	if res.Backup != path+backupSuffix || read1(t, res.Backup) != others {
		t.Fatalf("%+v", res)
	}
	if fi, _ := os.Stat(res.Backup); runtime.GOOS != "windows" && fi.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", fi.Mode())
	}
	mustMerge(t, Options{File: path, Cluster: "two"})
	if read1(t, res.Backup) != others {
		t.Error("a good backup was overwritten by a changed file")
	}
	edited := strings.Replace(read1(t, path), "a.test", "b.test", 1)
	write1(t, path, edited)
	mustMerge(t, Options{File: path, Cluster: "three"})
	if read1(t, res.Backup) != edited {
		t.Error("the backup is out of date")
	}
	for _, c := range []string{"demo", "two"} {
		mustRemove(t, Options{File: path, Cluster: c})
		if !exists(res.Backup) {
			t.Error("the backup is gone while rigup still has entries")
		}
	}
	mustRemove(t, Options{File: path, Cluster: "three"})
	if exists(res.Backup) {
		t.Error("the backup was left behind")
	}
}

// TestC3_Mode holds that a mode is never loosened, and that a link stays a link.
func TestC3_Mode(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes are not what protects a file on Windows")
	}
	for _, c := range []struct{ have, want os.FileMode }{{0o600, 0o600}, {0o644, 0o600}, {0o664, 0o600}, {0o200, 0o200}} {
		dir := t.TempDir()
		path, link := filepath.Join(dir, "real"), filepath.Join(dir, "config")
		write1(t, path, others)
		if err := os.Chmod(path, c.have); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("real", link); err != nil {
			t.Fatal(err)
		}
		if os.Geteuid() != 0 && c.have&0o400 == 0 {
			continue
		}
		mustMerge(t, Options{File: link, Cluster: "demo"})
		if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != c.want {
			t.Errorf("%v became %v, want %v", c.have, fi.Mode(), c.want)
		}
		if to, err := os.Readlink(link); err != nil || to != "real" {
			t.Errorf("the link is no link any more: %v", err)
		}
	}
	// A link to nothing: the file that it names is made.
	dir := t.TempDir()
	if err := os.Symlink(filepath.Join("sub", "real"), filepath.Join(dir, "config")); err != nil {
		t.Fatal(err)
	}
	mustMerge(t, Options{File: filepath.Join(dir, "config"), Cluster: "demo"})
	if !strings.Contains(read1(t, filepath.Join(dir, "sub", "real")), "rigup-demo") {
		t.Error("not written through the link")
	}
}

// TestC3_NotWritable holds that a file that cannot be written is refused by name, in advance too.
func TestC3_NotWritable(t *testing.T) {
	dir := t.TempDir()
	write1(t, filepath.Join(dir, "file"), "x")
	readOnly := filepath.Join(dir, "read-only")
	write1(t, readOnly, others)
	if err := os.Chmod(readOnly, 0o400); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{readOnly, dir, filepath.Join(dir, "file", "config"), filepath.Join(dir, "file", "sub", "config")} {
		o := Options{File: path, Cluster: "demo"}
		_, err := Preflight(context.Background(), o)
		wantReason(t, err, reason.KubeconfigWrite)
		_, err = Merge(context.Background(), o, []byte(node))
		wantReason(t, err, reason.KubeconfigWrite)
		if !strings.Contains(err.Error(), path) {
			t.Errorf("not named: %v", err)
		}
	}
	if read1(t, readOnly) != others {
		t.Error("changed")
	}
}

// TestC3_CheckWritesNothing holds that Check says the same as Merge and leaves everything as it is.
func TestC3_CheckWritesNothing(t *testing.T) {
	home := t.TempDir()
	o := Options{Home: home, Cluster: "demo"}
	res, err := Check(context.Background(), o, []byte(node))
	if err != nil || !res.Changed || !res.Created || res.Current != "rigup-demo" {
		t.Errorf("%+v %v", res, err)
	}
	if res, err := Preflight(context.Background(), o); err != nil || res.File != filepath.Join(home, ".kube", "config") {
		t.Errorf("%+v %v", res, err)
	}
	if left, _ := os.ReadDir(home); len(left) != 0 {
		t.Errorf("written: %v", left)
	}
	mustMerge(t, o)
	if res, err := Check(context.Background(), o, []byte(node)); err != nil || res.Changed || res.Created {
		t.Errorf("%+v %v", res, err)
	}
	if res, err := CheckRemove(context.Background(), o); err != nil || !res.Changed || !res.Deleted {
		t.Errorf("%+v %v", res, err)
	}
}

// TestC3_Lock holds that a held lock is waited for, and that one that was left behind is taken over and explained.
func TestC3_Lock(t *testing.T) {
	host, _ := os.Hostname()
	gone := exec.Command(os.Args[0], "-test.run=^$")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, holder string
		age          time.Duration
		stale        bool
	}{
		{"kubectl at work", "", time.Second, false},
		{"left by kubectl", "", time.Hour, true},
		{"rigup at work", fmt.Sprintf("rigup %d %s\n", os.Getpid(), host), time.Second, false},
		{"left by a rigup that is gone", fmt.Sprintf("rigup %d %s\n", gone.Process.Pid, host), time.Second, true},
		{"a rigup on another machine at work", "rigup 1 elsewhere.test\n", time.Second, false},
		{"left by a rigup on another machine", "rigup 1 elsewhere.test\n", time.Hour, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "config")
			write1(t, path, others)
			write1(t, path+lockSuffix, c.holder)
			past := time.Now().Add(-c.age)
			if err := os.Chtimes(path+lockSuffix, past, past); err != nil {
				t.Fatal(err)
			}
			o := Options{File: path, Cluster: "demo", Wait: 60 * time.Millisecond}
			res, err := Merge(context.Background(), o, []byte(node))
			if !c.stale {
				wantReason(t, err, reason.KubeconfigLocked)
				if read1(t, path) != others {
					t.Error("changed in spite of the lock")
				}
				if !exists(path + lockSuffix) {
					t.Error("another's lock was removed")
				}
				return
			}
			if err != nil || len(res.Warnings) != 1 || res.Warnings[0].ID != reason.KubeconfigStale {
				t.Fatalf("%+v %v", res, err)
			}
			if left, _ := filepath.Glob(path + lockSuffix + "*"); len(left) != 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// TestC3_LockIsKubectls holds that clientcmd, as kubectl uses it, refuses to write while rigup holds the lock.
func TestC3_LockIsKubectls(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config")
	write1(t, path, others)
	l, _, err := acquire(context.Background(), path, time.Second, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	access := &clientcmd.PathOptions{GlobalFile: path, LoadingRules: &clientcmd.ClientConfigLoadingRules{ExplicitPath: path}}
	c, err := clientcmd.LoadFromFile(path)
	if err != nil {
		t.Fatal(err)
	}
	c.CurrentContext = ""
	if err := clientcmd.ModifyConfig(access, *c, false); err == nil {
		t.Error("kubectl wrote while rigup had the lock")
	}
	l.release()
	if err := clientcmd.ModifyConfig(access, *c, false); err != nil {
		t.Error(err)
	}
}

// TestC3_TwoAtOnce lets processes merge different clusters into one file at the same time; all must be there.
func TestC3_TwoAtOnce(t *testing.T) {
	if path := os.Getenv("RIGUP_TEST_MERGE"); path != "" {
		for i := range 5 {
			mustMerge(t, Options{File: path, Cluster: fmt.Sprintf("%s-%d", os.Getenv("RIGUP_TEST_NAME"), i)})
		}
		return
	}
	path := filepath.Join(t.TempDir(), "config")
	write1(t, path, others)
	var wg sync.WaitGroup
	for _, name := range []string{"p", "q", "r"} {
		wg.Go(func() {
			cmd := exec.Command(os.Args[0], "-test.run=^TestC3_TwoAtOnce$")
			cmd.Env = append(os.Environ(), "RIGUP_TEST_MERGE="+path, "RIGUP_TEST_NAME="+name)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", name, err, out)
			}
		})
	}
	for i := range 5 {
		wg.Go(func() { mustMerge(t, Options{File: path, Cluster: fmt.Sprintf("g-%d", i)}) })
	}
	wg.Wait()
	c, err := clientcmd.LoadFromFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Contexts) != 21 || len(c.Clusters) != 21 || len(c.AuthInfos) != 21 {
		t.Errorf("%d contexts, want 20 and the one that was there", len(c.Contexts))
	}
	if left, _ := filepath.Glob(path + ".lock*"); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}
