package release

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"rigup.dev/rigup/core/reason"
)

// State is what a release is in.
type State string

// The states. A state that cannot be read is an error, never one of these (C1).
const (
	None     State = "none"     // there is no release of this name
	Deployed State = "deployed" // installed as its record says
	Failed   State = "failed"   // the last operation failed
	Stuck    State = "stuck"    // the last operation was cut off in the middle; see Helm for which
	Removed  State = "removed"  // uninstalled, only its history is left
	Foreign  State = "foreign"  // not made by rigup
)

// Labels on the record of a release.
const (
	managedLabel = "dev.rigup/managed"
	// inputsLabel is INPUTS-REVISION: the revision tells a record of ours from one that somebody else made on
	// top of it, because Helm carries labels over.
	inputsLabel = "dev.rigup/inputs"
)

// Status is a release as the cluster has it.
type Status struct {
	State State
	// Helm is Helm's word for the state, for example pending-upgrade.
	Helm         string
	Release      string
	Namespace    string
	Revision     int
	Chart        string // name
	ChartVersion string
	AppVersion   string
	// Values are those that the release was given, without the chart's defaults. They may hold secrets.
	Values map[string]any
	// Manifest is the SHA-256 of what was rendered.
	Manifest string
	Objects  []Object
	Updated  time.Time
	// Message is Helm's description of the last operation.
	Message string
	Notes   string

	inputs string
	last   *helmrelease.Release
}

// Workloads are the objects of the release that run pods and can be awaited.
func (s Status) Workloads() []Object { return workloads(s.Objects) }

// Options says which release in which cluster.
type Options struct {
	Kubeconfig []byte
	Context    string // empty: the current one of the kubeconfig
	Release    string
	Namespace  string
	// Log gets Helm's own messages; nil drops them. They go nowhere else.
	Log func(format string, args ...any)
}

// Client works on one release. It holds no connection; every call makes its own.
type Client struct {
	release, namespace, address string
	log                         func(string, ...any)
	connect                     func(context.Context) (*session, error)
}

// New makes a client. It reads the kubeconfig and connects to nothing yet.
func New(o Options) (*Client, error) {
	if o.Log == nil {
		o.Log = func(string, ...any) {}
	}
	connect, address, err := kubeConnect(o)
	if err != nil {
		return nil, err
	}
	return &Client{release: o.Release, namespace: o.Namespace, address: address, log: o.Log, connect: connect}, nil
}

// Status reads the state of the release. An error means that it is unknown.
func (c *Client) Status(ctx context.Context) (Status, error) {
	s, err := c.connect(ctx)
	if err != nil {
		return Status{}, err
	}
	return c.status(ctx, s)
}

func (c *Client) status(ctx context.Context, s *session) (Status, error) {
	st := Status{State: None, Release: c.release, Namespace: c.namespace}
	history, err := s.config.Releases.History(c.release)
	if errors.Is(err, driver.ErrReleaseNotFound) || err == nil && len(history) == 0 {
		return st, nil
	}
	if err != nil {
		return Status{}, c.unknown(ctx, err)
	}
	last := slices.MaxFunc(history, func(a, b *helmrelease.Release) int { return a.Version - b.Version })
	if last.Info == nil || last.Chart == nil || last.Chart.Metadata == nil {
		return Status{}, c.unknown(ctx, errors.New("its record is incomplete"))
	}
	st.last = last
	st.Helm = last.Info.Status.String()
	st.State = stateOf(last.Info.Status)
	if last.Labels[managedLabel] != "true" {
		st.State = Foreign
	}
	st.Revision = last.Version
	st.Chart, st.ChartVersion, st.AppVersion = last.Chart.Metadata.Name, last.Chart.Metadata.Version, last.Chart.Metadata.AppVersion
	st.Values = last.Config
	sum := sha256.Sum256([]byte(last.Manifest))
	st.Manifest = hex.EncodeToString(sum[:])
	st.Updated = last.Info.LastDeployed.Time
	st.Message, st.Notes = last.Info.Description, last.Info.Notes
	if st.Objects, err = objectsOf(last.Manifest, last.Namespace); err != nil {
		return Status{}, c.unknown(ctx, err)
	}
	if hash, rev, ok := strings.Cut(last.Labels[inputsLabel], "-"); ok && rev == strconv.Itoa(last.Version) {
		st.inputs = hash
	}
	return st, nil
}

func stateOf(s helmrelease.Status) State {
	switch s {
	case helmrelease.StatusDeployed:
		return Deployed
	case helmrelease.StatusPendingInstall, helmrelease.StatusPendingUpgrade, helmrelease.StatusPendingRollback, helmrelease.StatusUninstalling:
		return Stuck
	case helmrelease.StatusUninstalled:
		return Removed
	}
	// Failed, superseded without a successor, and Helm's own "unknown": the record can be read, what it
	// stands for has to be put in order.
	return Failed
}

// failure names why the cluster could not be worked with: no answer in time, no answer, or a refusal.
func (c *Client) failure(ctx context.Context, what string, err error) error {
	var status apierrors.APIStatus
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return reason.Fail(reason.New(reason.Interrupted), fmt.Errorf("%s: %w", what, context.Canceled))
	case errors.As(err, &status) && !timedOut(err):
		return reason.Fail(reason.New(reason.KubeRefused, "what", what), err)
	case timedOut(err) || unreachable(err):
		return reason.Fail(reason.New(reason.KubeUnreachable, "address", c.address), fmt.Errorf("%s: %w", what, err))
	}
	return reason.Fail(reason.New(reason.KubeRefused, "what", what), err)
}

// unknown is a failure to read the state: a record that is there and cannot be understood stops everything.
func (c *Client) unknown(ctx context.Context, err error) error {
	var status apierrors.APIStatus
	if ctx.Err() != nil || errors.As(err, &status) || timedOut(err) || unreachable(err) {
		return c.failure(ctx, "read the release "+c.release, err)
	}
	return reason.Fail(reason.New(reason.ReleaseUnknown, "release", c.release, "namespace", c.namespace), err)
}
