package hookstore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"aead.dev/minisign"

	"rigup.dev/rigup/core/reason"
	"rigup.dev/rigup/hooks/sdk"
)

// KeyOrigin is how a publisher's key became known.
type KeyOrigin string

// The origins.
const (
	KeyGiven   KeyOrigin = "given"   // on the command line
	KeyTrusted KeyOrigin = "trusted" // in the folder trust
	KeyBeside  KeyOrigin = "beside"  // it came with the hook: only who serves the hook vouches for it
)

// TrustDir is the folder of keys, below the folder of hooks, that are trusted before the first hook comes.
const TrustDir = "trust"

// Key is a publisher's minisign public key.
type Key struct {
	Text string // base64, as in the second line of a .pub file
	ID   string // 16 hexadecimal digits, as minisign writes it
	key  minisign.PublicKey
}

// ParseKey reads a minisign public key: a .pub file, or the base64 in it.
func ParseKey(text string) (Key, error) {
	var k minisign.PublicKey
	if err := k.UnmarshalText([]byte(strings.TrimSpace(text))); err != nil {
		return Key{}, fmt.Errorf("it is not a minisign public key: %w", err)
	}
	return Key{Text: k.String(), ID: keyID(k.ID()), key: k}, nil
}

func keyID(id uint64) string { return fmt.Sprintf("%016X", id) }

// Signature is who vouches for the bytes of a hook. The zero value: nobody.
type Signature struct {
	Key   string // the public key, in base64
	KeyID string
	From  KeyOrigin
}

// SignedComment is what the trusted comment of a hook's signature has to be, so that the signature of one hook or
// version cannot stand beside another.
func SignedComment(m sdk.Manifest) string { return "rigup hook " + m.ID + " " + m.Version }

// verify finds the key that a signature has to be made with, and checks it. Without a signature it returns the zero
// value: whether that is enough is for others to say.
func (s Store) verify(c candidate, before *Entry, given string) (Signature, error) {
	if c.signature == nil {
		return Signature{}, nil
	}
	hook := c.name()
	var sig minisign.Signature
	if err := sig.UnmarshalText(c.signature); err != nil {
		return Signature{}, reason.Fail(reason.New(reason.HookSignature, "hook", hook, "what", "its file is not one that minisign wrote"), nil)
	}
	k, from, err := s.keyFor(c, keyID(sig.KeyID), before, given)
	if err != nil {
		return Signature{}, err
	}
	if !minisign.Verify(k.key, c.bytes, c.signature) {
		return Signature{}, reason.Fail(reason.New(reason.HookSignature, "hook", hook, "what", "it was not made with key "+k.ID+" for these bytes"), nil)
	}
	if want := SignedComment(c.manifest); sig.TrustedComment != want {
		return Signature{}, reason.Fail(reason.New(reason.HookSignature, "hook", hook, "what", "it was made for something else").
			With("trusted comment: "+sig.TrustedComment, "it has to be: "+want), nil)
	}
	return Signature{Key: k.Text, KeyID: k.ID, From: from}, nil
}

// keyFor is the key that the signature with this key id is held against. A pinned key goes before all; one that was
// given or is trusted goes before the one that came with the hook. The id is only a hint: it is not protected.
func (s Store) keyFor(c candidate, id string, before *Entry, given string) (Key, KeyOrigin, error) {
	if before != nil && before.Key != "" {
		pinned, err := ParseKey(before.Key)
		if err != nil {
			return Key{}, "", err
		}
		if pinned.ID != id {
			return Key{}, "", reason.Fail(reason.New(reason.HookKey, "hook", c.name(), "new", id, "old", pinned.ID, "id", before.ID), nil)
		}
		return pinned, before.KeyFrom, nil
	}
	if given != "" {
		k, err := ParseKey(given)
		if err == nil && k.ID != id {
			err = fmt.Errorf("it is key %s, and the hook is signed with key %s", k.ID, id)
		}
		if err != nil {
			return Key{}, "", reason.Fail(reason.New(reason.UsageValue, "flag", "--key", "value", given, "allowed", err.Error()), nil)
		}
		return k, KeyGiven, nil
	}
	if k, ok := s.trustedKey(id); ok {
		return k, KeyTrusted, nil
	}
	if k, err := ParseKey(string(c.key)); err == nil && k.ID == id {
		return k, KeyBeside, nil
	}
	return Key{}, "", reason.Fail(reason.New(reason.HookKeyUnknown, "hook", c.name(), "key", id, "command", c.command()), nil)
}

// trustedKey looks for a key in the folder of trusted ones.
func (s Store) trustedKey(id string) (Key, bool) {
	files, err := filepath.Glob(filepath.Join(s.Dir, TrustDir, "*"+keySuffix))
	if err != nil {
		return Key{}, false
	}
	for _, path := range files {
		b, _, err := readFile(path, maxBeside)
		if err != nil {
			continue
		}
		if k, err := ParseKey(string(b)); err == nil && k.ID == id {
			return k, true
		}
	}
	return Key{}, false
}

// ReadKey is the key that --key names: a file, or the key itself.
func ReadKey(value string) (string, error) {
	if value == "" {
		return "", nil
	}
	if k, err := ParseKey(value); err == nil {
		return k.Text, nil
	}
	b, err := readNamed(value, maxBeside)
	if err == nil {
		var k Key
		if k, err = ParseKey(string(b)); err == nil {
			return k.Text, nil
		}
	}
	why := "it is no minisign public key, and the file of this name holds none"
	if absent(err) {
		why = "it is no minisign public key, and there is no file of this name"
	}
	return "", reason.Fail(reason.New(reason.UsageValue, "flag", "--key", "value", value, "allowed", why), nil)
}

// readNamed reads a file that a person named: a link to it is as good as the file.
func readNamed(path string, limit int64) ([]byte, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	b, _, err := readFile(real, limit)
	return b, err
}

// readBeside reads the signature or the key that may stand beside a module. A missing one is no error.
func readBeside(path string, read func(string, int64) ([]byte, error)) ([]byte, error) {
	b, err := read(path, maxBeside)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err == nil && b == nil {
		b = []byte{} // an empty signature is a bad one, not none
	}
	return b, err
}
