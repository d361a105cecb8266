package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Labels of what this program makes.
const (
	ManagedByLabel = "app.kubernetes.io/managed-by"
	ManagedBy      = "rigup-jobs-manager"
	WorkloadLabel  = "dev.rigup/workload"
	Workload       = "job"
)

// API is the part of Kubernetes that is used. Errors are those of apimachinery.
type API interface {
	CreateJob(ctx context.Context, job *batch.Job) (*batch.Job, error)
	GetJob(ctx context.Context, name string) (*batch.Job, error)
	ListJobs(ctx context.Context, selector string) ([]batch.Job, error)
	ListPods(ctx context.Context, selector string) ([]core.Pod, error)
}

// Manager makes and shows jobs.
type Manager struct {
	settings Settings
	api      API
}

// New makes a manager.
func New(s Settings, api API) *Manager { return &Manager{settings: s, api: api} }

// callLimit bounds one call to the API.
const callLimit = 15 * time.Second

// Create makes the job. A problem with the request is a *Problem.
func (m *Manager) Create(ctx context.Context, r Request) (Job, error) {
	if err := m.settings.check(r); err != nil {
		return Job{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	made, err := m.api.CreateJob(ctx, m.settings.job(r))
	if err != nil {
		return Job{}, m.problem(ctx, r.Name, err)
	}
	return show(made, nil), nil
}

// Get shows one job. One that this program did not make is not found.
func (m *Manager) Get(ctx context.Context, name string) (Job, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	j, err := m.api.GetJob(ctx, name)
	if err == nil && j.Labels[ManagedByLabel] != ManagedBy {
		err = apierrors.NewNotFound(batch.Resource("jobs"), name)
	}
	if err != nil {
		return Job{}, m.problem(ctx, name, err)
	}
	pods, err := m.api.ListPods(ctx, batch.JobNameLabel+"="+name)
	if err != nil {
		return Job{}, m.problem(ctx, name, err)
	}
	return show(j, pods), nil
}

// List shows all jobs, the newest first.
func (m *Manager) List(ctx context.Context) ([]Job, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	selector := ManagedByLabel + "=" + ManagedBy
	all, err := m.api.ListJobs(ctx, selector)
	if err != nil {
		return nil, m.problem(ctx, "", err)
	}
	pods, err := m.api.ListPods(ctx, WorkloadLabel+"="+Workload)
	if err != nil {
		return nil, m.problem(ctx, "", err)
	}
	byJob := map[string][]core.Pod{}
	for _, p := range pods {
		n := p.Labels[batch.JobNameLabel]
		byJob[n] = append(byJob[n], p)
	}
	out := make([]Job, 0, len(all))
	for i := range all {
		out = append(out, show(&all[i], byJob[all[i].Name]))
	}
	slices.SortFunc(out, func(a, b Job) int {
		return cmp.Or(cmp.Compare(b.Created, a.Created), cmp.Compare(a.Name, b.Name))
	})
	return out, nil
}

// problem turns an error of the API into an answer. A time-out is said to be one.
func (m *Manager) problem(ctx context.Context, name string, err error) error {
	switch {
	case apierrors.IsAlreadyExists(err):
		return &Problem{Status: 409, Field: "name", Message: fmt.Sprintf("a job %s exists already", name)}
	case apierrors.IsNotFound(err):
		return &Problem{Status: 404, Message: fmt.Sprintf("there is no job %s", name)}
	case apierrors.IsInvalid(err) || apierrors.IsBadRequest(err):
		return &Problem{Status: 422, Message: "the cluster refused the job: " + err.Error()}
	case apierrors.IsForbidden(err):
		return &Problem{Status: 403, Message: "the cluster does not allow it: " + err.Error()}
	case errors.Is(ctx.Err(), context.DeadlineExceeded) || apierrors.IsTimeout(err):
		return &Problem{Status: 504, Message: fmt.Sprintf("the cluster's API did not answer within %s", callLimit)}
	}
	return &Problem{Status: 502, Message: "the cluster's API failed: " + err.Error()}
}

// job makes the Kubernetes object of a checked request.
func (s Settings) job(r Request) *batch.Job {
	labels := map[string]string{ManagedByLabel: ManagedBy, WorkloadLabel: Workload}
	j := &batch.Job{ObjectMeta: metav1.ObjectMeta{Name: r.Name, Namespace: s.Namespace, Labels: labels}}
	if r.Name == "" {
		j.GenerateName = "job-"
	}
	retries, ttl := s.BackoffLimit, s.TTLSeconds
	if r.Retries != nil {
		retries = *r.Retries
	}
	j.Spec.BackoffLimit, j.Spec.TTLSecondsAfterFinished = &retries, &ttl
	if r.TimeoutSeconds > 0 {
		j.Spec.ActiveDeadlineSeconds = &r.TimeoutSeconds
	}
	j.Spec.Template = core.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: s.pod(r)}
	return j
}

func (s Settings) pod(r Request) core.PodSpec {
	yes, no := true, false
	c := core.Container{
		Name: "job", Image: r.Image, Command: r.Command, Args: r.Args, WorkingDir: r.WorkingDir,
		Resources: s.resources(r.Resources),
		SecurityContext: &core.SecurityContext{
			AllowPrivilegeEscalation: &no,
			Capabilities:             &core.Capabilities{Drop: []core.Capability{"ALL"}},
		},
	}
	for _, k := range sortedKeys(r.Env) {
		c.Env = append(c.Env, core.EnvVar{Name: k, Value: r.Env[k]})
	}
	if _, ok := r.Env["HOME"]; !ok {
		// The user has no home in most images; caches go where it can write.
		c.Env = append(c.Env, core.EnvVar{Name: "HOME", Value: "/tmp"})
	}
	p := core.PodSpec{
		RestartPolicy:                core.RestartPolicyNever,
		PriorityClassName:            s.PriorityClass,
		AutomountServiceAccountToken: &no,
		// The variables of services are of no use to a job, and tell it where things are.
		EnableServiceLinks: &no,
		SecurityContext: &core.PodSecurityContext{
			RunAsNonRoot: &yes, RunAsUser: &s.UID, RunAsGroup: &s.GID,
			SeccompProfile: &core.SeccompProfile{Type: core.SeccompProfileTypeRuntimeDefault},
		},
	}
	for i, v := range s.Volumes {
		name := "volume-" + strconv.Itoa(i)
		p.Volumes = append(p.Volumes, core.Volume{Name: name, VolumeSource: core.VolumeSource{
			PersistentVolumeClaim: &core.PersistentVolumeClaimVolumeSource{ClaimName: v.Claim}}})
		c.VolumeMounts = append(c.VolumeMounts, core.VolumeMount{Name: name, MountPath: v.Path})
	}
	if r.Resources.GPU > 0 {
		if s.GPU.RuntimeClass != "" {
			p.RuntimeClassName = &s.GPU.RuntimeClass
		}
		if _, ok := r.Env["NVIDIA_VISIBLE_DEVICES"]; !ok && s.GPU.VisibleDevices != "" {
			c.Env = append(c.Env, core.EnvVar{Name: "NVIDIA_VISIBLE_DEVICES", Value: s.GPU.VisibleDevices})
		}
	}
	p.Containers = []core.Container{c}
	return p
}

// resources puts limits on everything and requests the same, so that a job gets what it asked for.
func (s Settings) resources(r Resources) core.ResourceRequirements {
	cpu, _ := amount("", r.CPU, s.CPU, "")
	memory, _ := amount("", r.Memory, s.Memory, "")
	list := core.ResourceList{core.ResourceCPU: cpu, core.ResourceMemory: memory}
	if r.GPU > 0 {
		list[core.ResourceName(s.GPU.Resource)] = *resource.NewQuantity(r.GPU, resource.DecimalSI)
	}
	return core.ResourceRequirements{Requests: list, Limits: list}
}
