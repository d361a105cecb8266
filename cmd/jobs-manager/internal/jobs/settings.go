// Package jobs turns job requests into Kubernetes Jobs, and Jobs into what people want to know about them.
package jobs

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Settings is what the chart decides about all jobs.
type Settings struct {
	Namespace     string
	PriorityClass string // empty: the cluster's default
	// CPU and Memory are of a job that asks for nothing.
	CPU, Memory  resource.Quantity
	BackoffLimit int32
	TTLSeconds   int32
	UID, GID     int64
	Volumes      []Volume
	GPU          GPU
}

// Volume is a claim that is mounted into every job.
type Volume struct{ Claim, Path string }

// GPU is what rigup proved of the cluster. An empty Resource means that there is no GPU: nothing asks for one (G1).
type GPU struct {
	Resource       string
	Max            int64 // how many a single job can have
	RuntimeClass   string
	VisibleDevices string
}

// FromEnv reads the settings. The error names the variable and what is allowed.
func FromEnv(getenv func(string) string) (Settings, error) {
	var errs []error
	s := Settings{
		Namespace:     getenv("POD_NAMESPACE"),
		PriorityClass: getenv("JOB_PRIORITY_CLASS"),
		CPU:           quantity(getenv, "JOB_CPU", "1", &errs),
		Memory:        quantity(getenv, "JOB_MEMORY", "1Gi", &errs),
		BackoffLimit:  int32(number(getenv, "JOB_BACKOFF_LIMIT", 0, 100, &errs)),
		TTLSeconds:    int32(number(getenv, "JOB_TTL_SECONDS", 86400, 1<<31-1, &errs)),
		UID:           number(getenv, "JOB_UID", 65532, 1<<31-1, &errs),
		GID:           number(getenv, "JOB_GID", 65532, 1<<31-1, &errs),
	}
	if s.Namespace == "" {
		errs = append(errs, errors.New("POD_NAMESPACE is not set: the namespace in which jobs are made"))
	}
	for _, v := range strings.FieldsFunc(getenv("JOB_VOLUMES"), func(r rune) bool { return r == ',' }) {
		claim, path, ok := strings.Cut(v, "=")
		if !ok || claim == "" || !strings.HasPrefix(path, "/") {
			errs = append(errs, fmt.Errorf("JOB_VOLUMES: %q is not CLAIM=/PATH", v))
			continue
		}
		s.Volumes = append(s.Volumes, Volume{Claim: claim, Path: path})
	}
	var err error
	if s.GPU, err = gpu(getenv); err != nil {
		errs = append(errs, err)
	}
	return s, errors.Join(errs...)
}

// gpu reads RESOURCE=N. An unset or empty GPU_LIMITS is a cluster without GPU; the other GPU variables then
// mean nothing.
func gpu(getenv func(string) string) (GPU, error) {
	limits := strings.TrimSpace(getenv("GPU_LIMITS"))
	if limits == "" {
		return GPU{}, nil
	}
	name, count, ok := strings.Cut(limits, "=")
	n, err := strconv.ParseInt(count, 10, 32)
	if !ok || err != nil || n < 1 || !strings.Contains(name, "/") {
		return GPU{}, fmt.Errorf("GPU_LIMITS: %q is not RESOURCE=N, for example vendor.example/gpu=1", limits)
	}
	if r := strings.TrimSpace(getenv("GPU_REQUESTS")); r != "" && r != limits {
		return GPU{}, fmt.Errorf("GPU_REQUESTS: %q differs from GPU_LIMITS %q; a cluster gives out whole GPUs, so both are equal", r, limits)
	}
	return GPU{Resource: name, Max: n, RuntimeClass: getenv("RUNTIME_CLASS_NAME"), VisibleDevices: getenv("GPU_VISIBLE_DEVICES")}, nil
}

func quantity(getenv func(string) string, name, otherwise string, errs *[]error) resource.Quantity {
	v := getenv(name)
	if v == "" {
		v = otherwise
	}
	q, err := resource.ParseQuantity(v)
	if err != nil || q.Sign() <= 0 {
		*errs = append(*errs, fmt.Errorf("%s: %q is not an amount such as %s", name, v, otherwise))
	}
	return q
}

func number(getenv func(string) string, name string, otherwise, most int64, errs *[]error) int64 {
	v := getenv(name)
	if v == "" {
		return otherwise
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < 0 || n > most {
		*errs = append(*errs, fmt.Errorf("%s: %q is not a number from 0 to %d", name, v, most))
	}
	return n
}
