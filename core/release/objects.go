package release

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/releaseutil"
	"sigs.k8s.io/yaml"
)

// Object names one object of a release.
type Object struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Namespace is where a namespaced object is. For a kind without namespaces it says where the release is.
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

func (o Object) String() string { return o.Kind + "/" + o.Name }

// workloadKinds are the kinds whose readiness can be awaited.
var workloadKinds = []string{"Deployment", "StatefulSet", "DaemonSet", "Job"}

func workloads(all []Object) []Object {
	var out []Object
	for _, o := range all {
		if slices.Contains(workloadKinds, o.Kind) {
			out = append(out, o)
		}
	}
	return out
}

// document is what is read of an object.
type document struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name        string            `json:"name"`
		Namespace   string            `json:"namespace"`
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Items []document `json:"items"`
}

func (d document) objects(namespace string) []Object {
	if len(d.Items) > 0 {
		var out []Object
		for _, i := range d.Items {
			out = append(out, i.objects(namespace)...)
		}
		return out
	}
	if d.Kind == "" || d.Metadata.Name == "" {
		return nil
	}
	if d.Metadata.Namespace != "" {
		namespace = d.Metadata.Namespace
	}
	return []Object{{APIVersion: d.APIVersion, Kind: d.Kind, Namespace: namespace, Name: d.Metadata.Name}}
}

// objectsOf lists the objects of a manifest of one or more documents.
func objectsOf(manifest, namespace string) ([]Object, error) {
	var out []Object
	for _, doc := range split(manifest) {
		var d document
		if err := yaml.Unmarshal([]byte(doc), &d); err != nil {
			return nil, fmt.Errorf("read a rendered object: %w", err)
		}
		out = append(out, d.objects(namespace)...)
	}
	return out, nil
}

// split cuts a manifest into its documents, in their order.
func split(manifest string) []string {
	byName := releaseutil.SplitManifests(manifest)
	names := slices.Collect(maps.Keys(byName))
	sort.Sort(releaseutil.BySplitManifestsOrder(names))
	out := make([]string, 0, len(names))
	for _, n := range names {
		out = append(out, byName[n])
	}
	return out
}

// dataKinds are the kinds that hold what users made.
var dataKinds = []string{"PersistentVolume", "PersistentVolumeClaim"}

// keepData marks the volumes and claims of a manifest so that Helm leaves them alone. Helm decides by the
// manifest it has stored; a mark on the live object protects nothing.
func keepData(manifest string) (string, error) {
	return editData(manifest, func(annotations map[string]any) { annotations[kube.ResourcePolicyAnno] = kube.KeepPolicy })
}

// releaseData takes such marks away.
func releaseData(manifest string) (string, error) {
	return editData(manifest, func(annotations map[string]any) { delete(annotations, kube.ResourcePolicyAnno) })
}

func editData(manifest string, edit func(annotations map[string]any)) (string, error) {
	var out strings.Builder
	for _, doc := range split(manifest) {
		var m map[string]any
		if err := yaml.Unmarshal([]byte(doc), &m); err != nil {
			return "", fmt.Errorf("read a stored object: %w", err)
		}
		if kind, _ := m["kind"].(string); slices.Contains(dataKinds, kind) {
			meta, ok := m["metadata"].(map[string]any)
			if !ok {
				return "", fmt.Errorf("a stored %s has no metadata", kind)
			}
			annotations, ok := meta["annotations"].(map[string]any)
			if !ok {
				annotations = map[string]any{}
				meta["annotations"] = annotations
			}
			edit(annotations)
			b, err := yaml.Marshal(m)
			if err != nil {
				return "", err
			}
			doc = string(b)
		}
		out.WriteString("---\n" + strings.TrimSpace(doc) + "\n")
	}
	return out.String(), nil
}
