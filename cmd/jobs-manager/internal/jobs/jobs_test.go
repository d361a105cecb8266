package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

func settings(t *testing.T, more ...string) Settings {
	t.Helper()
	env := map[string]string{"POD_NAMESPACE": "space", "JOB_PRIORITY_CLASS": "low", "JOB_VOLUMES": "demo-data=/data,demo-logs=/logs"}
	for i := 0; i+1 < len(more); i += 2 {
		env[more[i]] = more[i+1]
	}
	s, err := FromEnv(func(k string) string { return env[k] })
	if err != nil {
		t.Fatal(err)
	}
	return s
}

type fake struct {
	job  *batch.Job
	pods []core.Pod
	err  error
}

func (f *fake) CreateJob(_ context.Context, j *batch.Job) (*batch.Job, error) {
	f.job = j
	return j, f.err
}
func (f *fake) GetJob(context.Context, string) (*batch.Job, error) { return f.job, f.err }
func (f *fake) ListJobs(context.Context, string) ([]batch.Job, error) {
	return []batch.Job{*f.job}, f.err
}
func (f *fake) ListPods(context.Context, string) ([]core.Pod, error) { return f.pods, nil }

const minimal = `{"name":"a","image":"registry.test/app:1","command":["x"]`

func TestRequest_MistakesNameTheField(t *testing.T) {
	tests := map[string]struct {
		body, field, message string
		status               int
	}{
		"empty":         {"", "", "empty", 400},
		"no JSON":       {"{,", "", "byte", 400},
		"cut off":       {`{"image":`, "", "ends in the middle", 400},
		"list":          {`[]`, "", "object", 400},
		"two":           {minimal + `} {}`, "", "after", 400},
		"unknown":       {minimal + `,"imagee":"x"}`, "imagee", "no such field", 400},
		"deep unknown":  {minimal + `,"resources":{"gpus":1}}`, "gpus", "no such field", 400},
		"type":          {`{"image":1}`, "image", "string", 400},
		"deep type":     {minimal + `,"resources":{"gpu":"1"}}`, "resources.gpu", "number", 400},
		"no image":      {`{"command":["x"]}`, "image", "missing", 400},
		"N4 no tag":     {`{"image":"registry.test:5000/app","command":["x"]}`, "image", "no tag", 400},
		"N4 latest":     {`{"image":"app:latest","command":["x"]}`, "image", "latest", 400},
		"bad reference": {`{"image":"a b:1","command":["x"]}`, "image", "reference", 400},
		"bad digest":    {`{"image":"a@sha256:12","command":["x"]}`, "image", "reference", 400},
		"no command":    {`{"image":"app:1"}`, "command", "missing", 400},
		"empty command": {`{"image":"app:1","command":[""]}`, "command.0", "empty", 400},
		"name":          {`{"name":"A_b","image":"app:1","command":["x"]}`, "name", "lower-case", 400},
		"long name":     {`{"name":"` + strings.Repeat("a", 60) + `","image":"app:1","command":["x"]}`, "name", "characters", 400},
		"env name":      {minimal + `,"env":{"A=B":"x"}}`, "env.A=B", "variable", 400},
		"cpu":           {minimal + `,"resources":{"cpu":"much"}}`, "resources.cpu", "amount", 400},
		"memory":        {minimal + `,"resources":{"memory":"0"}}`, "resources.memory", "more than nothing", 400},
		"directory":     {minimal + `,"workingDir":"x"}`, "workingDir", "absolute", 400},
		"time":          {minimal + `,"timeoutSeconds":-1}`, "timeoutSeconds", "negative", 400},
		"retries":       {minimal + `,"retries":101}`, "retries", "0 to 100", 400},
		"negative gpu":  {minimal + `,"resources":{"gpu":-1}}`, "resources.gpu", "negative", 400},
		"G1 gpu on CPU": {minimal + `,"resources":{"gpu":1}}`, "resources.gpu", "runs on the CPU", 422},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := &fake{}
			r, err := Decode(strings.NewReader(tt.body))
			if err == nil {
				_, err = New(settings(t), f).Create(t.Context(), r)
			}
			var p *Problem
			if !errors.As(err, &p) || p.Status != tt.status || p.Field != tt.field || !strings.Contains(p.Message, tt.message) {
				t.Errorf("%+v", err)
			}
			if f.job != nil {
				t.Error("a job was made")
			}
		})
	}
}

func TestCreate_ObjectIsRestricted(t *testing.T) {
	f := &fake{}
	r, err := Decode(strings.NewReader(minimal + `,"args":["y"],"env":{"B":"2","A":"1"},"resources":{"cpu":"2","memory":"3Gi"},"timeoutSeconds":60}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(settings(t), f).Create(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	j, p := f.job, f.job.Spec.Template.Spec
	c := p.Containers[0]
	checks := map[string]bool{
		"labels":          j.Labels[ManagedByLabel] == ManagedBy && j.Spec.Template.Labels[WorkloadLabel] == Workload,
		"namespace":       j.Namespace == "space",
		"limits":          *j.Spec.BackoffLimit == 0 && *j.Spec.TTLSecondsAfterFinished == 86400 && *j.Spec.ActiveDeadlineSeconds == 60,
		"restart":         p.RestartPolicy == core.RestartPolicyNever,
		"token":           !*p.AutomountServiceAccountToken,
		"priority":        p.PriorityClassName == "low",
		"not root":        *p.SecurityContext.RunAsNonRoot && *p.SecurityContext.RunAsUser == 65532,
		"seccomp":         p.SecurityContext.SeccompProfile.Type == core.SeccompProfileTypeRuntimeDefault,
		"no escalation":   !*c.SecurityContext.AllowPrivilegeEscalation && c.SecurityContext.Capabilities.Drop[0] == "ALL",
		"data":            len(c.VolumeMounts) == 2 && c.VolumeMounts[0].MountPath == "/data" && p.Volumes[0].PersistentVolumeClaim.ClaimName == "demo-data",
		"requests=limits": c.Resources.Requests.Cpu().String() == "2" && c.Resources.Limits.Memory().String() == "3Gi" && len(c.Resources.Limits) == 2,
		"env in order":    c.Env[0].Name == "A" && c.Env[1].Name == "B" && c.Env[2].Name == "HOME",
		"G1 no class":     p.RuntimeClassName == nil,
	}
	for name, ok := range checks {
		if !ok {
			b, _ := json.Marshal(j)
			t.Errorf("%s: %s", name, b)
		}
	}
}

func TestCreate_GPU(t *testing.T) {
	s := settings(t, "GPU_REQUESTS", "vendor.test/gpu=2", "GPU_LIMITS", "vendor.test/gpu=2", "RUNTIME_CLASS_NAME", "vendor", "GPU_VISIBLE_DEVICES", "vendor.test/gpu=all")
	f := &fake{}
	r := Request{Name: "a", Image: "app:1", Command: []string{"x"}, Resources: Resources{GPU: 2}}
	if _, err := New(s, f).Create(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	p := f.job.Spec.Template.Spec
	limit, request := p.Containers[0].Resources.Limits["vendor.test/gpu"], p.Containers[0].Resources.Requests["vendor.test/gpu"]
	if limit.Value() != 2 || request.Value() != 2 || *p.RuntimeClassName != "vendor" || p.Containers[0].Env[1].Value != "vendor.test/gpu=all" {
		t.Errorf("%+v", p)
	}
	r.Resources.GPU = 3
	var problem *Problem
	if _, err := New(s, f).Create(t.Context(), r); !errors.As(err, &problem) || problem.Status != 422 || problem.Field != "resources.gpu" {
		t.Error(err)
	}
	// A job that asks for none gets none, also where there is one.
	r.Resources.GPU = 0
	if _, err := New(s, f).Create(t.Context(), r); err != nil || len(f.job.Spec.Template.Spec.Containers[0].Resources.Limits) != 2 || f.job.Spec.Template.Spec.RuntimeClassName != nil {
		t.Errorf("%v %+v", err, f.job.Spec)
	}
}

func TestSettings_MistakesNameTheVariable(t *testing.T) {
	for name, value := range map[string]string{
		"POD_NAMESPACE": "", "JOB_CPU": "x", "JOB_MEMORY": "0", "JOB_BACKOFF_LIMIT": "-1", "JOB_UID": "root",
		"JOB_VOLUMES": "claim", "GPU_LIMITS": "gpu", "GPU_REQUESTS": "vendor.test/gpu=2",
	} {
		_, err := FromEnv(func(k string) string {
			switch {
			case k == name:
				return value
			case k == "POD_NAMESPACE":
				return "n"
			case k == "GPU_LIMITS" && name == "GPU_REQUESTS":
				return "vendor.test/gpu=1"
			}
			return ""
		})
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s=%q: %v", name, value, err)
		}
	}
}

func TestGet_Phases(t *testing.T) {
	now := metav1.Now()
	job := func(edit func(*batch.Job)) *batch.Job {
		j := &batch.Job{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{ManagedByLabel: ManagedBy}}}
		edit(j)
		return j
	}
	pod := func(phase core.PodPhase, edit func(*core.Pod)) []core.Pod {
		p := core.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a-1"}, Status: core.PodStatus{Phase: phase}}
		edit(&p)
		return []core.Pod{p}
	}
	same := func(*batch.Job) {}
	done := func(c batch.JobConditionType, why string) func(*batch.Job) {
		return func(j *batch.Job) {
			j.Status.Conditions = []batch.JobCondition{{Type: c, Status: core.ConditionTrue, Reason: why, LastTransitionTime: now}}
		}
	}
	tests := map[string]struct {
		job   *batch.Job
		pods  []core.Pod
		phase Phase
		why   string
	}{
		"no pod yet": {job(same), nil, Pending, ""},
		"not scheduled": {job(same), pod(core.PodPending, func(p *core.Pod) {
			p.Status.Conditions = []core.PodCondition{{Type: core.PodScheduled, Status: core.ConditionFalse, Reason: "Unschedulable", Message: "0/1 nodes"}}
		}), Pending, "Unschedulable"},
		"no image": {job(same), pod(core.PodPending, func(p *core.Pod) {
			p.Status.ContainerStatuses = []core.ContainerStatus{{State: core.ContainerState{Waiting: &core.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "no"}}}}
		}), Pending, "ImagePullBackOff"},
		"running":   {job(same), pod(core.PodRunning, func(*core.Pod) {}), Running, ""},
		"succeeded": {job(done(batch.JobComplete, "")), nil, Succeeded, ""},
		"failed": {job(done(batch.JobFailed, "BackoffLimitExceeded")), pod(core.PodFailed, func(p *core.Pod) {
			p.Status.ContainerStatuses = []core.ContainerStatus{{State: core.ContainerState{Terminated: &core.ContainerStateTerminated{Reason: "OOMKilled", ExitCode: 137}}}}
		}), Failed, "OOMKilled"},
		"too long": {job(done(batch.JobFailed, "DeadlineExceeded")), nil, Failed, "DeadlineExceeded"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := New(settings(t), &fake{job: tt.job, pods: tt.pods}).Get(t.Context(), "a")
			if err != nil {
				t.Fatal(err)
			}
			why := ""
			if got.Why != nil {
				why = got.Why.Reason
			}
			if got.Phase != tt.phase || why != tt.why {
				t.Errorf("%+v %+v", got, got.Why)
			}
		})
	}
}

func TestGet_JobsOfOthersAreNotShown(t *testing.T) {
	_, err := New(settings(t), &fake{job: &batch.Job{}}).Get(t.Context(), "a")
	var p *Problem
	if !errors.As(err, &p) || p.Status != 404 {
		t.Error(err)
	}
}

func TestKube_TalksToTheAPI(t *testing.T) {
	exists := false
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.Method + " " + r.URL.Path {
		case "POST /apis/batch/v1/namespaces/space/jobs":
			if exists {
				w.WriteHeader(http.StatusConflict)
				_ = json.NewEncoder(w).Encode(apierrors.NewAlreadyExists(batch.Resource("jobs"), "a").ErrStatus)
				return
			}
			exists = true
			var j batch.Job
			if err := json.NewDecoder(r.Body).Decode(&j); err != nil || j.Kind != "Job" {
				t.Errorf("%v %+v", err, j.TypeMeta)
			}
			_ = json.NewEncoder(w).Encode(j)
		case "GET /apis/batch/v1/namespaces/space/jobs":
			_, _ = w.Write([]byte(`{"kind":"JobList","apiVersion":"batch/v1","items":[{"metadata":{"name":"a"}}]}`))
		case "GET /api/v1/namespaces/space/pods":
			_, _ = w.Write([]byte(`{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"a-1","labels":{"batch.kubernetes.io/job-name":"a"}},"status":{"phase":"Running"}}]}`))
		default:
			w.WriteHeader(http.StatusNotFound)
			_ = json.NewEncoder(w).Encode(apierrors.NewNotFound(batch.Resource("jobs"), "x").ErrStatus)
		}
	}))
	defer srv.Close()
	api, err := Connect(&rest.Config{Host: srv.URL}, "space")
	if err != nil {
		t.Fatal(err)
	}
	m := New(settings(t), api)
	r := Request{Name: "a", Image: "app:1", Command: []string{"x"}}
	if _, err := m.Create(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	var p *Problem
	if _, err := m.Create(t.Context(), r); !errors.As(err, &p) || p.Status != 409 || p.Field != "name" {
		t.Error(err)
	}
	if _, err := m.Get(t.Context(), "x"); !errors.As(err, &p) || p.Status != 404 {
		t.Error(err)
	}
	all, err := m.List(t.Context())
	if err != nil || len(all) != 1 || all[0].Phase != Running {
		t.Errorf("%+v %v", all, err)
	}
	if err := api.Reach(t.Context()); err != nil {
		t.Error(err)
	}
	srv.Close()
	if _, err := m.List(t.Context()); !errors.As(err, &p) || p.Status != 502 {
		t.Error(err)
	}
}
