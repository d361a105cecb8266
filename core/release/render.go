package release

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/releaseutil"

	"rigup.dev/rigup/core/reason"
)

// Target names a release.
type Target struct {
	Release   string
	Namespace string
	// KubeVersion is the cluster's version, for example v1.2.3; charts may render by it.
	KubeVersion string
}

// Rendered is what a chart makes of values, without a cluster having been asked.
type Rendered struct {
	// Objects are the objects of the manifest; hooks are not among them.
	Objects []Object
	// Inputs is a hash of all that the result depends on: chart, values, names, Kubernetes version.
	Inputs string
}

// Render renders a chart without a cluster. Errors carry chart.values (the schema refuses; the paths are in
// the evidence) or chart.render.
func Render(c *Chart, values map[string]any, t Target) (*Rendered, error) {
	failed := func(err error) error {
		return reason.Fail(reason.New(reason.ChartRender, "chart", c.Source()), tidy(err))
	}
	// Helm writes into what it is given.
	values = over(nil, values)
	chart, err := c.fresh()
	if err != nil {
		return nil, failed(err)
	}
	if err := chartutil.ProcessDependenciesWithMerge(chart, values); err != nil {
		return nil, failed(err)
	}
	caps := chartutil.DefaultCapabilities.Copy()
	// Helm's own default is years old, so the version is always asked for.
	version, err := chartutil.ParseKubeVersion(t.KubeVersion)
	if err != nil {
		return nil, failed(fmt.Errorf("kubernetes version %q: %w", t.KubeVersion, err))
	}
	caps.KubeVersion = *version
	if want := chart.Metadata.KubeVersion; want != "" && !chartutil.IsCompatibleRange(want, caps.KubeVersion.String()) {
		return nil, failed(fmt.Errorf("the chart asks for Kubernetes %s, this is %s", want, caps.KubeVersion.String()))
	}
	options := chartutil.ReleaseOptions{Name: t.Release, Namespace: t.Namespace, Revision: 1, IsInstall: true}
	all, err := chartutil.ToRenderValuesWithSchemaValidation(chart, values, options, caps, true)
	if err != nil {
		return nil, failed(err)
	}
	coalesced, _ := all["Values"].(chartutil.Values)
	if err := chartutil.ValidateAgainstSchema(chart, coalesced); err != nil {
		return nil, schemaFailure(c, err)
	}
	files, err := engine.Engine{}.Render(chart, all)
	if err != nil {
		return nil, failed(err)
	}
	for name := range files {
		if strings.HasSuffix(name, "NOTES.txt") || strings.HasPrefix(name[strings.LastIndexByte(name, '/')+1:], "_") {
			delete(files, name)
		}
	}
	_, manifests, err := releaseutil.SortManifests(files, nil, releaseutil.InstallOrder)
	if err != nil {
		return nil, failed(err)
	}
	r := &Rendered{}
	for _, m := range manifests {
		objects, err := objectsOf(m.Content, t.Namespace)
		if err != nil {
			return nil, failed(fmt.Errorf("%s: %w", m.Name, err))
		}
		r.Objects = append(r.Objects, objects...)
	}
	if r.Inputs, err = inputs(c, values, t); err != nil {
		return nil, failed(err)
	}
	return r, nil
}

// renderer is part of Inputs: raise it when this package renders the same inputs to something else, so that
// installed releases are rendered again.
const renderer = 1

func inputs(c *Chart, values map[string]any, t Target) (string, error) {
	b, err := json.Marshal([]any{renderer, c.digest, plain(values), t.Release, t.Namespace, t.KubeVersion})
	if err != nil {
		return "", err
	}
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:16]), nil
}

// Workloads are the objects among the rendered ones that run pods and can be awaited.
func (r *Rendered) Workloads() []Object { return workloads(r.Objects) }

// schemaFailure says which values the schema refuses, one line each, with dotted paths.
func schemaFailure(c *Chart, err error) error {
	var found []string
	for line := range strings.Lines(err.Error()) {
		m := schemaLine.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		path := strings.NewReplacer("~1", "/", "~0", "~").Replace(strings.ReplaceAll(strings.TrimPrefix(m[1], "/"), "/", "."))
		what := m[2]
		if path == "" {
			path = "values"
		}
		if extra := extraKeys.FindStringSubmatch(what); extra != nil {
			what = "unknown: " + strings.ReplaceAll(extra[1], "'", "")
		}
		found = append(found, path+": "+what)
	}
	r := reason.New(reason.ChartValues, "chart", c.Source())
	if len(found) == 0 {
		return reason.Fail(r, tidy(err))
	}
	return reason.Fail(r.With(found...), nil)
}

var (
	schemaLine = regexp.MustCompile(`^- at '([^']*)': (.*)$`)
	extraKeys  = regexp.MustCompile(`^additional propert(?:y|ies) (.*) not allowed$`)
)

// tidy shortens a template error to what a reader can act on: the innermost message and its place.
func tidy(err error) error {
	s := strings.TrimSpace(err.Error())
	if _, msg, ok := strings.Cut(s, "execution error at ("); ok {
		if place, msg, ok := strings.Cut(msg, "): "); ok {
			return fmt.Errorf("%s (%s)", msg, place)
		}
	}
	lines := slices.DeleteFunc(strings.Split(s, "\n"), func(l string) bool { return strings.TrimSpace(l) == "" })
	if len(lines) > 3 {
		lines = lines[:3]
	}
	return errors.New(strings.Join(lines, "\n"))
}
