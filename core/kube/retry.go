package kube

import (
	"context"
	"time"

	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Retry removes the pods of the workloads that have failed and wait to be tried again; their controllers make new
// ones at once. Without it, a run that comes after the cause was mended would wait for the end of the cluster's
// back-off, which grows to minutes, or take the old failure for a new one. Jobs are left alone: a pod of theirs
// that failed counts.
func (c *Client) Retry(ctx context.Context, ws []Workload) error {
	views, err := c.lookAll(ctx, ws)
	if err != nil {
		return err
	}
	for _, w := range ws {
		if w.Kind == Job {
			continue
		}
		for _, p := range views[w.Namespace].find(w, time.Time{}).pods {
			if !backedOff(p) {
				continue
			}
			cctx, cancel := context.WithTimeout(ctx, callTimeout)
			err := c.core.Pods(p.Namespace).Delete(cctx, p.Name, meta.DeleteOptions{Preconditions: meta.NewUIDPreconditions(string(p.UID))})
			cancel()
			if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
				return c.explain(ctx, err, "delete the pod "+p.Name, callTimeout)
			}
		}
	}
	return nil
}

// backedOff reports whether a pod failed to start or ended, as opposed to being on its way.
func backedOff(p core.Pod) bool {
	switch {
	case p.DeletionTimestamp != nil:
		return false
	case p.Status.Phase == core.PodFailed:
		return true
	}
	for _, s := range append(append([]core.ContainerStatus{}, p.Status.InitContainerStatuses...), p.Status.ContainerStatuses...) {
		if w := s.State.Waiting; w != nil && w.Reason != "" && w.Reason != "PodInitializing" && w.Reason != "ContainerCreating" {
			return true
		}
		if t := s.State.Terminated; t != nil && t.ExitCode != 0 {
			return true
		}
	}
	return false
}
