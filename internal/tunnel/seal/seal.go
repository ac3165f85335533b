// Package seal creates the ciphers with which the two ends of a tunnel seal messages that
// travel beside QUIC. Their keys derive from a secret of the tunnel's TLS session.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"errors"
)

// Directions returns an end's ciphers for sent and received messages. The first half of the
// secret is the key for messages to the agent, the second half for messages to the client.
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
