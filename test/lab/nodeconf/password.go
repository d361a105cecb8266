package nodeconf

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/crypto/scrypt"
)

// NodePassword reads the node's password, or makes one where there is none:
// a node whose file was lost is another node to the server.
func NodePassword(file string) (string, error) {
	if b, err := os.ReadFile(file); err == nil {
		return strings.TrimSpace(string(b)), nil
	} else if !os.IsNotExist(err) {
		return "", err
	}
	p := make([]byte, 16)
	rand.Read(p)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return "", err
	}
	s := hex.EncodeToString(p)
	return s, os.WriteFile(file, []byte(s+"\n"), 0o600)
}

// The hash's form is the one k3s writes: version, salt, cost, hash.
const (
	scryptCost, scryptR, scryptP, scryptKey = 15, 8, 1, 64
	scryptForm                              = "$1:%x:%d:%d:%d:%s"
)

// ErrHash says that a password is not the one that was hashed.
var ErrHash = errors.New("hash does not match")

// PasswordHash hashes as k3s stores it.
func PasswordHash(password string, salt []byte) (string, error) {
	k, err := scrypt.Key([]byte(password), salt, 1<<scryptCost, scryptR, scryptP, scryptKey)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf(scryptForm, salt, scryptCost, scryptR, scryptP, base64.RawStdEncoding.EncodeToString(k)), nil
}

// VerifyHash returns ErrHash where the password is another.
func VerifyHash(hash []byte, password string) error {
	f := bytes.SplitN(hash, []byte(":"), 3)
	if len(f) != 3 {
		return errors.New("hash is not in a known form")
	}
	salt, err := hex.DecodeString(string(f[1]))
	if err != nil {
		return err
	}
	want, err := PasswordHash(password, salt)
	if err != nil {
		return err
	}
	if want != string(hash) {
		return ErrHash
	}
	return nil
}
