package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

var logMu sync.Mutex

// logf writes one line in the form k3s logs in.
func logf(level, format string, a ...any) {
	logMu.Lock()
	defer logMu.Unlock()
	fmt.Fprintf(os.Stderr, "time=%q level=%s msg=%q\n", time.Now().UTC().Format(time.RFC3339), level, fmt.Sprintf(format, a...))
}

// fatalf logs and returns the exit code k3s ends with.
func fatalf(format string, a ...any) int {
	logf("fatal", format, a...)
	return 1
}

// copyLines joins a component's output to the log, line by line.
func copyLines(r io.ReadCloser) {
	defer r.Close()
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 64<<10), 4<<20)
	for sc.Scan() {
		logMu.Lock()
		os.Stderr.Write(append(sc.Bytes(), '\n'))
		logMu.Unlock()
	}
}
