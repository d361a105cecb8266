package kubeconfig

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"time"

	"rigup.dev/rigup/core/reason"
)

// maxTries is how often a change is worked out anew because another program ignored the lock.
const maxTries = 5

// Merge puts the context of the cluster into the user's kubeconfig. node is the kubeconfig of the node, with
// the server's address as the machine sees it. Nothing is written when nothing would change. Failures are
// kubeconfig.write, .invalid, .foreign and .locked.
func Merge(ctx context.Context, o Options, node []byte) (Result, error) {
	in, err := read(node, o.Cluster)
	if err != nil {
		return Result{}, err
	}
	return o.change(ctx, true, in.edits)
}

// Check says what Merge would do, and fails as Merge would as far as that can be known without writing.
func Check(ctx context.Context, o Options, node []byte) (Result, error) {
	in, err := read(node, o.Cluster)
	if err != nil {
		return Result{}, err
	}
	return o.change(ctx, false, in.edits)
}

// Preflight says, before there is a cluster, which file Merge would use and whether it could: the file can be
// read and written, and has nothing of our name that is not ours.
func Preflight(ctx context.Context, o Options) (Result, error) {
	res, err := o.change(ctx, false, func(d *doc, s situation) (edits, error) { return edits{}, s.refuseForeign(d) })
	if err != nil {
		return res, err
	}
	to, err := target(res.File)
	if err == nil {
		err = writable(to)
	}
	if err != nil {
		return res, reason.Fail(reason.New(reason.KubeconfigWrite, "path", res.File), err)
	}
	return res, nil
}

// Remove takes the context of the cluster out again. If it was the current one, the one before it becomes
// current again, if it still exists. A file that rigup made and that holds nothing else goes too. Entries of
// our name that are not ours stay, with a warning.
func Remove(ctx context.Context, o Options) (Result, error) { return o.change(ctx, true, removal) }

// CheckRemove says what Remove would do.
func CheckRemove(ctx context.Context, o Options) (Result, error) {
	return o.change(ctx, false, removal)
}

// situation is what an edit may need to know beside the file itself.
type situation struct {
	name    string // of our entries
	cluster string
	path    string // for reasons
	current Current
	// elsewhere is the current context that another file sets.
	elsewhere string
	// created says what there was not before: "", "file" or "directory" (and the file).
	created string
	// warn takes what is to be known but stops nothing.
	warn func(reason.Reason)
}

type editFunc func(d *doc, s situation) (edits, error)

// change finds the file and makes a change to it.
func (o Options) change(ctx context.Context, apply bool, edit editFunc) (Result, error) {
	if o.Cluster == "" {
		return Result{}, errors.New("change the kubeconfig: no cluster is named")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Wait <= 0 {
		o.Wait = DefaultWait
	}
	file := o.locate()
	if file == "" || (o.File == "" && !filepath.IsAbs(file) && o.Home == "") {
		return Result{}, reason.Fail(reason.New(reason.KubeconfigWrite, "path", "~/.kube/config"), errors.New("the home directory is not known"))
	}
	res, err := o.try(file, false, edit)
	if err != nil || !apply || !res.Changed {
		return res, err
	}
	to, err := target(file)
	if err == nil {
		err = writable(to)
	}
	var made bool
	if err == nil {
		made, err = makeDir(filepath.Dir(to))
	}
	if err != nil {
		return res, reason.Fail(reason.New(reason.KubeconfigWrite, "path", file), err)
	}
	if made {
		inner := edit
		edit = func(d *doc, s situation) (edits, error) { s.created = "directory"; return inner(d, s) }
	}
	l, stale, err := acquire(ctx, file, o.Wait, o.Now)
	if err != nil {
		return res, err
	}
	defer l.release()
	for range maxTries {
		if res, err = o.try(file, true, edit); !errors.Is(err, errMoved) {
			break
		}
	}
	if stale != nil {
		res.Warnings = append(res.Warnings, *stale)
	}
	if errors.Is(err, errMoved) {
		err = reason.Fail(reason.New(reason.KubeconfigWrite, "path", file), err)
	}
	return res, err
}

// try works a change out and, when asked, makes it.
func (o Options) try(file string, apply bool, edit editFunc) (Result, error) {
	name := Context(o.Cluster)
	res := Result{File: file, Context: name}
	cannotWrite := func(err error) error {
		if errors.Is(err, errMoved) {
			return err
		}
		return reason.Fail(reason.New(reason.KubeconfigWrite, "path", file), err)
	}
	to, err := target(file)
	if err != nil {
		return res, cannotWrite(err)
	}
	text, _, err := content(to)
	if err != nil {
		return res, cannotWrite(err)
	}
	d, err := parse(text)
	if err != nil {
		return res, reason.Fail(reason.New(reason.KubeconfigInvalid, "path", file), err)
	}
	s := situation{name: name, cluster: o.Cluster, path: file, current: o.Current, elsewhere: o.currentElsewhere(file),
		warn: func(r reason.Reason) { res.Warnings = append(res.Warnings, r) }}
	res.Created = text == nil
	if res.Created {
		s.created = "file"
	}
	e, err := edit(d, s)
	res.Current = firstOf(d.current(), s.elsewhere)
	if err != nil || e.none() {
		res.Created = false
		return res, err
	}
	if e.current != nil {
		res.Current = firstOf(*e.current, s.elsewhere)
	}
	res.Changed = true
	after, err := d.apply(e)
	if err != nil {
		return res, fmt.Errorf("change the kubeconfig %s: %w", file, err)
	}
	changed, err := parse(after)
	if err != nil {
		return res, fmt.Errorf("change the kubeconfig %s: %w", file, err)
	}
	// The check that a change never loses what is another's, whatever the layout.
	if !reflect.DeepEqual(d.foreign(), changed.foreign()) && d.root != nil {
		return res, fmt.Errorf("change the kubeconfig %s: entries of others would be altered", file)
	}
	made := madeBy(d, s)
	res.Deleted = made != "" && changed.blank()
	if !apply {
		if len(text) > 0 && !res.Deleted {
			res.Backup = to + backupSuffix
		}
		return res, nil
	}
	if res.Deleted {
		return res, o.discard(to, made, cannotWrite)
	}
	if res.Backup, err = backup(to, d); err != nil {
		return res, cannotWrite(err)
	}
	if err := replace(to, text, after); err != nil {
		return res, cannotWrite(err)
	}
	if err := dropBackup(to, changed); err != nil {
		return res, cannotWrite(err)
	}
	if res.Backup != "" && !exists(res.Backup) {
		res.Backup = ""
	}
	return res, nil
}

// discard removes a file that rigup made and that holds nothing any more, and its directory if that is empty.
func (o Options) discard(path, made string, cannotWrite func(error) error) error {
	if err := os.Remove(path); err != nil {
		return cannotWrite(err)
	}
	if err := os.Remove(path + backupSuffix); err != nil && !errors.Is(err, os.ErrNotExist) {
		return cannotWrite(err)
	}
	if made == "directory" {
		// The lock is still in it; the caller's release comes first to an empty directory only by this order.
		os.Remove(path + lockSuffix)
		_ = os.Remove(filepath.Dir(path)) // stays when there is anything in it
	}
	return nil
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
