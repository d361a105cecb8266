package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"rigup.dev/rigup/test/lab/nodeconf"
)

const nodePasswordFile = "/etc/rancher/node/password"

// ensureNodePassword checks the password against the node's secret, or makes
// the secret where there is none.
func ensureNodePassword(ctx context.Context, cs kubernetes.Interface, node, password string) error {
	name := strings.ToLower(node + ".node-password.k3s")
	secrets := cs.CoreV1().Secrets(metav1.NamespaceSystem)
	s, err := secrets.Get(ctx, name, metav1.GetOptions{})
	if err == nil {
		if err := nodeconf.VerifyHash(s.Data["hash"], password); err != nil {
			return fmt.Errorf("unable to verify hash for node '%s': %w", node, err)
		}
		return nil
	}
	if !apierrors.IsNotFound(err) {
		return err
	}
	salt := make([]byte, 8)
	rand.Read(salt)
	hash, err := nodeconf.PasswordHash(password, salt)
	if err != nil {
		return err
	}
	immutable := true
	_, err = secrets.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Immutable:  &immutable,
		Data:       map[string][]byte{"hash": []byte(hash)},
	}, metav1.CreateOptions{})
	return err
}

// admitNode returns when the server accepts the node. A wrong password is
// never accepted: k3s says so again and again, and so does this. (In k3s it
// depends on a race whether its own server's kubelet is refused, or started
// with only the event as a sign; the stand-in always refuses.)
func admitNode(ctx context.Context, cs kubernetes.Interface, node string) error {
	password, err := nodeconf.NodePassword(nodePasswordFile)
	if err != nil {
		return err
	}
	reported := false
	return waitEvery(ctx, func() error {
		err := ensureNodePassword(ctx, cs, node, password)
		if !errors.Is(err, nodeconf.ErrHash) {
			if err != nil {
				// kube-system may not be there in the first second.
				logf("info", "Waiting to retrieve agent configuration; server is not ready: %v", err)
			}
			return err
		}
		logf("info", "Waiting to retrieve agent configuration; server is not ready: Node password rejected, duplicate hostname or contents of '%s' may not match server node-passwd entry, try enabling a unique node name with the --with-node-id flag", nodePasswordFile)
		if !reported {
			reported = nodeEvent(ctx, cs, node, "NodePasswordValidationFailed", "Deferred node password secret validation failed: "+err.Error()) == nil
		}
		return err
	}, func(err error) time.Duration {
		if errors.Is(err, nodeconf.ErrHash) {
			return 5 * time.Second
		}
		return 200 * time.Millisecond
	})
}

func nodeEvent(ctx context.Context, cs kubernetes.Interface, node, reason, message string) error {
	now := metav1.Now()
	_, err := cs.CoreV1().Events(metav1.NamespaceDefault).Create(ctx, &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{GenerateName: node + ".", Namespace: metav1.NamespaceDefault},
		InvolvedObject: corev1.ObjectReference{Kind: "Node", Name: node, UID: types.UID(node)},
		Reason:         reason, Message: message, Type: corev1.EventTypeWarning,
		Source: corev1.EventSource{Component: "k3s"}, FirstTimestamp: now, LastTimestamp: now, Count: 1,
	}, metav1.CreateOptions{})
	return err
}
