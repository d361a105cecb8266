package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/crypto/scrypt"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

const nodePasswordFile = "/etc/rancher/node/password"

// nodePassword reads the node's password, or makes one where there is none:
// a node whose file was lost is another node to the server.
func nodePassword(file string) (string, error) {
	if b, err := os.ReadFile(file); err == nil {
		return strings.TrimSpace(string(b)), nil
	} else if !os.IsNotExist(err) {
		return "", err
	}
	p := make([]byte, 16)
	rand.Read(p)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return "", err
	}
	s := hex.EncodeToString(p)
	return s, os.WriteFile(file, []byte(s+"\n"), 0o600)
}

// The hash's form is the one k3s writes: version, salt, cost, hash.
const (
	scryptCost, scryptR, scryptP, scryptKey = 15, 8, 1, 64
	scryptForm                              = "$1:%x:%d:%d:%d:%s"
)

var errHash = errors.New("hash does not match")

func passwordHash(password string, salt []byte) (string, error) {
	k, err := scrypt.Key([]byte(password), salt, 1<<scryptCost, scryptR, scryptP, scryptKey)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf(scryptForm, salt, scryptCost, scryptR, scryptP, base64.RawStdEncoding.EncodeToString(k)), nil
}

func verifyHash(hash []byte, password string) error {
	f := bytes.SplitN(hash, []byte(":"), 3)
	if len(f) != 3 {
		return errors.New("hash is not in a known form")
	}
	salt, err := hex.DecodeString(string(f[1]))
	if err != nil {
		return err
	}
	want, err := passwordHash(password, salt)
	if err != nil {
		return err
	}
	if want != string(hash) {
		return errHash
	}
	return nil
}

// ensureNodePassword checks the password against the node's secret, or makes
// the secret where there is none.
func ensureNodePassword(ctx context.Context, cs kubernetes.Interface, node, password string) error {
	name := strings.ToLower(node + ".node-password.k3s")
	secrets := cs.CoreV1().Secrets(metav1.NamespaceSystem)
	s, err := secrets.Get(ctx, name, metav1.GetOptions{})
	if err == nil {
		if err := verifyHash(s.Data["hash"], password); err != nil {
			return fmt.Errorf("unable to verify hash for node '%s': %w", node, err)
		}
		return nil
	}
	if !apierrors.IsNotFound(err) {
		return err
	}
	salt := make([]byte, 8)
	rand.Read(salt)
	hash, err := passwordHash(password, salt)
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
	password, err := nodePassword(nodePasswordFile)
	if err != nil {
		return err
	}
	reported := false
	return waitEvery(ctx, func() error {
		err := ensureNodePassword(ctx, cs, node, password)
		if !errors.Is(err, errHash) {
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
		if errors.Is(err, errHash) {
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
