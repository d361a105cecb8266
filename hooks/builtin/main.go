// Command builtin is the module of rigup's own hooks, for GOOS=wasip1 GOARCH=wasm. It is built by the command in
// build, which puts the manifests of all of them into it, and runs under the same host and the same checks as the
// hooks of others.
package main

import (
	"maps"

	"rigup.dev/rigup/hooks/builtin/env"
	"rigup.dev/rigup/hooks/sdk"
)

func main() {
	hooks := map[string]sdk.Hook{}
	maps.Copy(hooks, env.Hooks())
	sdk.Main(hooks)
}
