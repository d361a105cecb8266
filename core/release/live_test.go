package release

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"testing"
	"time"

	helmrelease "helm.sh/helm/v3/pkg/release"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"rigup.dev/rigup/core/reason"
)

// liveVar names a kubeconfig of a cluster that may be worked in, such as the lab's.
const liveVar = "RIGUP_TEST_KUBECONFIG"

// The whole story against a real API server: Helm's fakes neither keep objects nor refuse anything.
func TestLive_Story(t *testing.T) {
	file := os.Getenv(liveVar)
	if file == "" {
		t.Skip("skipped: " + liveVar + " names no kubeconfig of a real cluster")
	}
	kubeconfig, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	client, err := New(Options{Kubeconfig: kubeconfig, Release: "demo", Namespace: "live", Log: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Uninstall(ctx, false, time.Minute); err != nil {
		t.Fatal(err)
	}
	c := builtin(t)
	values := managed(t, c, nil)
	values["hostPath"] = map[string]any{"basePath": "/var/lib/rigup/data"}
	rest, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := dynamic.NewForConfig(rest)
	if err != nil {
		t.Fatal(err)
	}
	deployments := objects.Resource(schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}).Namespace("live")
	claims := objects.Resource(schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}).Namespace("live")
	get := func(r dynamic.ResourceInterface, name string) *unstructured.Unstructured {
		t.Helper()
		u, err := r.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	apply := func(want Action, values map[string]any) *Plan {
		t.Helper()
		start := time.Now()
		p, err := client.Plan(ctx, c, values)
		if err != nil {
			t.Fatal(err)
		}
		planned := time.Since(start)
		if p.Action != want {
			t.Fatalf("%s because %q, want %s", p.Action, p.Why, want)
		}
		start = time.Now()
		st, err := client.Apply(ctx, p, time.Minute)
		if err != nil {
			t.Fatalf("%v %q", err, reason.Of(err).Evidence)
		}
		t.Logf("STEP %s %q: planned in %s, applied in %s, revision %d", p.Action, p.Why, planned, time.Since(start), st.Revision)
		if st.State != Deployed {
			t.Fatalf("state %s", st.State)
		}
		return p
	}
	leave := func(status helmrelease.Status) {
		t.Helper()
		s, err := client.connect(ctx)
		if err != nil {
			t.Fatal(err)
		}
		last, err := s.config.Releases.Last("demo")
		if err != nil {
			t.Fatal(err)
		}
		last.SetStatus(status, "cut off by the test")
		if err := s.config.Releases.Update(last); err != nil {
			t.Fatal(err)
		}
	}

	apply(Install, values)
	generation := get(deployments, "demo-jobs-manager").GetGeneration()
	claim := get(claims, "demo-data").GetUID()
	apply(Nothing, values)

	changed := maps.Clone(values)
	changed["networkPolicy"] = map[string]any{"allowedCIDRs": []any{"192.168.7.7/32"}}
	apply(Upgrade, changed)
	if got := get(deployments, "demo-jobs-manager").GetGeneration(); got != generation {
		t.Errorf("a value that pods do not use changed the deployment: generation %d, was %d", got, generation)
	}
	apply(Nothing, changed)

	// Deleted by hand: made again.
	if err := deployments.Delete(ctx, "demo-jobs-manager", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	apply(Upgrade, changed)
	get(deployments, "demo-jobs-manager")

	for _, status := range []helmrelease.Status{helmrelease.StatusPendingInstall, helmrelease.StatusPendingUpgrade, helmrelease.StatusPendingRollback, helmrelease.StatusUninstalling, helmrelease.StatusFailed} {
		leave(status)
		apply(Upgrade, values)
		if got := get(claims, "demo-data").GetUID(); got != claim {
			t.Fatalf("%s: the users' volume was replaced", status)
		}
		apply(Nothing, values)
	}

	// Cut off at the very beginning: a record, and no objects.
	if err := client.Uninstall(ctx, true, time.Minute); err != nil {
		t.Fatal(err)
	}
	if got := get(claims, "demo-data").GetUID(); got != claim {
		t.Fatal("the data did not stay")
	}
	apply(Install, values)
	if got := get(claims, "demo-data").GetUID(); got != claim {
		t.Fatal("the data was not taken over")
	}
	leave(helmrelease.StatusPendingInstall)
	if err := deployments.Delete(ctx, "demo-jobs-manager", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	apply(Upgrade, values)

	// A claim deleted by hand: its successor gets the same volume, and so the same data.
	if err := deployments.Delete(ctx, "demo-jobs-manager", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := claims.Delete(ctx, "demo-data", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	volumes := objects.Resource(volumeResource)
	eventually(ctx, t, "the volume is released", func() bool {
		phase, _, _ := unstructured.NestedString(get(volumes, "live.demo-data").Object, "status", "phase")
		return phase == "Released"
	})
	apply(Upgrade, values)
	eventually(ctx, t, "the claim is bound", func() bool {
		phase, _, _ := unstructured.NestedString(get(claims, "demo-data").Object, "status", "phase")
		return phase == "Bound"
	})

	// Somebody else's release of the same name is left alone.
	s, err := client.connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	secrets := objects.Resource(schema.GroupVersionResource{Version: "v1", Resource: "secrets"}).Namespace("live")
	history, err := s.config.Releases.History("demo")
	if err != nil {
		t.Fatal(err)
	}
	last := slices.MaxFunc(history, func(a, b *helmrelease.Release) int { return a.Version - b.Version })
	record := "sh.helm.release.v1.demo.v" + jsonNumber(last.Version)
	mark := func(label any) {
		b, _ := json.Marshal(map[string]any{"metadata": map[string]any{"labels": map[string]any{managedLabel: label}}})
		if _, err := secrets.Patch(ctx, record, types.MergePatchType, b, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	mark(nil)
	if _, err := client.Plan(ctx, c, values); reason.Of(err).ID != reason.ReleaseForeign {
		t.Errorf("plan: %v", err)
	}
	if err := client.Uninstall(ctx, false, time.Minute); reason.Of(err).ID != reason.ReleaseForeign {
		t.Errorf("uninstall: %v", err)
	}
	mark("true")

	// A cancelled upgrade ends at once and is continued.
	p, err := client.Plan(ctx, c, changed)
	if err != nil {
		t.Fatal(err)
	}
	short, stop := context.WithTimeout(ctx, 40*time.Millisecond)
	start := time.Now()
	_, err = client.Apply(short, p, time.Minute)
	stop()
	t.Logf("STEP cancelled after %s: %v", time.Since(start), err)
	if took := time.Since(start); took > 3*time.Second {
		t.Errorf("it took %s", took)
	}
	if st, err := client.Status(ctx); err != nil || st.State == Stuck {
		t.Errorf("afterwards %s %v", st.State, err)
	}

	if os.Getenv("RIGUP_TEST_KEEP") != "" {
		return
	}
	if err := client.Uninstall(ctx, false, time.Minute); err != nil {
		t.Fatal(err)
	}
	if st, err := client.Status(ctx); err != nil || st.State != None {
		t.Errorf("%s %v", st.State, err)
	}
}

func jsonNumber(n int) string {
	b, _ := json.Marshal(n)
	return string(b)
}

// eventually asks until the answer is yes or ctx ends. Controllers of a real cluster have no other signal.
func eventually(ctx context.Context, t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-ctx.Done():
			t.Fatalf("never: %s", what)
		case <-tick.C:
		}
	}
}
