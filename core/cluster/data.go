package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"rigup.dev/rigup/core/engine"
	"rigup.dev/rigup/core/reason"
)

// dataMarker is a file in a data directory that was made for a cluster, with the cluster's name in it.
// A directory without it was there before, or is another's, and is not deleted.
const dataMarker = ".rigup-cluster"

// ClaimData makes the data directory of a cluster, or takes an empty one, and marks it as the cluster's. One
// that the cluster has already is left as it is; one with somebody's files in it is used but not marked, so
// that RemoveData leaves it alone. It reports whether the directory is the cluster's own.
func ClaimData(dir, cluster string) (own bool, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return false, reason.Fail(reason.New(reason.DataAccess, "path", dir), err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return false, reason.Fail(reason.New(reason.DataAccess, "path", dir), err)
	}
	defer root.Close()
	if whose, err := root.ReadFile(dataMarker); err == nil {
		return strings.TrimSpace(string(whose)) == cluster, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return false, reason.Fail(reason.New(reason.DataAccess, "path", dir), err)
	}
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return false, reason.Fail(reason.New(reason.DataAccess, "path", dir), err)
	}
	if len(entries) > 0 {
		return false, nil
	}
	if err := root.WriteFile(dataMarker, []byte(cluster+"\n"), 0o644); err != nil {
		return false, reason.Fail(reason.New(reason.DataAccess, "path", dir), err)
	}
	return true, nil
}

// RemoveData deletes the data directory of a cluster with everything in it. It never follows a link, in the
// directory or to it, and refuses a directory that was not made for this cluster (C2). A directory that is
// gone is no error. Files that belong to root, as containers write them, are deleted by a container of the
// image, which must be on the engine; without one (image "") they are an error.
func (m *Manager) RemoveData(ctx context.Context, dir, cluster, image string) error {
	if err := ours(dir, cluster); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	err := removeTree(dir)
	if errors.Is(err, fs.ErrPermission) && image != "" {
		if herr := m.emptyByContainer(ctx, dir, cluster, image); herr != nil {
			return reason.Fail(reason.New(reason.ClusterPartLeft, "kind", "The directory", "name", dir), errors.Join(err, herr))
		}
		err = removeTree(dir)
	}
	if err != nil {
		return reason.Fail(reason.New(reason.ClusterPartLeft, "kind", "The directory", "name", dir), err)
	}
	return nil
}

// ours refuses a directory that is not this cluster's.
func ours(dir, cluster string) error {
	refuse := func(why string) error {
		return reason.Fail(reason.New(reason.DataPlace, "path", dir, "why", why+", so it was not deleted"), nil)
	}
	if !filepath.IsAbs(dir) {
		return refuse("it is not an absolute path")
	}
	info, err := os.Lstat(dir)
	switch {
	case err != nil:
		return err
	case info.Mode()&fs.ModeSymlink != 0:
		return refuse("it is a link")
	case !info.IsDir():
		return refuse("it is not a directory")
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("look into %s: %w", dir, err)
	}
	defer root.Close()
	whose, err := root.ReadFile(dataMarker)
	if errors.Is(err, fs.ErrNotExist) {
		return refuse("it was not made by rigup")
	}
	if err != nil {
		return fmt.Errorf("read whose directory %s is: %w", dir, err)
	}
	if w := strings.TrimSpace(string(whose)); w != cluster {
		return refuse("it belongs to cluster " + w)
	}
	return nil
}

// removeTree deletes a directory through its parent, opened as a root: nothing outside of it can be reached.
// The marker goes last, so that an interrupted deletion can be repeated.
func removeTree(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	entries, err := fs.ReadDir(root.FS(), ".")
	var failures []error
	for _, e := range entries {
		if e.Name() != dataMarker {
			failures = append(failures, root.RemoveAll(e.Name()))
		}
	}
	if err = errors.Join(append(failures, err)...); err == nil {
		err = root.RemoveAll(dataMarker)
	}
	if cerr := root.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	parent, err := os.OpenRoot(filepath.Dir(dir))
	if err != nil {
		return err
	}
	defer parent.Close()
	return parent.Remove(filepath.Base(dir))
}

const cleaner = `cd ` + DataPath + ` || exit 1
for f in * .[!.]* ..?*; do
  [ "$f" = ` + dataMarker + ` ] || rm -rf -- "./$f" || exit 1
done`

// emptyByContainer deletes what is in the directory, but not the marker, as root.
func (m *Manager) emptyByContainer(ctx context.Context, dir, cluster, image string) error {
	id, err := m.Engine.CreateContainer(ctx, engine.ContainerSpec{
		Name: NamesOf(cluster).Network + "-cleaner", Image: image, Labels: labels(cluster, RoleHelper), User: "0:0",
		// rm does not follow links; nothing more can be expected of a node image's small userland.
		Entrypoint: []string{"/bin/sh", "-c", cleaner},
		Network:    "none",
		// What else is mounted below the directory is not seen, and so not deleted.
		Mounts: []engine.Mount{{Bind: dir, Target: DataPath, Alone: true}},
	})
	if err != nil {
		return err
	}
	// The container goes even when the context is over.
	defer func() { _ = m.Engine.RemoveContainer(context.WithoutCancel(ctx), id) }()
	if err := m.Engine.Start(ctx, id); err != nil {
		return err
	}
	code, err := m.Engine.Wait(ctx, id)
	if err != nil {
		return err
	}
	if code != 0 {
		log, _ := m.Engine.Logs(ctx, id, logLines)
		return fmt.Errorf("deleting in a container ended with %d: %s", code, lastLines(log, 3))
	}
	return nil
}
