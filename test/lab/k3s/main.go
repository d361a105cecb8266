// Command k3s is the lab's stand-in for k3s: one static executable that
// carries the real Kubernetes components and an embedded etcd, and that takes
// the k3s command line as far as a cluster of one server needs it. Where it
// imitates k3s, it follows k3s's sources: flags, files, log lines.
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	kcm "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

// Set with -ldflags -X from what the lab pins.
var (
	Version  = "v0.0.0+dev"
	CoreDNS  = "0.0.0" // tag of the packaged CoreDNS image
	PauseTag = "3.6"   // tag of the default sandbox image
)

// The components run as children of "k3s server", each this same executable:
// in one process their signal handlers refuse to be set up twice.
func component(name string) *cobra.Command {
	switch name {
	case "kube-apiserver":
		return apiserver.NewAPIServerCommand()
	case "kube-controller-manager":
		return kcm.NewControllerManagerCommand()
	case "kube-scheduler":
		return scheduler.NewSchedulerCommand()
	case "kubelet":
		return kubelet.NewKubeletCommand(context.Background())
	case "kube-proxy":
		return proxy.NewProxyCommand()
	case "kubectl":
		if os.Getenv("KUBECONFIG") == "" {
			os.Setenv("KUBECONFIG", kubeconfigFile)
		}
		return kubectl.NewDefaultKubectlCommand()
	}
	return nil
}

func runComponent(name string, args []string) int {
	os.Args = append([]string{name}, args...)
	c := component(name)
	c.SetArgs(args)
	if name == "kubectl" {
		// kubectl prints its own errors and knows its own exit codes.
		if err := cli.RunNoErrOutput(c); err != nil {
			fmt.Fprintln(os.Stderr, "error:", err)
			return 1
		}
		return 0
	}
	return cli.Run(c)
}

func main() {
	os.Exit(run(filepath.Base(os.Args[0]), os.Args[1:]))
}

func run(self string, args []string) int {
	switch self {
	case "kubectl":
		return runComponent(self, args)
	case "ctr", "crictl":
		return runTool(self, args)
	}
	if len(args) == 0 {
		usage()
		return 0
	}
	verb, args := args[0], args[1:]
	switch verb {
	case "kubectl", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy":
		return runComponent(verb, args)
	case "ctr", "crictl":
		return runTool(verb, args)
	case "etcd":
		return runEtcd(args)
	case "server":
		return runServer(args)
	case "agent":
		return runAgent(args)
	case "check-config", "token", "etcd-snapshot", "secrets-encrypt", "certificate", "completion":
		return fatalf("%q is not carried by the lab's stand-in for k3s", verb)
	case "--version", "-v":
		fmt.Printf("k3s version %s (lab)\ngo version %s\n", Version, runtime.Version())
		return 0
	case "--help", "-h", "help", "h":
		usage()
		return 0
	}
	if strings.HasPrefix(verb, "-") {
		return usageError("flag provided but not defined: -" + strings.TrimLeft(verb, "-"))
	}
	fmt.Fprintf(os.Stderr, "No help topic for '%s'\n", verb)
	return 3
}

// runTool becomes a client that the image carries beside k3s. containerd's own
// ctr talks to another socket and namespace by default; k3s's talks to these.
func runTool(name string, args []string) int {
	for k, v := range map[string]string{"CONTAINERD_ADDRESS": containerdSocket, "CONTAINERD_NAMESPACE": "k8s.io"} {
		if os.Getenv(k) == "" {
			os.Setenv(k, v)
		}
	}
	bin := filepath.Join("/bin/aux", name)
	if _, err := os.Stat(bin); err != nil {
		return fatalf("%v", &exec.Error{Name: name, Err: exec.ErrNotFound})
	}
	return fatalf("%v", syscall.Exec(bin, append([]string{name}, args...), os.Environ()))
}

func usage() {
	fmt.Print(`NAME:
   k3s - Kubernetes, but small and simple (the lab's stand-in)

USAGE:
   k3s [global options] command [command options]

COMMANDS:
   server   Run management server
   kubectl  Run kubectl
   ctr      Run ctr
`)
}

// usageError is what the command-line library k3s uses does with a bad flag.
func usageError(msg string) int {
	fmt.Printf("Incorrect Usage: %s\n\n", msg)
	usage()
	return fatalf("%s", msg)
}
