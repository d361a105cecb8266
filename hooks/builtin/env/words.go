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

// cgroup1 warns of cgroup v1.
func cgroup1(e sdk.Engine) []sdk.Reason {
	if e.CgroupVersion != "1" || e.OS != "linux" {
		return nil
	}
	return []sdk.Reason{{
		ID: "cgroup-v1", Text: "The engine uses cgroup v1, which Kubernetes is giving up.",
		Remedy: []string{"it works today; move this machine to cgroup v2 when you can"},
	}}
}

// windowsContainers blocks an engine that runs Windows containers.
func windowsContainers() sdk.Reason {
	return sdk.Reason{
		ID: "windows-containers", Text: "Docker Desktop is set to Windows containers, and a cluster needs Linux containers.",
		Remedy: []string{"in Docker Desktop's menu choose Switch to Linux containers, then run the same command again"},
	}
}
