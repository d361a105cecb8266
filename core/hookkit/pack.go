package hookkit

import (
	"errors"
	"fmt"
	"strings"

	"aead.dev/minisign"

	"rigup.dev/rigup/core/grant"
	"rigup.dev/rigup/core/hookhost"
	"rigup.dev/rigup/core/hookstore"

	"rigup.dev/rigup/hooks/sdk"
)

// Packed is a module with its manifest in it.
type Packed struct {
	Bytes    []byte
	Manifest sdk.Manifest
	Static   hookhost.Static
}

// BadModule is a module that the host does not take, whatever its manifest.
type BadModule struct{ err error }

func (e *BadModule) Error() string { return "the module " + e.err.Error() }

// Ready checks a module that has its manifest, as the host does. The error is a *BadModule, or about the manifest.
func Ready(module []byte) (Packed, error) {
	static, err := hookhost.Inspect(module)
	switch {
	case err != nil:
		return Packed{}, &BadModule{err}
	case len(static.Manifests) != 1:
		return Packed{}, fmt.Errorf("there are %d manifests in it, and one is needed: --manifest FILE", len(static.Manifests))
	}
	if err := grant.Valid(static.Manifests[0]); err != nil {
		return Packed{}, fmt.Errorf("its manifest is not valid: %w", err)
	}
	return Packed{module, static.Manifests[0], static}, nil
}

// Pack puts a manifest into a module, in the place of one that may be there, and checks both as the host does. The
// error is a *BadModule, or about the manifest.
func Pack(module, manifest []byte) (Packed, error) {
	m, err := sdk.DecodeManifest(manifest)
	if err != nil {
		return Packed{}, fmt.Errorf("the manifest cannot be read: %w", err)
	}
	if err := grant.Valid(m); err != nil {
		return Packed{}, fmt.Errorf("the manifest is not valid: %w", err)
	}
	bare, err := hookhost.WithoutManifest(module)
	if err != nil {
		return Packed{}, &BadModule{errors.New(strings.TrimPrefix(err.Error(), "the module "))}
	}
	b, err := hookhost.AddManifest(bare, manifest)
	if err != nil {
		return Packed{}, err
	}
	return Ready(b)
}

// Key signs hooks.
type Key struct{ private minisign.PrivateKey }

// NewKey makes a minisign key pair: the two files, as the program minisign would write them. With a password the
// private one is encrypted with it.
func NewKey(password string) (private, public []byte, err error) {
	pub, key, err := minisign.GenerateKey(nil)
	if err != nil {
		return nil, nil, fmt.Errorf("make a key: %w", err)
	}
	if password == "" {
		private, err = key.MarshalText()
	} else {
		private, err = minisign.EncryptKey(password, key)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("write the key: %w", err)
	}
	public, err = pub.MarshalText()
	return endLine(private), endLine(public), err
}

func endLine(b []byte) []byte { return []byte(strings.TrimRight(string(b), "\n") + "\n") }

// ErrPassword is returned by ReadKey when the password is not that of the key.
var ErrPassword = errors.New("the password is wrong")

// ReadKey reads a private key file of minisign. password is called if the key is encrypted.
func ReadKey(file []byte, password func() (string, error)) (Key, error) {
	var k Key
	text := []byte(strings.ReplaceAll(string(file), "\r\n", "\n"))
	if !minisign.IsEncrypted(text) {
		if err := k.private.UnmarshalText(text); err != nil {
			return k, fmt.Errorf("it is not a private key of minisign: %w", err)
		}
		return k, nil
	}
	secret, err := password()
	if err != nil {
		return k, err
	}
	if k.private, err = minisign.DecryptKey(secret, text); err != nil {
		return k, ErrPassword
	}
	return k, nil
}

// Public is the file of the public key, to be handed out with the hook.
func (k Key) Public() ([]byte, error) {
	b, err := k.private.Public().(minisign.PublicKey).MarshalText()
	return endLine(b), err
}

// Sign returns the signature of a packed hook: the content of its .minisig file.
func (k Key) Sign(p Packed) []byte {
	return endLine(minisign.SignWithComments(k.private, p.Bytes, hookstore.SignedComment(p.Manifest), "signature of a rigup hook"))
}
