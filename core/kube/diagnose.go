package kube

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"rigup.dev/rigup/core/reason"
)

// initData is the init container of our charts that makes the data directories writable (invariant C6).
const initData = "init-data"

const (
	// enoughTries is how often a pull must have failed in a way that trying again does not mend.
	enoughTries = 2
	// enoughCrashes is how often a container must have ended before it counts as crashing: the first times may
	// be a dependency that starts later.
	enoughCrashes = 3
	// settle is how long a state that others may still mend (a pod that leaves, a Secret that comes) must last.
	settle = 30 * time.Second
	// never marks what may mend itself: it is waited for.
	never = time.Duration(-1)
	// maxEvidence is how many lines a reason shows.
	maxEvidence = 3
	// logBytes limits what is read of a container's log.
	logBytes = 16 << 10
)

// verdict is why a workload does not get ready.
type verdict struct {
	class     class
	image     string
	pod       *core.Pod
	container string // whose log explains it; empty when none does
	previous  bool   // the log of the run before
	evidence  []string
	// after is how long this must be the matter before waiting longer makes no sense; never is for ever.
	after time.Duration
}

// key tells two verdicts apart.
func (v verdict) key() string { return fmt.Sprint(v.class, v.image, v.container) }

// baseline remembers how often containers had been restarted when a wait began: old crashes are no sign of
// trouble now.
type baseline map[string]int32

func (b baseline) since(p core.Pod, s core.ContainerStatus) int32 {
	k := string(p.UID) + "/" + s.Name
	first, ok := b[k]
	if !ok {
		// A pod that is younger than the wait starts from nothing; nobody else can have more to tell.
		first = s.RestartCount
		b[k] = first
	}
	return s.RestartCount - first
}

// diagnose says why a workload is not ready. Events are read only when the pods' own status is not enough.
func (c *Client) diagnose(ctx context.Context, v *view, f found, base baseline) verdict {
	if f.failed != "" && len(f.pods) == 0 {
		return verdict{class: crash, evidence: []string{f.failed}}
	}
	worst := verdict{after: never}
	rank := func(x verdict) int {
		switch {
		case x.class == stillStarting:
			return 0
		case x.after == never:
			return 1
		case x.after > 0:
			return 2
		}
		return 3
	}
	for i := range f.pods {
		p := &f.pods[i]
		if p.DeletionTimestamp != nil || podReady(*p) || (f.Kind == Job && p.Status.Phase == core.PodSucceeded) {
			continue
		}
		if x := c.pod(ctx, v, p, base); rank(x) > rank(worst) || worst.pod == nil {
			worst = x
		}
	}
	if f.failed != "" {
		if worst.class == stillStarting {
			worst.class = crash
		}
		worst.after, worst.evidence = 0, append([]string{f.failed}, worst.evidence...)
	}
	if len(f.pods) == 0 && f.Total > 0 && !f.Missing {
		return c.noPods(ctx, v, f)
	}
	return worst
}

// noPods explains a workload that has none: its controller says so in an event.
func (c *Client) noPods(ctx context.Context, v *view, f found) verdict {
	if v.events == nil && v.loadEvents(ctx, c) != nil {
		return verdict{after: never}
	}
	for _, e := range slices.Backward(byTime(v.events)) {
		uid := e.InvolvedObject.UID
		if e.Reason == "FailedCreate" && uid != "" && (uid == f.uid || uid == f.setUID) {
			return verdict{class: notCreated, evidence: []string{e.Message}, after: settle}
		}
	}
	return verdict{after: never}
}

// pod explains one pod.
func (c *Client) pod(ctx context.Context, v *view, p *core.Pod, base baseline) verdict {
	if p.Status.Reason == "Evicted" || p.Status.Reason == "UnexpectedAdmissionError" || p.Status.Reason == "OutOfcpu" || p.Status.Reason == "OutOfmemory" {
		x := verdict{class: unscheduled, pod: p, evidence: []string{p.Status.Reason + ": " + p.Status.Message}, after: settle}
		if strings.Contains(p.Status.Message, "ephemeral-storage") || strings.Contains(p.Status.Message, "DiskPressure") {
			x.class = diskFull
		}
		return x
	}
	for _, k := range p.Status.Conditions {
		if k.Type == core.PodScheduled && k.Status == core.ConditionFalse && k.Reason == core.PodReasonUnschedulable {
			return c.unscheduled(ctx, p, k.Message)
		}
	}
	for _, s := range p.Status.InitContainerStatuses {
		if x, ok := c.container(ctx, v, p, s, base); ok {
			if s.Name == initData && (x.class == crash || x.class == memory) {
				x.class = data
				if s.RestartCount+1 >= enoughTries {
					x.after = 0
				}
			}
			return x
		}
	}
	for _, s := range p.Status.ContainerStatuses {
		if x, ok := c.container(ctx, v, p, s, base); ok {
			return x
		}
	}
	return c.mounts(ctx, v, p)
}

var insufficient = regexp.MustCompile(`(?i)insufficient |too many pods|didn't match Pod's node affinity|node\(s\) didn't have free ports`)

// unscheduled explains a pod that no node takes.
func (c *Client) unscheduled(ctx context.Context, p *core.Pod, message string) verdict {
	x := verdict{class: unscheduled, pod: p, evidence: []string{message}, after: never}
	switch {
	case insufficient.MatchString(message):
		x.after = settle
	case strings.Contains(message, "disk-pressure"):
		x.class, x.after = diskFull, settle
	case strings.Contains(message, "persistentvolumeclaim") || strings.Contains(message, "PersistentVolumeClaim"):
		x.class = volume
	case strings.Contains(message, "taint"):
		// Newer schedulers do not name the taint; the node does.
		nctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		l, err := c.core.Nodes().List(nctx, meta.ListOptions{})
		if err != nil {
			return x
		}
		for _, n := range l.Items {
			if m := condition(n, core.NodeDiskPressure); m != "" {
				x.class, x.after = diskFull, settle
				x.evidence = append(x.evidence, m)
			}
		}
	}
	return x
}

// container explains one container; ok is false when it is no obstacle.
func (c *Client) container(ctx context.Context, v *view, p *core.Pod, s core.ContainerStatus, base baseline) (verdict, bool) {
	crashes := base.since(*p, s)
	x := verdict{pod: p, container: "", image: imageOf(p, s), after: never}
	w := s.State.Waiting
	if w == nil {
		t := s.State.Terminated
		if t == nil || t.ExitCode == 0 {
			return x, false
		}
		// It is started again: by the kubelet, or by a Job in a new pod until the Job gives up.
		x.ended(s, t, false)
		if crashes >= enoughCrashes || (s.RestartCount >= enoughCrashes && pause(s, t) >= enoughPause) {
			x.after = 0
		}
		return x, true
	}
	switch w.Reason {
	case "", "PodInitializing", "ContainerCreating":
		return x, false
	case "CrashLoopBackOff":
		if t := s.LastTerminationState.Terminated; t != nil {
			x.ended(s, t, true)
		} else {
			x.class, x.evidence = crash, []string{w.Message}
		}
		if crashes >= enoughCrashes || (s.RestartCount >= enoughCrashes && backoff(w.Message) >= enoughBackoff) {
			x.after = 0
		}
	case "ErrImageNeverPull":
		x.class, x.evidence, x.after = imageAbsent, []string{w.Message}, 0
	case "InvalidImageName":
		x.class, x.evidence, x.after = imageName, []string{w.Message}, 0
	case "ErrImagePull", "ImagePullBackOff", "RegistryUnavailable", "ImageInspectError", "SignatureValidationFailed":
		c.pull(ctx, v, p, s, &x)
	case "CreateContainerConfigError":
		x.class, x.evidence, x.after = config, []string{w.Message}, settle
	case "CreateContainerError", "RunContainerError", "PreStartHookError", "PostStartHookError":
		x.class, x.evidence, x.after = crash, []string{w.Reason + ": " + w.Message}, settle
		if strings.Contains(w.Message, "no space left on device") {
			x.class = diskFull
		}
	default:
		x.evidence = []string{w.Reason + ": " + w.Message}
	}
	return x, true
}

// ended fills in a verdict about a container that has ended.
func (x *verdict) ended(s core.ContainerStatus, t *core.ContainerStateTerminated, previous bool) {
	x.class, x.container, x.previous = crash, s.Name, previous
	if t.Reason == "OOMKilled" {
		x.class = memory
	}
	line := fmt.Sprintf("container %s ended with exit code %d", s.Name, t.ExitCode)
	if t.Reason != "" && t.Reason != "Error" {
		line += " (" + t.Reason + ")"
	}
	if s.RestartCount > 0 {
		line += fmt.Sprintf(", restarted %d times", s.RestartCount)
	}
	x.evidence = []string{line}
	if m := lastLines(t.Message, 1); len(m) > 0 {
		x.evidence = append(x.evidence, m...)
	}
}

// enoughBackoff is the pause that the kubelet makes after the third crash in a row (10 s, 20 s, 40 s, ...). Unlike
// the number of restarts it does not count those of last month.
const enoughBackoff = 40 * time.Second

// enoughPause is the same, measured: for up to a minute after a crash the kubelet shows the container as ended
// and not yet as waiting, and the pause that it made before this run is what tells.
const enoughPause = 15 * time.Second

// pause is the time between the end of the run before and the start of the run that has ended now.
func pause(s core.ContainerStatus, t *core.ContainerStateTerminated) time.Duration {
	last := s.LastTerminationState.Terminated
	if last == nil || last.FinishedAt.IsZero() || t.StartedAt.IsZero() {
		return 0
	}
	return t.StartedAt.Sub(last.FinishedAt.Time)
}

var backoffPattern = regexp.MustCompile(`back-off (\S+) restarting`)

func backoff(message string) time.Duration {
	m := backoffPattern.FindStringSubmatch(message)
	if m == nil {
		return 0
	}
	d, err := time.ParseDuration(m[1])
	if err != nil {
		return 0
	}
	return d
}

// pull explains a failed pull. The message of a back-off may have lost the cause; the event has it, and counts.
func (c *Client) pull(ctx context.Context, v *view, p *core.Pod, s core.ContainerStatus, x *verdict) {
	message, tries := s.State.Waiting.Message, 1
	if v.events != nil || v.loadEvents(ctx, c) == nil {
		n := 0
		for _, e := range byTime(v.events) {
			if e.InvolvedObject.UID == p.UID && e.Reason == "Failed" && strings.HasPrefix(e.Message, "Failed to pull image") &&
				(e.InvolvedObject.FieldPath == "" || strings.Contains(e.InvolvedObject.FieldPath, "{"+s.Name+"}")) {
				n += times(e)
				message = e.Message
			}
		}
		tries = max(tries, n)
	}
	x.class, x.evidence = pullClass(message), []string{message}
	switch x.class {
	case imageDenied, imageNotFound, imageUntrusted:
		if tries >= enoughTries {
			x.after = 0
		}
	case diskFull:
		x.after = settle
	}
}

// mounts explains a pod whose containers have not been made: volumes that cannot be mounted, as events tell.
func (c *Client) mounts(ctx context.Context, v *view, p *core.Pod) verdict {
	x := verdict{pod: p, after: never}
	if p.Status.Phase != core.PodPending || p.Status.StartTime == nil || time.Since(p.Status.StartTime.Time) < 5*time.Second {
		return x
	}
	if v.events == nil && v.loadEvents(ctx, c) != nil {
		return x
	}
	for _, e := range slices.Backward(byTime(v.events)) {
		if e.InvolvedObject.UID != p.UID {
			continue
		}
		switch e.Reason {
		case "FailedMount", "FailedAttachVolume", "FailedMapVolume":
			x.class, x.evidence = volume, []string{e.Message}
			if strings.Contains(e.Message, "configmap") || strings.Contains(e.Message, "secret") {
				x.class, x.after = config, settle
			}
			return x
		case "FailedCreatePodSandBox":
			x.evidence = []string{e.Message}
			if k := pullClass(e.Message); strings.Contains(e.Message, "image") && k != imageOther {
				x.class, x.image = k, sandboxImage(e.Message)
			}
			return x
		}
	}
	return x
}

var sandboxPattern = regexp.MustCompile(`(?:sandbox image|pull image|pull and unpack image) \\?"([^"\\]+)\\?"`)

func sandboxImage(message string) string {
	if m := sandboxPattern.FindStringSubmatch(message); m != nil {
		return m[1]
	}
	return ""
}

func imageOf(p *core.Pod, s core.ContainerStatus) string {
	for _, k := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
		if k.Name == s.Name && k.Image != "" {
			return k.Image
		}
	}
	return s.Image
}

func times(e core.Event) int {
	n := max(int(e.Count), 1)
	if e.Series != nil {
		n = max(n, int(e.Series.Count))
	}
	return n
}

// byTime sorts events, oldest first.
func byTime(events []core.Event) []core.Event {
	at := func(e core.Event) time.Time {
		t := e.LastTimestamp.Time
		if e.EventTime.After(t) {
			t = e.EventTime.Time
		}
		if e.Series != nil && e.Series.LastObservedTime.After(t) {
			t = e.Series.LastObservedTime.Time
		}
		return t
	}
	out := slices.Clone(events)
	slices.SortStableFunc(out, func(a, b core.Event) int { return at(a).Compare(at(b)) })
	return out
}

// logs are the last lines of the container that a verdict blames; none when they cannot be read.
func (c *Client) logs(ctx context.Context, v verdict, lines int) []string {
	if v.container == "" || v.pod == nil || lines <= 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	tail, limit := int64(2*lines), int64(logBytes)
	read := func(previous bool) string {
		b, err := c.core.Pods(v.pod.Namespace).GetLogs(v.pod.Name, &core.PodLogOptions{
			Container: v.container, Previous: previous, TailLines: &tail, LimitBytes: &limit}).DoRaw(ctx)
		if err != nil {
			return ""
		}
		return string(b)
	}
	text := read(v.previous)
	if text == "" {
		text = read(!v.previous)
	}
	return lastLines(text, lines)
}

// lastLines are the last lines of a text that say anything.
func lastLines(text string, n int) []string {
	var out []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out[max(0, len(out)-n):]
}

// reason makes the reason of a workload that is not ready.
func (c *Client) reason(ctx context.Context, f found, v verdict, o WaitOptions, limit time.Duration) reason.Reason {
	values := append(f.refs(o, v.pod), "image", v.image, "limit", limit.Round(time.Second).String())
	if v.pod != nil && v.container != "" {
		logs := v.pod.Name + " -c " + v.container
		if v.previous {
			logs += " --previous"
		}
		values = append(values, "logs", logs)
	}
	r := reason.New(v.class.workloadReason(), values...)
	return r.With(c.evidence(ctx, v)...)
}

// evidence is what was seen, at most maxEvidence lines, without secrets.
func (c *Client) evidence(ctx context.Context, v verdict) []string {
	lines := slices.Clone(v.evidence)
	lines = append(lines, c.logs(ctx, v, maxEvidence-len(lines))...)
	lines = lines[:min(len(lines), maxEvidence)]
	for i := range lines {
		lines[i] = c.redact(lines[i])
	}
	return lines
}
