package server_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/listen"
	"github.com/seed-2a7f8fe7/coder/internal/postgrestest"
	"github.com/seed-2a7f8fe7/coder/internal/server"
	"github.com/seed-2a7f8fe7/coder/internal/server/database"
	"github.com/seed-2a7f8fe7/coder/internal/server/network"
	"github.com/seed-2a7f8fe7/coder/internal/server/sessions"
	"github.com/seed-2a7f8fe7/coder/internal/testport"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

func config(t *testing.T) server.Config {
	return server.Config{
		Version: "v1.2.3-test", Log: slog.New(slog.DiscardHandler), ConfigDir: t.TempDir(), CacheDir: t.TempDir(),
		Network: network.Config{HTTPAddress: "127.0.0.1:0"}, Database: database.Config{URL: postgrestest.URL(t)},
	}
}

func start(t *testing.T, c server.Config) *server.Server {
	t.Helper()
	s, err := server.New(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), testwait.Limit)
		defer cancel()
		if err := s.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	return s
}

func get(t *testing.T, c *http.Client, url string, header ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			req.Host = header[i+1]
		}
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(b)
}

func TestOutsideOfTheAPI(t *testing.T) {
	c := config(t)
	c.Pages.BinDir = t.TempDir()
	c.Observability.PrometheusEnable, c.Observability.PrometheusAddress = true, testport.FreeAddress(t)
	c.Observability.PprofEnable, c.Observability.PprofAddress = true, testport.FreeAddress(t)
	if err := os.WriteFile(filepath.Join(c.Pages.BinDir, "coder-windows-arm64.exe"), []byte("MZ"), 0o644); err != nil {
		t.Fatal(err)
	}
	s := start(t, c)
	base := s.AccessURL().String()
	for path, want := range map[string]struct {
		status int
		text   string
	}{
		"/healthz":                     {200, "OK"},
		"/readyz":                      {200, "OK"},
		"/latency-check":               {200, "OK"},
		"/api/v2/buildinfo":            {200, "v1.2.3-test"},
		"/init-script/linux/arm64":     {200, "agent_url='" + base + "/'"},
		"/init-script/plan9/arm64":     {404, "no agent"},
		"/bin/coder-windows-arm64.exe": {200, "MZ"},
		"/bin/coder-plan9-amd64":       {404, "coder-<os>-<arch>"},
		"/bin/coder-darwin-arm64":      {404, c.Pages.BinDir},
		"/bin/coder-agent-linux-amd64": {404, "make agents"},
		"/bin/coder-linux-arm64.asc":   {404, "has no coder-linux-arm64"},
		"/install.sh":                  {200, "#!/bin/sh"},
		"/bin/../server.go":            {404, "not found"},
		"/":                            {200, "<!doctype html>"},
		"/workspaces":                  {200, "<!doctype html>"},
		"/nowhere":                     {404, "not found"},
		"/.well-known/nowhere":         {404, `"message"`},
		"/api/v2/nowhere":              {404, `"message"`},
	} {
		resp, body := get(t, http.DefaultClient, base+path)
		if resp.StatusCode != want.status || !strings.Contains(body, want.text) {
			t.Errorf("%s: %d %.200s", path, resp.StatusCode, body)
		}
		if resp.Header.Get("X-Content-Type-Options") != "nosniff" || resp.Header.Get("Content-Security-Policy") == "" {
			t.Errorf("%s lacks the browser's safety headers", path)
		}
	}
	if _, body := get(t, http.DefaultClient, "http://"+c.Observability.PrometheusAddress+"/metrics"); !strings.Contains(body, "coderd_api_requests_processed_total") {
		t.Error("the metrics lack those of the API")
	}
	if resp, _ := get(t, http.DefaultClient, "http://"+c.Observability.PprofAddress+"/debug/pprof/cmdline"); resp.StatusCode != 200 {
		t.Error("no profiles")
	}
}

func TestOwnBinaryIsServed(t *testing.T) {
	s := start(t, config(t))
	u := s.AccessURL().String() + "/bin/coder-" + runtime.GOOS + "-" + runtime.GOARCH
	resp, body := get(t, http.DefaultClient, u, "Accept-Encoding", "identity") // compressing a test's binary takes long
	if tag := sha1.Sum([]byte(body)); resp.Header.Get("ETag") != `"`+hex.EncodeToString(tag[:])+`"` {
		t.Errorf("ETag %s", resp.Header.Get("ETag"))
	}
	sum := sha256.Sum256([]byte(body))
	if resp.Header.Get("X-Coder-SHA256") != hex.EncodeToString(sum[:]) {
		t.Errorf("SHA-256 header %q", resp.Header.Get("X-Coder-SHA256"))
	}
	if resp, _ := get(t, http.DefaultClient, u, "Accept-Encoding", "identity", "If-None-Match", resp.Header.Get("ETag")); resp.StatusCode != http.StatusNotModified {
		t.Errorf("a copy that is up to date is sent again: %d", resp.StatusCode)
	}
	if resp, part := get(t, http.DefaultClient, u, "Range", "bytes=4-7"); resp.StatusCode != http.StatusPartialContent || part != body[4:8] {
		t.Errorf("a range: %d", resp.StatusCode)
	}
}

func TestTLSAndRedirect(t *testing.T) {
	c := config(t)
	cert, key, pool := certificate(t)
	c.Network.TLS = listen.TLS{Enable: true, Address: testport.FreeAddress(t), CertFiles: []string{cert}, KeyFiles: []string{key}, MinVersion: "tls13"}
	c.Network.HTTPAddress = ""
	c.Network.AccessURL = &url.URL{Scheme: "https", Host: "coder.example.com"}
	c.Network.RedirectToAccessURL = true
	c.Network.StrictTransportSecurity, c.Network.StrictTransportOptions = 60, []string{"includeSubDomains"}
	start(t, c)
	client := &http.Client{
		Transport:     &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, _ := get(t, client, "https://"+c.Network.TLS.Address+"/some/page?q=1")
	if resp.StatusCode != http.StatusTemporaryRedirect || resp.Header.Get("Location") != "https://coder.example.com/some/page?q=1" {
		t.Errorf("redirect: %d %q", resp.StatusCode, resp.Header.Get("Location"))
	}
	if got := resp.Header.Get("Strict-Transport-Security"); got != "max-age=60; includeSubDomains" {
		t.Errorf("HSTS: %q", got)
	}
	if resp, _ := get(t, client, "https://"+c.Network.TLS.Address+"/healthz"); resp.StatusCode != 200 {
		t.Errorf("health checks are redirected: %d", resp.StatusCode)
	}
	if resp, _ := get(t, client, "https://"+c.Network.TLS.Address+"/", "Host", "coder.example.com"); resp.StatusCode != 200 {
		t.Errorf("the access URL itself is redirected: %d", resp.StatusCode)
	}
	old := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MaxVersion: tls.VersionTLS12}}}
	if _, err := old.Get("https://" + c.Network.TLS.Address + "/healthz"); err == nil {
		t.Error("a TLS version below the minimum was accepted")
	}
}

func TestConfigurationsThatCannotWork(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*server.Config)
		says   string
	}{
		"no listener":          {func(c *server.Config) { c.Network.HTTPAddress = "" }, "no address to listen on"},
		"TLS without files":    {func(c *server.Config) { c.Network.TLS.Enable = true }, "--tls-cert-file"},
		"TLS with odd files":   {func(c *server.Config) { c.Network.TLS = listen.TLS{Enable: true, CertFiles: []string{"a"}} }, "pairs"},
		"a broken address":     {func(c *server.Config) { c.Network.HTTPAddress = "nonsense" }, "nonsense"},
		"a relative URL":       {func(c *server.Config) { c.Network.AccessURL = &url.URL{Path: "here"} }, "--access-url"},
		"too few provisioners": {func(c *server.Config) { c.Provisioning.Daemons = -1 }, "negative"},
		"odd idle connections": {func(c *server.Config) { c.Database.MaxIdle = "some" }, "--postgres-conn-max-idle"},
		"odd same-site":        {func(c *server.Config) { c.Network.Cookies.SameSite = "strictly" }, "lax or none"},
	} {
		conf := server.Config{Log: slog.New(slog.DiscardHandler), Network: network.Config{HTTPAddress: "127.0.0.1:0"}, ConfigDir: "x", CacheDir: "x"}
		c.change(&conf)
		if _, err := server.New(conf); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestFailedStartLeavesNothing holds the address free after a start that
// failed for another reason.
func TestFailedStartLeavesNothing(t *testing.T) {
	c := config(t)
	c.Network.HTTPAddress = testport.FreeAddress(t)
	good := c.Database.URL
	c.Database.URL = "postgres://nobody:secret-of-the-url@127.0.0.1:1/none"
	s, err := server.New(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(t.Context()); err == nil || strings.Contains(err.Error(), "secret-of-the-url") {
		t.Fatalf("got %v", err)
	}
	c.Database.URL = good
	start(t, c)
	c.Database.URL = postgrestest.URL(t)
	second, err := server.New(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "--http-address") {
		t.Errorf("an address that is taken: %v", err)
	}
}

func TestDirectDatabaseCommands(t *testing.T) {
	c := config(t)
	s := start(t, c)
	db := c.Database
	db.ConfigDir, db.CacheDir, db.Log = c.ConfigDir, c.CacheDir, c.Log
	u, err := sessions.CreateAdminUser(t.Context(), db, codersdk.CreateFirstUserRequest{
		Username: "root", Email: "root@example.com", Password: "SomeLongPassw0rd!",
	}, "ed25519")
	if err != nil || u.Username != "root" {
		t.Fatalf("%+v, %v", u, err)
	}
	login := func(password string) int {
		resp, err := http.Post(s.AccessURL().String()+"/api/v2/users/login", "application/json", strings.NewReader(`{"email":"root@example.com","password":"`+password+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	if got := login("SomeLongPassw0rd!"); got != http.StatusCreated {
		t.Errorf("login: %d", got)
	}
	if err := sessions.ResetPassword(t.Context(), db, "root", "AnotherL0ngPassword!"); err != nil {
		t.Fatal(err)
	}
	if a, b := login("SomeLongPassw0rd!"), login("AnotherL0ngPassword!"); a != http.StatusUnauthorized || b != http.StatusCreated {
		t.Errorf("after the reset: old %d, new %d", a, b)
	}
	if err := sessions.ResetPassword(t.Context(), db, "nobody", "AnotherL0ngPassword!"); !codersdk.Is(err, codersdk.CodeNotFound) {
		t.Errorf("a user that does not exist: %v", err)
	}
}

func certificate(t *testing.T) (certFile, keyFile string, pool *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	for path, b := range map[string][]byte{certFile: certPEM, keyFile: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})} {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pool = x509.NewCertPool()
	pool.AppendCertsFromPEM(certPEM)
	return certFile, keyFile, pool
}

// TestPurges runs what the server does every ten minutes: an error in it would
// not be seen, and a panic would end the server.
func TestPurges(t *testing.T) {
	c := config(t)
	c.Retention.AuditLogs, c.Retention.APIKeys, c.Retention.AgentLogs, c.Retention.ConnectionLogs = time.Hour, time.Hour, time.Hour, time.Hour
	if kinds, err := start(t, c).Purge(t.Context()); err != nil || kinds < 8 {
		t.Errorf("%d kinds of records: %v", kinds, err)
	}
}
