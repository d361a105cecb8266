package main

import (
	"path/filepath"
	"runtime"
	"strings"

	"github.com/urfave/cli/v2"

	"rigup.dev/rigup/core/config"
	"rigup.dev/rigup/core/engine"
	"rigup.dev/rigup/core/hookstore"
)

func (p *program) hooksAdd() *cli.Command {
	return &cli.Command{
		Name:      "add",
		ArgsUsage: "SOURCE",
		Usage:     "get a hook, check its signature and approve it",
		Description: `SOURCE is a file, an https:// address or an oci:// reference. The signature lies beside it as SOURCE.minisig, the
publisher's key may as SOURCE.pub; a registry has both in the artifact. Credentials of registries are those of
docker login. A tag is resolved once; what is approved is the digest.`,
		UsageText: "rigup hooks add oci://registry.example.com/hooks/mtgpu:1.0.0",
		Flags: append(append(approvalFlags(), settings("ca-file")...),
			&cli.BoolFlag{Name: "plain-http", Hidden: true, Usage: "reach the registry without TLS"}),
		Action: p.addHook,
	}
}

func (p *program) addHook(c *cli.Context) error {
	cfg, s, err := p.openHooks(c)
	if err != nil {
		return err
	}
	o, err := approvalOptions(c)
	if err != nil {
		return err
	}
	source, err := p.hookSource(c.Args().First())
	if err != nil {
		return err
	}
	a, err := hookFetcher(cfg, c.Bool("plain-http")).Fetch(c.Context, source)
	if err != nil {
		return err
	}
	r, err := s.ReviewFetched(a, o)
	if err != nil {
		return err
	}
	return p.settle(c, "add", cfg, s, r)
}

// hookSource makes the path of a file absolute: the working directory is the program's world, not the process's.
func (p *program) hookSource(source string) (string, error) {
	if strings.Contains(source, "://") || filepath.IsAbs(source) {
		return source, nil
	}
	dir, err := p.workDir()
	return filepath.Join(dir, source), err
}

// hookFetcher gets hooks with the network settings and registry accounts of the user.
func hookFetcher(cfg config.Config, plainHTTP bool) hookstore.Fetcher {
	return hookstore.Fetcher{
		Transport:   trusting(cfg.CAFile.Value),
		Credentials: engine.NewKeychain(engine.Machine(runtime.GOOS)).For,
		PlainHTTP:   plainHTTP,
	}
}
