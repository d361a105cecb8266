// Command builtin is the module of rigup's own hooks, for GOOS=wasip1 GOARCH=wasm. It is built by the command in
// build, which puts the manifests of all of them into it, and runs under the same host and the same checks as the
// hooks of others.
package main

import (
	"rigup.dev/rigup/hooks/builtin/catalog"
	"rigup.dev/rigup/hooks/sdk"
)

func main() { sdk.Main(catalog.Hooks()) }
