package kube

import (
	"context"
	"fmt"
	"time"

	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// node reads a node; nil without error when the cluster does not have it.
func (c *Client) node(ctx context.Context, name string, since time.Time) (*Node, error) {
	cctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	n, err := c.core.Nodes().Get(cctx, name, meta.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, c.explain(ctx, err, "show its node", callTimeout)
	}
	out := &Node{Name: n.Name, Kubelet: n.Status.NodeInfo.KubeletVersion, Allocatable: map[string]int64{}, Why: "it has not reported yet"}
	for _, k := range n.Status.Conditions {
		if k.Type != core.NodeReady {
			continue
		}
		out.Since = k.LastTransitionTime.Time
		switch {
		case k.LastHeartbeatTime.Time.Before(since.Truncate(time.Second)):
			out.Why = "it has not reported since it was started"
		case k.Status == core.ConditionTrue:
			out.Ready, out.Why = true, ""
		default:
			out.Why = fmt.Sprintf("%s: %s", k.Reason, k.Message)
		}
	}
	if m := condition(*n, core.NodeDiskPressure); m != "" {
		out.DiskPressure = true
		if out.Ready {
			out.Why = m
		}
	}
	for name, q := range n.Status.Allocatable {
		if name == core.ResourceCPU {
			out.Allocatable[string(name)] = q.MilliValue()
			continue
		}
		out.Allocatable[string(name)] = q.Value()
	}
	return out, nil
}

// condition is the message of a node's condition that is true though it should not be; empty when it is not.
func condition(n core.Node, t core.NodeConditionType) string {
	for _, k := range n.Status.Conditions {
		if k.Type == t && k.Status == core.ConditionTrue {
			return fmt.Sprintf("%s: %s", k.Reason, k.Message)
		}
	}
	return ""
}
