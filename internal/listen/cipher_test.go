package listen

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// certificate writes a self-signed certificate for 127.0.0.1 and its key.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "server"}, NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: pkcs8}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

func TestOnlyNamedCiphersAreSpoken(t *testing.T) {
	cert, key := certificate(t)
	const named, weak = "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256"
	c := TLS{Enable: true, Address: "127.0.0.1:0", CertFiles: []string{cert}, KeyFiles: []string{key}, Ciphers: []string{strings.ToLower(named)}}
	if err := c.Check(""); err != nil {
		t.Fatal(err)
	}
	l, err := Open("", c, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	l.Handler = http.NotFoundHandler()
	if err := l.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Stop(context.Background()) }) //nolint:errcheck // it is over
	dial := func(id uint16) error {
		conn, err := tls.Dial("tcp", l.Addrs()[0].String(), &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{id}})
		if err == nil {
			err = conn.Close()
		}
		return err
	}
	if err := dial(tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384); err != nil {
		t.Errorf("the named suite is not spoken: %v", err)
	}
	if dial(tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256) == nil {
		t.Error("a suite is spoken that was not named")
	}
	for want, c := range map[string]TLS{
		"is not a cipher suite":           {Enable: true, CertFiles: c.CertFiles, KeyFiles: c.KeyFiles, Ciphers: []string{"TLS_MAGIC"}},
		"--tls-allow-insecure-ciphers":    {Enable: true, CertFiles: c.CertFiles, KeyFiles: c.KeyFiles, Ciphers: []string{weak}},
		"come in pairs; set both":         {Enable: true, CertFiles: c.CertFiles, KeyFiles: c.KeyFiles, ClientCertFile: cert},
		"load the TLS client certificate": {Enable: true, CertFiles: c.CertFiles, KeyFiles: c.KeyFiles, ClientCertFile: cert, ClientKeyFile: cert},
	} {
		if err := c.Check(""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if ids, http2, err := ciphers([]string{weak}, true); err != nil || len(ids) != 1 || http2 {
		t.Errorf("a weak suite that is allowed: %v, HTTP/2 %t, %v", ids, http2, err)
	}
}

func TestRequestsBearTheClientCertificate(t *testing.T) {
	cert, key := certificate(t)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Client", r.TLS.PeerCertificates[0].Subject.CommonName)
	}))
	s.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	s.StartTLS()
	t.Cleanup(s.Close)
	for _, c := range []struct {
		conf TLS
		want string
	}{{TLS{ClientCertFile: cert, ClientKeyFile: key}, "server"}, {TLS{}, ""}} {
		tr, err := c.conf.Transport()
		if err != nil {
			t.Fatal(err)
		}
		if tr.TLSClientConfig == nil {
			tr.TLSClientConfig = &tls.Config{}
		}
		tr.TLSClientConfig.RootCAs = x509.NewCertPool()
		tr.TLSClientConfig.RootCAs.AddCert(s.Certificate())
		resp, err := (&http.Client{Transport: tr}).Get(s.URL)
		got := ""
		if err == nil {
			got = resp.Header.Get("Client")
			resp.Body.Close()
		}
		if got != c.want {
			t.Errorf("the other server got the certificate of %q, want %q: %v", got, c.want, err)
		}
	}
}
