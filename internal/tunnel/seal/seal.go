// Package seal makes the ciphers with which the two ends of a tunnel seal what travels
// beside QUIC. Their keys derive from a secret of the tunnel's TLS session.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"errors"
)

// Directions returns the ciphers of an end for what it sends and what it receives. The
// first half of the secret is the key toward the agent, the second half toward the
// client.
func Directions(secret []byte, newAEAD func(key []byte) (cipher.AEAD, error), agent bool) (out, in cipher.AEAD, err error) {
	half := len(secret) / 2
	toAgent, err1 := newAEAD(secret[:half])
	toClient, err2 := newAEAD(secret[half:])
	if agent {
		return toClient, toAgent, errors.Join(err1, err2)
	}
	return toAgent, toClient, errors.Join(err1, err2)
}

// NewGCM returns AES-GCM with a key of 16, 24 or 32 bytes.
func NewGCM(key []byte) (cipher.AEAD, error) {
	c, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(c)
}
