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

	"github.com/quic-go/quic-go"
)

// BenchmarkFloor is what the others are compared with: kernel TCP with TLS 1.3, and
// QUIC itself on UDP sockets of its own, with packets as tunnels have them and with
// the biggest that it makes.
func BenchmarkFloor(b *testing.B) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	ok(b, err)
	t := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
	ok(b, err)
	secrets := &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, MinVersion: tls.VersionTLS13, NextProtos: []string{"floor"}}
	client := &tls.Config{InsecureSkipVerify: true, NextProtos: secrets.NextProtos}
	b.Run("tls", func(b *testing.B) {
		l, err := tls.Listen("tcp", "127.0.0.1:0", secrets)
		ok(b, err)
		defer l.Close()
		go func() {
			c, err := l.Accept()
			if err == nil {
				_, _ = io.Copy(io.Discard, c)
			}
		}()
		c, err := tls.Dial("tcp", l.Addr().String(), client)
		ok(b, err)
		defer c.Close()
		pour(b, c)
	})
	for name, fixed := range map[string]bool{"quic 1280": true, "quic 1452": false} {
		b.Run(name, func(b *testing.B) {
			c := &quic.Config{InitialPacketSize: 1280, DisablePathMTUDiscovery: fixed, MaxStreamReceiveWindow: 16 << 20, MaxConnectionReceiveWindow: 32 << 20}
			l, err := quic.ListenAddr("127.0.0.1:0", secrets, c)
			ok(b, err)
			defer l.Close()
			go func() {
				conn, err := l.Accept(b.Context())
				if err != nil {
					return
				}
				if s, err := conn.AcceptStream(b.Context()); err == nil {
					_, _ = io.Copy(io.Discard, s)
				}
			}()
			conn, err := quic.DialAddr(b.Context(), l.Addr().(*net.UDPAddr).String(), client, c)
			ok(b, err)
			s, err := conn.OpenStream()
			ok(b, err)
			pour(b, s)
		})
	}
}

// pour writes blocks, and says what each costs in processor time.
func pour(b *testing.B, w io.Writer) {
	p := make([]byte, block)
	b.SetBytes(block)
	started := processorTime()
	for b.Loop() {
		_, err := w.Write(p)
		ok(b, err)
	}
	b.ReportMetric(float64((processorTime()-started).Microseconds())/float64(b.N)/block*1e3, "cpu-s/GB")
}
