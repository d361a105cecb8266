package release

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/kube"
	kubefake "helm.sh/helm/v3/pkg/kube/fake"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sfake "k8s.io/client-go/kubernetes/fake"

	"rigup.dev/rigup/core/reason"
)

const kubeVersion = "v1.36.0"

// cluster stands in for a cluster: Helm's storage in memory, and a client that does nothing but count.
type cluster struct {
	client *Client
	kube   *counting
	store  *storage.Storage
	gone   []Object
	err    error
}

type counting struct {
	kubefake.FailingKubeClient
	deleted, updated, created int
	onUpdate                  func() error
}

func (c *counting) Create(r kube.ResourceList) (*kube.Result, error) {
	c.created++
	return c.FailingKubeClient.Create(r)
}

func (c *counting) Delete(r kube.ResourceList) (*kube.Result, []error) {
	c.deleted++
	return c.FailingKubeClient.Delete(r)
}

func (c *counting) Update(a, b kube.ResourceList, force bool) (*kube.Result, error) {
	c.updated++
	if c.onUpdate != nil {
		if err := c.onUpdate(); err != nil {
			return &kube.Result{}, err
		}
	}
	return c.FailingKubeClient.Update(a, b, force)
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	mem := driver.NewMemory()
	mem.SetNamespace("space")
	f := &cluster{store: storage.Init(mem), kube: &counting{FailingKubeClient: kubefake.FailingKubeClient{PrintingKubeClient: kubefake.PrintingKubeClient{Out: io.Discard, LogOutput: io.Discard}}}}
	f.client = &Client{release: "demo", namespace: "space", address: "https://127.0.0.1:1", log: t.Logf,
		connect: func(context.Context) (*session, error) {
			if f.err != nil {
				return nil, f.err
			}
			return &session{
				config:  &action.Configuration{Releases: f.store, KubeClient: f.kube, Capabilities: &chartutil.Capabilities{KubeVersion: chartutil.KubeVersion{Version: kubeVersion, Major: "1", Minor: "36"}}, Log: t.Logf},
				version: func() (string, error) { return kubeVersion, nil },
				exists:  func([]Object) ([]Object, error) { return f.gone, nil },
				reclaim: func([]Object) ([]string, error) { return nil, nil },
			}, nil
		}}
	return f
}

// put writes a record as a run that was cut off, or somebody else, would have left it.
func (f *cluster) put(t *testing.T, version int, status helmrelease.Status, labels map[string]string) {
	t.Helper()
	c := builtin(t)
	chart, err := c.fresh()
	if err != nil {
		t.Fatal(err)
	}
	err = f.store.Create(&helmrelease.Release{Name: "demo", Namespace: "space", Version: version, Chart: chart, Labels: labels,
		Manifest: "---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n",
		Config:   map[string]any{"service": map[string]any{"port": 80}}, Info: &helmrelease.Info{Status: status, Description: "as it was"}})
	if err != nil {
		t.Fatal(err)
	}
}

var ours = map[string]string{managedLabel: "true"}

func TestPlan_Decisions(t *testing.T) {
	c := builtin(t)
	values := map[string]any{"service": map[string]any{"port": 80}}
	r, err := Render(c, values, Target{Release: "demo", Namespace: "space", KubeVersion: kubeVersion})
	if err != nil {
		t.Fatal(err)
	}
	same := func(version int) map[string]string {
		return map[string]string{managedLabel: "true", inputsLabel: r.Inputs + "-" + strconv.Itoa(version)}
	}
	type record struct {
		status helmrelease.Status
		labels map[string]string
	}
	tests := map[string]struct {
		records []record
		gone    []Object
		want    Action
		why     string
		stuck   bool
		fails   reason.ID
	}{
		"none":                   {want: Install, why: "chart rigup 0.1.0"},
		"same":                   {records: []record{{helmrelease.StatusDeployed, same(1)}}, want: Nothing},
		"same, second revision":  {records: []record{{helmrelease.StatusSuperseded, ours}, {helmrelease.StatusDeployed, same(2)}}, want: Nothing},
		"object gone":            {records: []record{{helmrelease.StatusDeployed, same(1)}}, gone: []Object{{Kind: "Deployment", Name: "web"}}, want: Upgrade, why: "Deployment/web is gone"},
		"other inputs":           {records: []record{{helmrelease.StatusDeployed, map[string]string{managedLabel: "true", inputsLabel: "x-1"}}}, want: Upgrade, why: "content"},
		"upgraded by others":     {records: []record{{helmrelease.StatusSuperseded, same(1)}, {helmrelease.StatusDeployed, same(1)}}, want: Upgrade, why: "others"},
		"failed":                 {records: []record{{helmrelease.StatusFailed, same(1)}}, want: Upgrade, why: "as it was"},
		"failed after deployed":  {records: []record{{helmrelease.StatusDeployed, ours}, {helmrelease.StatusFailed, ours}}, want: Upgrade, why: "failed"},
		"C5 pending-install":     {records: []record{{helmrelease.StatusPendingInstall, ours}}, want: Upgrade, why: "pending-install", stuck: true},
		"C5 pending-upgrade":     {records: []record{{helmrelease.StatusDeployed, ours}, {helmrelease.StatusPendingUpgrade, ours}}, want: Upgrade, why: "pending-upgrade", stuck: true},
		"C5 pending-rollback":    {records: []record{{helmrelease.StatusDeployed, ours}, {helmrelease.StatusPendingRollback, ours}}, want: Upgrade, why: "pending-rollback", stuck: true},
		"C5 uninstalling":        {records: []record{{helmrelease.StatusUninstalling, ours}}, want: Upgrade, why: "uninstalling", stuck: true},
		"uninstalled":            {records: []record{{helmrelease.StatusUninstalled, ours}}, want: Upgrade, why: "uninstalled"},
		"unknown to Helm":        {records: []record{{helmrelease.StatusUnknown, ours}}, want: Upgrade, why: "failed"},
		"C2 foreign":             {records: []record{{helmrelease.StatusDeployed, nil}}, fails: reason.ReleaseForeign},
		"C2 foreign and pending": {records: []record{{helmrelease.StatusPendingInstall, nil}}, fails: reason.ReleaseForeign},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := newCluster(t)
			f.gone = tt.gone
			for i, rec := range tt.records {
				f.put(t, i+1, rec.status, rec.labels)
			}
			p, err := f.client.Plan(t.Context(), c, values)
			if tt.fails != "" {
				if got := reason.Of(err).ID; got != tt.fails {
					t.Fatalf("reason %s: %v", got, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if p.Action != tt.want || !strings.Contains(strings.Join(p.Why, "; "), tt.why) || (p.Recovers != nil) != tt.stuck {
				t.Errorf("%s because %q, recovers %v", p.Action, p.Why, p.Recovers)
			}
			// Whatever the state was, applying ends in deployed, and then there is nothing to do.
			st, err := f.client.Apply(t.Context(), p, time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			if st.State != Deployed || f.kube.deleted != 0 {
				t.Errorf("state %s, %d deletions", st.State, f.kube.deleted)
			}
			f.gone = nil
			if p, err = f.client.Plan(t.Context(), c, values); err != nil || p.Action != Nothing {
				t.Errorf("afterwards: %v %v", p, err)
			}
			if _, err := f.client.Apply(t.Context(), p, time.Minute); err != nil {
				t.Error(err)
			}
		})
	}
}

// A plan may be old when it is applied: the state at that moment decides.
func TestC5_PendingBetweenPlanAndApply(t *testing.T) {
	f := newCluster(t)
	c := builtin(t)
	p, err := f.client.Plan(t.Context(), c, nil)
	if err != nil {
		t.Fatal(err)
	}
	f.put(t, 1, helmrelease.StatusPendingInstall, ours)
	st, err := f.client.Apply(t.Context(), p, time.Minute)
	if err != nil || st.State != Deployed || st.Revision != 2 || f.kube.deleted != 0 {
		t.Errorf("%s %d %v", st.State, st.Revision, err)
	}
	first, err := f.store.Get("demo", 1)
	if err != nil || first.Info.Status == helmrelease.StatusPendingInstall {
		t.Errorf("the cut-off record is still pending: %v", err)
	}
}

func TestG7_ValuesAreReset(t *testing.T) {
	f := newCluster(t)
	c := builtin(t)
	for i, v := range []map[string]any{{"env": map[string]any{"GPU_LIMITS": "vendor.test/gpu=1", "X": "y"}}, {"env": map[string]any{"GPU_LIMITS": ""}}} {
		p, err := f.client.Plan(t.Context(), c, v)
		if err != nil {
			t.Fatal(err)
		}
		if i == 1 && !reflect.DeepEqual(p.Why, []string{"value env.GPU_LIMITS", "value env.X"}) {
			t.Errorf("why %q", p.Why)
		}
		st, err := f.client.Apply(t.Context(), p, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if !same(st.Values, v) {
			t.Errorf("stored %v, wanted %v", st.Values, v)
		}
	}
}

// A state that cannot be read is never "none": nothing is installed over it.
func TestC1_UnreadableIsAnError(t *testing.T) {
	f := newCluster(t)
	f.err = errors.New("dial refused")
	if _, err := f.client.Status(t.Context()); err == nil {
		t.Error("status")
	}
	if _, err := f.client.Plan(t.Context(), builtin(t), nil); err == nil {
		t.Error("plan")
	}
	if err := f.client.Uninstall(t.Context(), true, time.Minute); err == nil {
		t.Error("uninstall")
	}
}

func TestC1_DamagedRecordIsAnError(t *testing.T) {
	set := k8sfake.NewClientset(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "sh.helm.release.v1.demo.v1", Namespace: "space", Labels: map[string]string{"owner": "helm", "name": "demo", "version": "1", "status": "deployed"}},
		Type:       "helm.sh/release.v1", Data: map[string][]byte{"release": []byte("!!! topsecret")},
	})
	f := newCluster(t)
	f.store = storage.Init(newStrict(set.CoreV1().Secrets("space")))
	_, err := f.client.Status(t.Context())
	if r := reason.Of(err); r.ID != reason.ReleaseUnknown || strings.Contains(err.Error(), "topsecret") {
		t.Errorf("%s %v", r.ID, err)
	}
	if _, err := f.store.Get("demo", 1); err == nil {
		t.Error("get")
	}
}

func TestE1_CancelledApplyLeavesAFailedRecordNotAPendingOne(t *testing.T) {
	f := newCluster(t)
	c := builtin(t)
	f.put(t, 1, helmrelease.StatusDeployed, ours)
	p, err := f.client.Plan(t.Context(), c, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	f.kube.onUpdate = func() error {
		cancel() // as Ctrl-C does, in the middle of the work
		<-ctx.Done()
		return ctx.Err()
	}
	_, err = f.client.Apply(ctx, p, time.Minute)
	if r := reason.Of(err); r.ID != reason.Interrupted {
		t.Errorf("%s %v", r.ID, err)
	}
	if last, err := f.store.Last("demo"); err != nil || last.Info.Status != helmrelease.StatusFailed {
		t.Errorf("%v %v", last.Info.Status, err)
	}
	f.kube.onUpdate = nil
	if p, err = f.client.Plan(t.Context(), c, nil); err != nil || p.Action != Upgrade {
		t.Fatalf("%v %v", p, err)
	}
	if st, err := f.client.Apply(t.Context(), p, time.Minute); err != nil || st.State != Deployed {
		t.Errorf("%s %v", st.State, err)
	}
}

func TestE1_DeadlineIsReportedAsOne(t *testing.T) {
	f := newCluster(t)
	f.put(t, 1, helmrelease.StatusDeployed, ours)
	p, err := f.client.Plan(t.Context(), builtin(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	block := make(chan struct{})
	f.kube.onUpdate = func() error { <-block; return context.DeadlineExceeded }
	time.AfterFunc(20*time.Millisecond, func() { close(block) })
	_, err = f.client.Apply(t.Context(), p, 10*time.Millisecond)
	if r := reason.Of(err); r.ID != reason.ChartTimeout || !strings.Contains(r.Text, "10ms") {
		t.Errorf("%s %v", r.ID, err)
	}
}

// Helm's requests carry no context of ours; the transport gives them one.
func TestE1_RequestsEndWithTheirOperation(t *testing.T) {
	arrived := make(chan struct{}, 1)
	release := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		select {
		case <-r.Context().Done():
		case <-release:
		}
	}))
	defer srv.Close()
	defer close(release)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-arrived; cancel() }()
	client := http.Client{Transport: bound{ctx, http.DefaultTransport}}
	if _, err := client.Get(srv.URL + "/api"); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "GET /api") {
		t.Error(err)
	}
}

func TestUninstall_KeepsDataInTheStoredManifest(t *testing.T) {
	const manifest = "---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata:\n  name: d\n---\napiVersion: v1\nkind: Secret\nmetadata:\n  name: s\n"
	kept, err := keepData(manifest)
	if err != nil || strings.Count(kept, "helm.sh/resource-policy: keep") != 1 {
		t.Fatalf("%v\n%s", err, kept)
	}
	back, err := releaseData(kept)
	if err != nil || strings.Contains(back, "resource-policy") {
		t.Errorf("%v\n%s", err, back)
	}
	objects, err := objectsOf(kept, "n")
	if err != nil || len(objects) != 2 || objects[0].Kind != "PersistentVolumeClaim" || objects[1].Kind != "Secret" {
		t.Errorf("%v %v", objects, err)
	}
}

func TestUninstall_States(t *testing.T) {
	f := newCluster(t)
	if err := f.client.Uninstall(t.Context(), true, time.Minute); err != nil {
		t.Errorf("nothing there: %v", err)
	}
	f.put(t, 1, helmrelease.StatusPendingInstall, ours)
	if err := f.client.Uninstall(t.Context(), true, time.Minute); err != nil {
		t.Errorf("pending: %v", err)
	}
	if st, err := f.client.Status(t.Context()); err != nil || st.State != None {
		t.Errorf("%s %v", st.State, err)
	}
	f.put(t, 1, helmrelease.StatusDeployed, nil)
	if err := f.client.Uninstall(t.Context(), true, time.Minute); reason.Of(err).ID != reason.ReleaseForeign {
		t.Errorf("foreign: %v", err)
	}
}

func TestPreview_NeedsNoCluster(t *testing.T) {
	p, err := Preview(builtin(t), nil, target)
	if err != nil || p.Action != Install {
		t.Fatal(err)
	}
	want := []Object{{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "space", Name: "demo-jobs-manager"}}
	if got := p.Workloads(); !reflect.DeepEqual(got, want) {
		t.Errorf("%v", got)
	}
}
