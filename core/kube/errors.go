package kube

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"rigup.dev/rigup/core/reason"
)

// explain makes a failure with a reason of a failed call (invariant G6: a time-out, a refusal, nobody there and
// somebody else there are told apart). what completes "the cluster refused to ...".
func (c *Client) explain(ctx context.Context, err error, what string, limit time.Duration) error {
	if err == nil {
		return nil
	}
	var known *reason.Error
	if errors.As(err, &known) {
		return err
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	r := reason.New(reason.KubeUnreachable, "address", c.address)
	switch {
	case otherCluster(err):
		r = reason.New(reason.KubeOther, "address", c.address)
	case timedOut(err):
		r = reason.New(reason.KubeTimeout, "address", c.address, "limit", limit.String(), "node", "")
	case starting(err):
	case apierrors.ReasonForError(err) != "" && !noConnection(err):
		r = reason.New(reason.KubeRefused, "what", what)
	}
	return &reason.Error{Reason: r.With(c.redact(err.Error())), Err: errors.New(c.redact(err.Error()))}
}

// otherCluster reports whether somebody answered who does not have this cluster's certificate.
func otherCluster(err error) bool {
	var (
		authority x509.UnknownAuthorityError
		host      x509.HostnameError
		invalid   x509.CertificateInvalidError
		verify    *tls.CertificateVerificationError
		header    tls.RecordHeaderError
	)
	return errors.As(err, &authority) || errors.As(err, &host) || errors.As(err, &invalid) || errors.As(err, &verify) ||
		errors.As(err, &header) || strings.Contains(err.Error(), "server gave HTTP response to HTTPS client")
}

// timedOut reports whether a call ran into its deadline, here or in the API server.
func timedOut(err error) bool {
	var n net.Error
	return errors.Is(err, context.DeadlineExceeded) || (errors.As(err, &n) && n.Timeout()) ||
		apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err)
}

// starting reports whether the API server answers but is not up yet: it says so itself, or its own access rules
// are not loaded, which shows as a refusal.
func starting(err error) bool {
	return apierrors.IsServiceUnavailable(err) || apierrors.IsInternalError(err) || apierrors.IsTooManyRequests(err)
}

func noConnection(err error) bool {
	var n *net.OpError
	return errors.As(err, &n)
}
