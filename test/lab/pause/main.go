// Command pause holds a pod's namespaces open: it reaps the orphans that end
// up with it as the first process of a shared process namespace, and ends when
// told to.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	c := make(chan os.Signal, 8)
	signal.Notify(c, syscall.SIGCHLD, syscall.SIGTERM, syscall.SIGINT)
	for s := range c {
		if s != syscall.SIGCHLD {
			os.Exit(0)
		}
		for {
			if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); pid <= 0 || err != nil {
				break
			}
		}
	}
}
