// Package gitkey creates the SSH key pairs that users authenticate to git
// servers with.
package gitkey

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/pem"

	"golang.org/x/crypto/ssh"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// New returns a new key pair of the algorithm ed25519, ecdsa (NIST P-256) or
// rsa4096; "" means ed25519. The public key is a line of authorized_keys, the
// private key is in OpenSSH's format. (AU-18)
func New(algorithm string) (public, private string, err error) {
	var key crypto.Signer
	switch algorithm {
	case "", "ed25519":
		_, key, err = ed25519.GenerateKey(rand.Reader)
	case "ecdsa":
		key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case "rsa4096":
		key, err = rsa.GenerateKey(rand.Reader, 4096)
	default:
		return "", "", codersdk.Invalid("ssh-keygen-algorithm", "%.40q is not supported; use ed25519, ecdsa or rsa4096", algorithm)
	}
	if err != nil {
		return "", "", err
	}
	publicKey, err := ssh.NewPublicKey(key.Public())
	if err != nil {
		return "", "", err
	}
	block, err := ssh.MarshalPrivateKey(key, "")
	if err != nil {
		return "", "", err
	}
	return string(ssh.MarshalAuthorizedKey(publicKey)), string(pem.EncodeToMemory(block)), nil
}
