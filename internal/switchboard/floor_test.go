package switchboard_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"math/big"
	"net"
	"testing"
	"time"
)

// BenchmarkFloor is kernel TCP with TLS 1.3, what the others are compared with.
func BenchmarkFloor(b *testing.B) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	ok(b, err)
	t := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
	ok(b, err)
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, MinVersion: tls.VersionTLS13})
	ok(b, err)
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }(c)
		}
	}()
	c, err := tls.Dial("tcp", l.Addr().String(), &tls.Config{InsecureSkipVerify: true})
	ok(b, err)
	defer c.Close()
	p := make([]byte, block)
	b.SetBytes(block)
	for b.Loop() {
		_, err := c.Write(p)
		ok(b, err)
	}
}
