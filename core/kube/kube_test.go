package kube

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	"rigup.dev/rigup/core/reason"
)

// simulated is a Client on client-go's fake, whose API is up.
func simulated(objects ...runtime.Object) (*Client, *fake.Clientset) {
	f := fake.NewClientset(objects...)
	return &Client{core: f.CoreV1(), apps: f.AppsV1(), batch: f.BatchV1(), address: "127.0.0.1:16443",
		raw: func(_ context.Context, path string) ([]byte, error) {
			if path == "/version" {
				return []byte(`{"gitVersion":"v1.36.0+k3s1"}`), nil
			}
			return []byte("ok"), nil
		}}, f
}

func uid(kind, name string) types.UID { return types.UID(kind + "-" + name) }

func ptr[T any](v T) *T { return &v }

// deployment has one replica that is ready or not.
func deployment(ns, name string, ready bool) *apps.Deployment {
	d := &apps.Deployment{ObjectMeta: meta.ObjectMeta{Name: name, Namespace: ns, UID: uid("dep", name), Generation: 1},
		Spec: apps.DeploymentSpec{Replicas: ptr(int32(1))}, Status: apps.DeploymentStatus{ObservedGeneration: 1, Replicas: 1, UpdatedReplicas: 1}}
	if ready {
		d.Status.AvailableReplicas, d.Status.ReadyReplicas = 1, 1
	}
	return d
}

func set(ns, deployment, revision string) *apps.ReplicaSet {
	return &apps.ReplicaSet{ObjectMeta: meta.ObjectMeta{Name: deployment + "-" + revision, Namespace: ns, UID: uid("set", deployment+revision),
		Annotations:     map[string]string{"deployment.kubernetes.io/revision": revision},
		OwnerReferences: []meta.OwnerReference{{Kind: "Deployment", Name: deployment, UID: uid("dep", deployment)}}}}
}

func pod(ns, deployment, revision string, ready bool) *core.Pod {
	p := &core.Pod{ObjectMeta: meta.ObjectMeta{Name: deployment + "-" + revision + "-x", Namespace: ns, UID: uid("pod", deployment+revision),
		OwnerReferences: []meta.OwnerReference{{Kind: "ReplicaSet", UID: uid("set", deployment+revision)}}},
		Spec: core.PodSpec{NodeName: "node"}, Status: core.PodStatus{Phase: core.PodRunning}}
	if ready {
		p.Status.Conditions = []core.PodCondition{{Type: core.PodReady, Status: core.ConditionTrue}}
	}
	return p
}

func wantReason(t *testing.T, err error, id reason.ID) reason.Reason {
	t.Helper()
	var e *reason.Error
	if !errors.As(err, &e) || e.Reason.ID != id {
		t.Fatalf("error %v, want reason %s", err, id)
	}
	return e.Reason
}

// podCase is one file of the corpus.
type podCase struct {
	Note     string       `json:"note"`
	Want     reason.ID    `json:"want"`
	After    string       `json:"after"`
	Evidence []string     `json:"evidence"`
	Pod      core.Pod     `json:"pod"`
	Events   []core.Event `json:"events"`
	Nodes    []core.Node  `json:"nodes"`
}

// TestG4_WhyAPodDoesNotStart classifies the corpus, and decides early only where waiting cannot help.
func TestG4_WhyAPodDoesNotStart(t *testing.T) {
	files, err := filepath.Glob("testdata/pods/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("no corpus", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var k podCase
			if err := json.Unmarshal(b, &k); err != nil {
				t.Fatal(err)
			}
			objects := []runtime.Object{&k.Pod,
				&apps.Deployment{ObjectMeta: meta.ObjectMeta{Name: "app", Namespace: "demo", UID: "dep-1", Generation: 1}, Spec: apps.DeploymentSpec{Replicas: ptr(int32(1))}},
				&apps.ReplicaSet{ObjectMeta: meta.ObjectMeta{Name: "app-5d4f8c7b9", Namespace: "demo", UID: "set-1", OwnerReferences: []meta.OwnerReference{{UID: "dep-1"}}}}}
			for i := range k.Events {
				objects = append(objects, &k.Events[i])
			}
			for i := range k.Nodes {
				objects = append(objects, &k.Nodes[i])
			}
			c, _ := simulated(objects...)
			ctx := t.Context()
			v, err := c.look(ctx, "demo", Deployment)
			if err != nil {
				t.Fatal(err)
			}
			f := v.find(Workload{Deployment, "demo", "app"}, time.Time{})
			got := c.diagnose(ctx, v, f, baseline{})
			after := "never"
			if got.after != never {
				after = got.after.String()
			}
			if after != k.After {
				t.Errorf("ends after %s, want %s", after, k.After)
			}
			r := c.reason(ctx, f, got, WaitOptions{Context: "rigup-demo", DataDir: "/home/me/data"}, time.Minute)
			if r.ID != k.Want {
				t.Errorf("reason %s, want %s", r.ID, k.Want)
			}
			all := strings.Join(r.Evidence, "\n")
			for _, e := range k.Evidence {
				if !strings.Contains(all, e) {
					t.Errorf("evidence %q lacks %q", all, e)
				}
			}
			if len(r.Evidence) > maxEvidence {
				t.Errorf("%d lines of evidence", len(r.Evidence))
			}
			if strings.Contains(all, "hunter2") {
				t.Errorf("E2: a secret is shown: %s", all)
			}
			for _, s := range append(r.Remedy, r.Text) {
				if strings.Contains(s, "{") {
					t.Errorf("not filled in: %s", s)
				}
			}
		})
	}
}
