package release

import (
	"fmt"

	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// strict is Helm's storage in secrets, without its habit of leaving out records that it cannot decode: a
// release whose record is damaged would look like one that does not exist (C1).
type strict struct {
	*driver.Secrets
	secrets corev1.SecretInterface
}

func newStrict(secrets corev1.SecretInterface) *strict {
	return &strict{Secrets: driver.NewSecrets(secrets), secrets: secrets}
}

// Get returns one record.
func (s *strict) Get(key string) (r *helmrelease.Release, err error) {
	defer func() {
		// The driver uses the release before it looks at the error of decoding it.
		if p := recover(); p != nil {
			r, err = nil, fmt.Errorf("the record %s is damaged", key)
		}
	}()
	return s.Secrets.Get(key)
}

// List returns the records that the filter accepts.
func (s *strict) List(filter func(*helmrelease.Release) bool) ([]*helmrelease.Release, error) {
	return s.all(func(d *driver.Secrets) ([]*helmrelease.Release, error) { return d.List(filter) })
}

// Query returns the records with these labels.
func (s *strict) Query(labels map[string]string) ([]*helmrelease.Release, error) {
	return s.all(func(d *driver.Secrets) ([]*helmrelease.Release, error) { return d.Query(labels) })
}

func (s *strict) all(read func(*driver.Secrets) ([]*helmrelease.Release, error)) ([]*helmrelease.Release, error) {
	var damaged error
	d := driver.NewSecrets(s.secrets)
	// The only thing that the driver logs here is a record that it is about to leave out. Its arguments may
	// hold the whole secret, so only the error is kept.
	d.Log = func(_ string, args ...any) {
		damaged = fmt.Errorf("a record of the release is damaged")
		if len(args) > 0 {
			if err, ok := args[len(args)-1].(error); ok {
				damaged = fmt.Errorf("a record of the release is damaged: %w", err)
			}
		}
	}
	all, err := read(d)
	if err == nil && damaged != nil {
		return nil, damaged
	}
	return all, err
}
