package kubeconfig

import (
	"os"
	"path/filepath"
)

// candidates are the files that kubectl would read, in its order.
func (o Options) candidates() (files []string, named bool) {
	if o.File != "" {
		return []string{o.File}, true
	}
	if o.Env != nil {
		for _, f := range filepath.SplitList(o.Env("KUBECONFIG")) {
			if f != "" {
				files = append(files, f)
			}
		}
	}
	if len(files) > 0 {
		return files, false
	}
	return []string{filepath.Join(o.Home, ".kube", "config")}, false
}

// locate is kubectl's rule for the file to change: the one that the user named; of several in KUBECONFIG the
// first that has our entries, else the first that exists, else the last. Files that cannot be read are not
// searched: the one that is chosen is read again, and its error shown.
func (o Options) locate() string {
	files, named := o.candidates()
	if named || len(files) == 1 {
		return files[0]
	}
	name := Context(o.Cluster)
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		if d, err := parse(b); err == nil && d.has(name) {
			return f
		}
	}
	for _, f := range files {
		if _, err := os.Stat(f); err == nil {
			return f
		}
	}
	return files[len(files)-1]
}

// currentElsewhere is the current context that a file before ours in KUBECONFIG sets, which is the one that
// counts for kubectl.
func (o Options) currentElsewhere(file string) string {
	files, _ := o.candidates()
	for _, f := range files {
		if f == file {
			continue
		}
		b, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		if d, err := parse(b); err == nil && d.current() != "" {
			return d.current()
		}
	}
	return ""
}
