package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"
	"rigup.dev/rigup/core/config"
	"rigup.dev/rigup/core/hookkit"
	"rigup.dev/rigup/core/hookstore"
	"rigup.dev/rigup/core/report"
	"rigup.dev/rigup/core/units"
)

// passwordEnv holds the password of a signing key, for programs. People are asked.
const passwordEnv = "RIGUP_MINISIGN_PASSWORD"

func (p *program) hooksPack() *cli.Command {
	return &cli.Command{
		Name:      "pack",
		ArgsUsage: "MODULE",
		Usage:     "put the manifest into a module, sign it, and push it to a registry",
		Description: "For vendors. With --key it writes MODULE.minisig and MODULE.pub beside the module: the signature, and the public\n" +
			"key to hand out with it. An encrypted key needs its password: from the terminal, from " + passwordEnv + ",\n" +
			"or from the first line of the standard input.",
		UsageText: "rigup hooks pack build/hook.wasm --manifest manifest.json --key vendor.key -o vendor.wasm",
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "manifest", Usage: "the manifest; without it the one in the module stays"},
			&cli.StringFlag{Name: "key", Usage: "private key of minisign to sign with"},
			&cli.StringFlag{Name: "out", Aliases: []string{"o"}, Usage: "where to write the module (default: MODULE itself)"},
			&cli.StringFlag{Name: "push", Usage: "reference in a registry to push it to: oci://registry.example/hooks/vendor:1.0.0"},
			&cli.BoolFlag{Name: "plain-http", Hidden: true, Usage: "reach the registry without TLS"},
		}, settings("ca-file")...),
		Action: p.packHook,
	}
}

func (p *program) hooksKeygen() *cli.Command {
	return &cli.Command{
		Name:      "keygen",
		ArgsUsage: "KEY",
		Usage:     "make a key pair to sign hooks with, as minisign does",
		Description: "Writes KEY, which is to be kept secret, and KEY.pub, which is handed out. The password that protects KEY is asked\n" +
			"on the terminal, or comes from " + passwordEnv + " or the first line of the standard input; an empty one means none.",
		UsageText: "rigup hooks keygen vendor.key",
		Action:    p.newKey,
	}
}

func (p *program) packHook(c *cli.Context) error {
	cfg, err := p.config(c)
	if err != nil {
		return err
	}
	from := c.Args().First()
	module, err := readFor("MODULE", from)
	if err != nil {
		return err
	}
	packed, err := pack(module, from, c.String("manifest"))
	if err != nil {
		return err
	}
	out := c.String("out")
	if out == "" {
		out = from
	}
	artifact := hookstore.Artifact{Module: packed.Bytes}
	if name := c.String("key"); name != "" {
		key, err := p.signingKey(name)
		if err != nil {
			return err
		}
		artifact.Signature = key.Sign(packed)
		if artifact.Key, err = key.Public(); err != nil {
			return err
		}
	} else {
		artifact = signedBefore(out, artifact)
	}
	if err := writeHook(out, artifact); err != nil {
		return cannotBe("--out", out, "it cannot be written: "+plainly(err))
	}
	pushed, err := p.push(c, cfg, artifact)
	if err != nil {
		return err
	}
	return p.packed(cfg, packed, out, artifact.Signature != nil, pushed)
}

// signedBefore adds the signature that lies beside the same bytes. One of other bytes says nothing about these.
func signedBefore(out string, a hookstore.Artifact) hookstore.Artifact {
	if b, err := os.ReadFile(out); err != nil || !bytes.Equal(b, a.Module) {
		return a
	}
	signature, err := os.ReadFile(out + ".minisig")
	if err != nil {
		return a
	}
	a.Signature = signature
	if key, err := os.ReadFile(out + ".pub"); err == nil {
		a.Key = key
	}
	return a
}

// writeHook writes a module and what belongs beside it, and takes away a signature of other bytes.
func writeHook(out string, a hookstore.Artifact) error {
	for _, f := range []struct {
		name    string
		content []byte
	}{{out, a.Module}, {out + ".minisig", a.Signature}, {out + ".pub", a.Key}} {
		var err error
		switch {
		case f.content != nil:
			err = os.WriteFile(f.name, f.content, 0o644)
		case f.name == out+".minisig":
			if err = os.Remove(f.name); errors.Is(err, fs.ErrNotExist) {
				err = nil
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// pack puts the manifest in, or leaves the module as it is if none is given and it has one.
func pack(module []byte, name, manifest string) (packed hookkit.Packed, err error) {
	flag, value := "--manifest", manifest
	if manifest == "" {
		flag, value = "MODULE", name
		packed, err = hookkit.Ready(module)
	} else {
		var text []byte
		if text, err = readFor(flag, manifest); err != nil {
			return packed, err
		}
		packed, err = hookkit.Pack(module, text)
	}
	var bad *hookkit.BadModule
	if errors.As(err, &bad) {
		flag, value = "MODULE", name
	}
	if err != nil {
		return packed, cannotBe(flag, value, err.Error())
	}
	return packed, nil
}

func (p *program) push(c *cli.Context, cfg config.Config, a hookstore.Artifact) (string, error) {
	reference := c.String("push")
	if reference == "" {
		return "", nil
	}
	return hookFetcher(cfg, c.Bool("plain-http")).Push(c.Context, reference, a)
}

func (p *program) packed(cfg config.Config, packed hookkit.Packed, out string, signed bool, pushed string) error {
	m := packed.Manifest
	if cfg.Output.Value == report.JSON {
		report.WriteJSON(p.out, map[string]any{"id": m.ID, "version": m.Version, "file": out, "size": len(packed.Bytes), "signed": signed, "pushed": pushed})
		return nil
	}
	text := fmt.Sprintf("%s: %s %s, %s", out, m.ID, m.Version, units.Size(int64(len(packed.Bytes))))
	if signed {
		text += fmt.Sprintf(", signed.\nHand out %s together with %s.minisig and %s.pub", out, out, out)
	} else {
		text += ", not signed"
	}
	text += ".\n"
	if pushed != "" {
		text += "Pushed. Users: rigup hooks add " + pushed + "\n"
	}
	_, err := io.WriteString(p.out, text)
	return err
}

// readFor reads a file that was named on the command line.
func readFor(flag, name string) ([]byte, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		why := "there is no such file"
		if !errors.Is(err, fs.ErrNotExist) {
			why = "it cannot be read: " + plainly(err)
		}
		return nil, cannotBe(flag, name, why)
	}
	return b, nil
}

// plainly is what went wrong with a file whose name is said already.
func plainly(err error) string {
	var of *fs.PathError
	switch {
	case errors.Is(err, syscall.EISDIR):
		return "it is a folder"
	case errors.As(err, &of):
		return of.Err.Error()
	}
	return err.Error()
}

// signingKey reads a private key, and asks for its password if it has one.
func (p *program) signingKey(name string) (hookkit.Key, error) {
	b, err := readFor("--key", name)
	if err != nil {
		return hookkit.Key{}, err
	}
	key, err := hookkit.ReadKey(b, func() (string, error) { return p.password("Password of " + name + ": ") })
	if err != nil {
		return key, cannotBe("--key", name, err.Error())
	}
	return key, nil
}

func (p *program) newKey(c *cli.Context) error {
	name := c.Args().First()
	for _, file := range []string{name, name + ".pub"} {
		if _, err := os.Lstat(file); err == nil {
			return cannotBe("KEY", name, file+" is there; a key is never overwritten")
		}
	}
	password, err := p.password("Password for the new key (empty: none): ")
	if err != nil {
		return err
	}
	if p.terminal() && password != "" {
		again, err := p.password("The same again: ")
		if err != nil {
			return err
		}
		if again != password {
			return cannotBe("the password", "this", "the two are not the same")
		}
	}
	private, public, err := hookkit.NewKey(password)
	if err != nil {
		return err
	}
	if err := create(name, private, 0o600); err != nil {
		return cannotBe("KEY", name, "it cannot be written: "+plainly(err))
	}
	if err := create(name+".pub", public, 0o644); err != nil {
		return cannotBe("KEY", name, name+".pub cannot be written: "+plainly(err))
	}
	text := ""
	if password == "" {
		text = "%[1]s has no password: whoever can read the file can sign with it.\n"
	}
	text += "Keep %[1]s secret and safe: whoever has it can publish in your name, and users trust no other.\nHand out %[1]s.pub.\n"
	_, err = fmt.Fprintf(p.out, text, name)
	return err
}

// create writes a file that must not be there.
func create(name string, content []byte, mode fs.FileMode) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	if _, err := f.Write(content); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}

// password comes from the environment, from the terminal, or from the first line of the standard input. It is never
// on the command line, where other users could read it.
func (p *program) password(question string) (string, error) {
	if s := p.env(passwordEnv); s != "" {
		return s, nil
	}
	if in, ok := p.in.(*os.File); ok && p.terminal() {
		if _, err := io.WriteString(p.err, question); err != nil {
			return "", err
		}
		b, err := term.ReadPassword(int(in.Fd()))
		_, _ = io.WriteString(p.err, "\n")
		return string(b), err
	}
	line, err := bufio.NewReader(p.in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read the password from the standard input: %w", err)
	}
	return strings.TrimRight(line, "\r\n"), nil
}
