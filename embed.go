// Package rigup holds the files the program carries: the tree's own files, embedded as they are.
package rigup

import "embed"

// Files is everything embedded. manifest.sha256 covers each tracked file; the helper programs, made at
// build time, have a manifest of their own in assets/helpers.
//
//go:embed assets docker charts manifest.sha256
var Files embed.FS
