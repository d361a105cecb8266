// Command runcwrap stands before runc on an engine's PATH. It takes from the
// bundle (or the exec'd process) every capability that this machine's bounding
// set lacks, and becomes the next runc on PATH.
//
// Engine 20.10 asks for the full list when a container is privileged, and runc
// refuses to start it where the machine itself lacks one of them, as some
// virtual machines lack CAP_SYS_RESOURCE. It only takes away.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// names are the capabilities in the order of their numbers.
var names = strings.Fields(`CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP LINUX_IMMUTABLE
NET_BIND_SERVICE NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT SYS_PTRACE SYS_PACCT
SYS_ADMIN SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE AUDIT_CONTROL SETFCAP
MAC_OVERRIDE MAC_ADMIN SYSLOG WAKE_ALARM BLOCK_SUSPEND AUDIT_READ PERFMON BPF CHECKPOINT_RESTORE`)

// bounding reads the set out of the text of /proc/self/status.
func bounding(status string) map[string]bool {
	for _, l := range strings.Split(status, "\n") {
		v, ok := strings.CutPrefix(l, "CapBnd:")
		if !ok {
			continue
		}
		n, err := strconv.ParseUint(strings.TrimSpace(v), 16, 64)
		if err != nil {
			return nil
		}
		m := map[string]bool{}
		for i, c := range names {
			if n&(1<<i) != 0 {
				m["CAP_"+c] = true
			}
		}
		return m
	}
	return nil
}

// filter removes what is not in have from the document's capabilities, found
// under the key inner, or at its top where inner is empty. It returns nil
// where there was nothing to remove.
func filter(doc []byte, inner string, have map[string]bool) ([]byte, error) {
	var top map[string]any
	d := json.NewDecoder(bytes.NewReader(doc))
	// Limits in the document are larger than a float64 holds exactly.
	d.UseNumber()
	if err := d.Decode(&top); err != nil {
		return nil, err
	}
	p := top
	if inner != "" {
		p, _ = top[inner].(map[string]any)
	}
	caps, _ := p["capabilities"].(map[string]any)
	changed := false
	for set, v := range caps {
		list, _ := v.([]any)
		kept := []any{}
		for _, c := range list {
			if s, _ := c.(string); have[s] {
				kept = append(kept, c)
			} else {
				changed = true
			}
		}
		caps[set] = kept
	}
	if !changed {
		return nil, nil
	}
	return json.Marshal(top)
}

func filterFile(file, inner string, have map[string]bool) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	out, err := filter(b, inner, have)
	if err != nil || out == nil {
		return err
	}
	return os.WriteFile(file, out, 0o600)
}

// value is that of the first of the flags that args have.
func value(args []string, flags ...string) string {
	for i, a := range args {
		for _, f := range flags {
			if a == f && i+1 < len(args) {
				return args[i+1]
			}
			if v, ok := strings.CutPrefix(a, f+"="); ok {
				return v
			}
		}
	}
	return ""
}

// next is the first runc on PATH that is not this program.
func next() (string, error) {
	self, err := os.Stat("/proc/self/exe")
	if err != nil {
		return "", err
	}
	for _, d := range filepath.SplitList(os.Getenv("PATH") + ":/usr/sbin:/usr/bin") {
		p := filepath.Join(d, "runc")
		if st, err := os.Stat(p); err == nil && !os.SameFile(st, self) && st.Mode()&0o111 != 0 {
			return p, nil
		}
	}
	return "", fmt.Errorf("no runc on PATH %s", os.Getenv("PATH"))
}

func main() {
	args := os.Args[1:]
	status, _ := os.ReadFile("/proc/self/status")
	if have := bounding(string(status)); have != nil {
		for _, a := range args {
			var err error
			switch a {
			case "create", "run":
				err = filterFile(filepath.Join(value(args, "--bundle", "-b"), "config.json"), "process", have)
			case "exec":
				if f := value(args, "--process", "-p"); f != "" {
					err = filterFile(f, "", have)
				}
			default:
				continue
			}
			if err != nil {
				fmt.Fprintln(os.Stderr, "runcwrap:", err)
			}
			break
		}
	}
	bin, err := next()
	if err == nil {
		err = syscall.Exec(bin, append([]string{"runc"}, args...), os.Environ())
	}
	fmt.Fprintln(os.Stderr, "runcwrap:", err)
	os.Exit(1)
}
