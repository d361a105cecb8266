package env

import "rigup.dev/rigup/hooks/sdk"

// Texts that several environments share. They have to exist in the current versions of the products.
const (
	startDesktop = "start Docker Desktop and wait until it says that the engine is running"
	growDesktop  = "Docker Desktop > Settings > Resources > Advanced > Memory limit, then Apply"
	backDesktop  = "comes back by itself when Docker Desktop starts"
	growWSL      = `in Windows write memory=8GB below [wsl2] in %UserProfile%\.wslconfig, then: wsl --shutdown`
	rootEngine   = "use Docker that runs as root: https://docs.docker.com/engine/install/"
)

// windowsContainers blocks an engine that runs Windows containers.
func windowsContainers() sdk.Reason {
	return sdk.Reason{
		ID: "windows-containers", Text: "Docker Desktop is set to Windows containers, and a cluster needs Linux containers.",
		Remedy: []string{"in Docker Desktop's menu choose Switch to Linux containers, then run the same command again"},
	}
}
