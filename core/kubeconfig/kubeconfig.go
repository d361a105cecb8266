// Package kubeconfig puts a cluster's context into the user's kubeconfig and takes it out again (invariant C3).
package kubeconfig

import (
	"time"

	"rigup.dev/rigup/core/reason"
)

// Current says when our context becomes the current one.
type Current int

// The choices for the current context.
const (
	// IfNone makes ours current when no context is.
	IfNone Current = iota
	// Always makes ours current.
	Always
	// Never leaves the current context as it is.
	Never
)

// Options says which file and which cluster.
type Options struct {
	// File is the file that the user named; empty means that KUBECONFIG or the default decides.
	File string
	// Env reads the environment.
	Env func(string) string
	// Home is the user's home directory.
	Home string
	// Cluster is the name of the cluster; our entries are named by Context.
	Cluster string
	// Current says when our context becomes the current one. Merge only.
	Current Current
	// Wait is how long another program may hold the file's lock; 0 means DefaultWait.
	Wait time.Duration
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// DefaultWait is how long another program may hold the lock of a kubeconfig. kubectl holds it for milliseconds.
const DefaultWait = 10 * time.Second

// Result says what was, or would be, done.
type Result struct {
	// File is the kubeconfig that has our context, or would have it.
	File string `json:"file"`
	// Context is the name of our context.
	Context string `json:"context"`
	// Changed is true when the file differs from before; with Check, when it would.
	Changed bool `json:"changed"`
	// Created is true when there was no file before.
	Created bool `json:"created,omitempty"`
	// Deleted is true when rigup had made the file and nothing of anybody's was left in it.
	Deleted bool `json:"deleted,omitempty"`
	// Current is the context that kubectl uses by default afterwards; it may be another's, or none.
	Current string `json:"current,omitempty"`
	// Backup is the file that keeps the original, if there is one.
	Backup string `json:"backup,omitempty"`
	// Warnings are things to know that stopped nothing: a stale lock, an entry left alone.
	Warnings []reason.Reason `json:"warnings,omitempty"`
}

// Context is the name of the context, the cluster and the user of a cluster.
func Context(cluster string) string { return "rigup-" + cluster }
