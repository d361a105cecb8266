package release

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

var volumeResource = schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumes"}

// reclaim lets kept volumes of the release be claimed again. A volume whose claim was deleted (with its
// namespace, for example) remembers that very claim by uid; a new claim of the same name would wait for ever
// beside the data it belongs to. The data itself is not touched. It returns the names of what it freed.
func reclaim(ctx context.Context, config *rest.Config, release, namespace string, objects []Object) ([]string, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	var freed []string
	for _, o := range objects {
		if o.Kind != "PersistentVolume" || o.APIVersion != "v1" {
			continue
		}
		v, err := client.Resource(volumeResource).Get(ctx, o.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return freed, fmt.Errorf("read %s: %w", o, err)
		}
		if !stale(v, release, namespace) {
			continue
		}
		// The version makes the change fail if the volume was bound in between.
		patch := fmt.Appendf(nil, `{"metadata":{"resourceVersion":%q},"spec":{"claimRef":{"uid":null,"resourceVersion":null}}}`, v.GetResourceVersion())
		if _, err := client.Resource(volumeResource).Patch(ctx, o.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			return freed, fmt.Errorf("free %s: %w", o, err)
		}
		freed = append(freed, o.Name)
	}
	return freed, nil
}

// stale reports whether a volume of this very release waits for a claim that is no more.
func stale(v *unstructured.Unstructured, release, namespace string) bool {
	a := v.GetAnnotations()
	phase, _, _ := unstructured.NestedString(v.Object, "status", "phase")
	uid, _, _ := unstructured.NestedString(v.Object, "spec", "claimRef", "uid")
	return phase == "Released" && uid != "" &&
		a["meta.helm.sh/release-name"] == release && a["meta.helm.sh/release-namespace"] == namespace
}
