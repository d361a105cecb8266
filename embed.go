// Package rigup holds the files the program carries: the tree's own files, embedded as they are.
package rigup

import "embed"

// Files is everything embedded. manifest.sha256 covers each tracked file; the helper programs and the built-in
// hooks, made at build time, have a manifest of their own in assets/helpers. What hooks are written with is carried
// too: the guide, the schemas, the templates, and the sources of the SDK, which rigup hooks init copies into Go projects.
//
//go:embed assets docker charts hooks/README.md hooks/schema hooks/sdk hooks/templates manifest.sha256
var Files embed.FS
