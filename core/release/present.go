package release

import (
	"context"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
)

// atOnce is how many objects are asked for at a time.
const atOnce = 16

// checkAll returns the objects for which check answers "not found". Any other error ends it: an object that
// cannot be read is not an object that is gone (C1).
func checkAll(objects []Object, check func(Object) error) ([]Object, error) {
	answers := make([]error, len(objects))
	slots := make(chan struct{}, atOnce)
	var wg sync.WaitGroup
	for i, o := range objects {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			answers[i] = check(o)
		})
	}
	wg.Wait()
	var gone []Object
	for i, err := range answers {
		switch {
		case err == nil:
		case apierrors.IsNotFound(err) || meta.IsNoMatchError(err):
			gone = append(gone, objects[i])
		default:
			return nil, fmt.Errorf("read %s: %w", objects[i], err)
		}
	}
	return gone, nil
}

func get(ctx context.Context, client metadata.Interface, mapper meta.RESTMapper, o Object) error {
	gv, err := schema.ParseGroupVersion(o.APIVersion)
	if err != nil {
		return err
	}
	m, err := mapper.RESTMapping(gv.WithKind(o.Kind).GroupKind(), gv.Version)
	if err != nil {
		return err
	}
	if m.Scope.Name() == meta.RESTScopeNameNamespace {
		_, err = client.Resource(m.Resource).Namespace(o.Namespace).Get(ctx, o.Name, metav1.GetOptions{})
	} else {
		_, err = client.Resource(m.Resource).Get(ctx, o.Name, metav1.GetOptions{})
	}
	return err
}
