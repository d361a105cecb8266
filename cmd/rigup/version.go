package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/urfave/cli/v2"
	"rigup.dev/rigup"
	"rigup.dev/rigup/core/pins"
	"rigup.dev/rigup/core/report"
)

func (p *program) versionCommand() *cli.Command {
	return &cli.Command{
		Name:      "version",
		Usage:     "show the version of rigup and of the Kubernetes it brings",
		UsageText: "rigup version --output json",
		Action: func(c *cli.Context) error {
			cfg, err := p.config(c)
			if err != nil {
				return err
			}
			pinned, err := pins.Read(rigup.Files)
			if err != nil {
				return err
			}
			v := struct {
				Version    string `json:"version"`
				Commit     string `json:"commit,omitempty"`
				Kubernetes string `json:"kubernetes"`
				OS         string `json:"os"`
				Arch       string `json:"arch"`
				Go         string `json:"go"`
			}{version, commit(), pinned.K3s.Version, runtime.GOOS, runtime.GOARCH, runtime.Version()}
			if cfg.Output.Value == report.JSON {
				report.WriteJSON(p.out, v)
				return nil
			}
			_, err = fmt.Fprintf(p.out, "rigup %s for %s/%s, brings Kubernetes %s\n", v.Version, v.OS, v.Arch, v.Kubernetes)
			return err
		},
	}
}

// commit is the one that the executable was built from, with a mark if the tree was changed.
func commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	rev, changed := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			rev = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			changed = "+changes"
		}
	}
	if rev == "" {
		return ""
	}
	return rev + changed
}
