package observability

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/seed-2a7f8fe7/coder/internal/server/base"
)

// TestCertificates reads the certificate of the access URL, which clients trust
// or refuse, and that of a file.
func TestCertificates(t *testing.T) {
	site := httptest.NewTLSServer(http.NotFoundHandler())
	defer site.Close()
	site.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	file := filepath.Join(t.TempDir(), "cert.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: site.Certificate().Raw})
	if err := os.WriteFile(file, block, 0o600); err != nil {
		t.Fatal(err)
	}
	listener, err := readCertificates([]string{file})
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(site.URL)
	if err != nil {
		t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AddCert(site.Certificate())
	end := site.Certificate().NotAfter
	for name, pool := range map[string]*x509.CertPool{"trusted": trusted, "refused": x509.NewCertPool()} {
		g := &Group{listener: listener, base: &base.Base{
			AccessURL: u, Log: slog.New(slog.DiscardHandler), Outgoing: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}},
		}}
		all, err := g.certificates(t.Context())
		if err != nil || len(all) != 2 {
			t.Fatalf("%s: %v %v", name, all, err)
		}
		if c := all[0]; c.Source != "listener" || c.Name != "example.com" || !c.End.Equal(end) {
			t.Errorf("%s: the listener has %+v", name, c)
		}
		if c := all[1]; c.Source != "access_url" || c.Name != "127.0.0.1" || !c.End.Equal(end) {
			t.Errorf("%s: the access URL has %+v", name, c)
		}
	}
	if _, err := readCertificates([]string{filepath.Join(t.TempDir(), "none")}); err == nil {
		t.Error("a missing file is no error")
	}
}

func TestDisks(t *testing.T) {
	dir := t.TempDir()
	g := &Group{from: Sources{Directories: map[string]string{"cache": dir, "database": filepath.Join(dir, "later")}}}
	all, err := g.disks()
	if err != nil || len(all) != 1 || all[0].Directory != "cache" || all[0].Free <= 0 || all[0].Size < all[0].Free {
		t.Errorf("%+v %v", all, err)
	}
}
