package jobs

import (
	"context"
	"fmt"
	"time"

	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
)

// Kube is API over a connection to a cluster. It knows two groups only, which keeps the program small.
type Kube struct {
	namespace string
	batch     rest.Interface
	core      rest.Interface
}

var _ API = (*Kube)(nil)

// InCluster connects with the pod's own service account.
func InCluster(namespace string) (*Kube, error) {
	c, err := rest.InClusterConfig()
	if err != nil {
		return nil, fmt.Errorf("find the cluster's API: %w", err)
	}
	return Connect(c, namespace)
}

// Connect makes clients for a configuration.
func Connect(c *rest.Config, namespace string) (*Kube, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{batch.AddToScheme, core.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	codecs := serializer.NewCodecFactory(scheme)
	client := func(gv schema.GroupVersion, path string) (rest.Interface, error) {
		c := rest.CopyConfig(c)
		c.GroupVersion, c.APIPath, c.NegotiatedSerializer = &gv, path, codecs.WithoutConversion()
		c.UserAgent = ManagedBy
		c.Timeout = callLimit
		c.QPS, c.Burst = 50, 100
		return rest.RESTClientFor(c)
	}
	k := &Kube{namespace: namespace}
	var err error
	if k.batch, err = client(batch.SchemeGroupVersion, "/apis"); err != nil {
		return nil, err
	}
	k.core, err = client(core.SchemeGroupVersion, "/api")
	return k, err
}

// CreateJob makes a job.
func (k *Kube) CreateJob(ctx context.Context, j *batch.Job) (*batch.Job, error) {
	out := &batch.Job{}
	return out, k.batch.Post().Namespace(k.namespace).Resource("jobs").Body(j).Do(ctx).Into(out)
}

// GetJob reads a job.
func (k *Kube) GetJob(ctx context.Context, name string) (*batch.Job, error) {
	out := &batch.Job{}
	return out, k.batch.Get().Namespace(k.namespace).Resource("jobs").Name(name).Do(ctx).Into(out)
}

// ListJobs reads the jobs with these labels.
func (k *Kube) ListJobs(ctx context.Context, selector string) ([]batch.Job, error) {
	out := &batch.JobList{}
	err := k.batch.Get().Namespace(k.namespace).Resource("jobs").Param("labelSelector", selector).Do(ctx).Into(out)
	return out.Items, err
}

// ListPods reads the pods with these labels.
func (k *Kube) ListPods(ctx context.Context, selector string) ([]core.Pod, error) {
	out := &core.PodList{}
	err := k.core.Get().Namespace(k.namespace).Resource("pods").Param("labelSelector", selector).Do(ctx).Into(out)
	return out.Items, err
}

// Reach asks the API for something small that needs the program's own permissions.
func (k *Kube) Reach(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	return k.batch.Get().Namespace(k.namespace).Resource("jobs").Param("limit", "1").Do(ctx).Error()
}
