package server_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
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

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/postgrestest"
	"github.com/seed-2a7f8fe7/coder/internal/server"
)

func config(t *testing.T) server.Config {
	return server.Config{
		Version: "v1.2.3-test", Log: slog.New(slog.DiscardHandler), HTTPAddress: "127.0.0.1:0",
		PostgresURL: postgrestest.URL(t), ConfigDir: t.TempDir(), CacheDir: t.TempDir(),
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
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
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
	c.BinDir = t.TempDir()
	c.PrometheusEnable, c.PrometheusAddress = true, freeAddress(t)
	c.PprofEnable, c.PprofAddress = true, freeAddress(t)
	if err := os.WriteFile(filepath.Join(c.BinDir, "coder-windows-arm64.exe"), []byte("MZ"), 0o644); err != nil {
		t.Fatal(err)
	}
	s := start(t, c)
	base := s.AccessURL().String()
	for path, want := range map[string]struct {
		status int
		text   string
	}{
		"/healthz":                     {200, "OK"},
		"/latency-check":               {200, "OK"},
		"/api/v2/buildinfo":            {200, "v1.2.3-test"},
		"/init-script/linux/arm64":     {200, "agent_url='" + base + "/'"},
		"/init-script/plan9/arm64":     {404, "no agent"},
		"/bin/coder-windows-arm64.exe": {200, "MZ"},
		"/bin/coder-plan9-amd64":       {404, "coder-<os>-<arch>"},
		"/bin/coder-darwin-arm64":      {404, c.BinDir},
		"/bin/../server.go":            {200, "<!doctype html>"}, // as any page that the dashboard itself knows, or not
		"/":                            {200, "<!doctype html>"},
		"/nowhere":                     {200, "<!doctype html>"},
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
	if _, body := get(t, http.DefaultClient, "http://"+c.PrometheusAddress+"/metrics"); !strings.Contains(body, "coderd_api_requests_processed_total") {
		t.Error("the metrics lack those of the API")
	}
	if resp, _ := get(t, http.DefaultClient, "http://"+c.PprofAddress+"/debug/pprof/cmdline"); resp.StatusCode != 200 {
		t.Error("no profiles")
	}
}

func TestOwnBinaryIsServed(t *testing.T) {
	s := start(t, config(t))
	u := s.AccessURL().String() + "/bin/coder-" + runtime.GOOS + "-" + runtime.GOARCH
	resp, body := get(t, http.DefaultClient, u, "Accept-Encoding", "identity") // compressing a test's binary takes long
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
	c.TLS = server.TLS{Enable: true, Address: freeAddress(t), CertFiles: []string{cert}, KeyFiles: []string{key}, MinVersion: "tls13"}
	c.HTTPAddress = ""
	c.AccessURL = &url.URL{Scheme: "https", Host: "coder.example.com"}
	c.RedirectToAccessURL = true
	c.StrictTransportSecurity, c.StrictTransportOptions = 60, []string{"includeSubDomains"}
	start(t, c)
	client := &http.Client{
		Transport:     &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, _ := get(t, client, "https://"+c.TLS.Address+"/some/page?q=1")
	if resp.StatusCode != http.StatusTemporaryRedirect || resp.Header.Get("Location") != "https://coder.example.com/some/page?q=1" {
		t.Errorf("redirect: %d %q", resp.StatusCode, resp.Header.Get("Location"))
	}
	if got := resp.Header.Get("Strict-Transport-Security"); got != "max-age=60; includeSubDomains" {
		t.Errorf("HSTS: %q", got)
	}
	if resp, _ := get(t, client, "https://"+c.TLS.Address+"/healthz"); resp.StatusCode != 200 {
		t.Errorf("health checks are redirected: %d", resp.StatusCode)
	}
	if resp, _ := get(t, client, "https://"+c.TLS.Address+"/", "Host", "coder.example.com"); resp.StatusCode != 200 {
		t.Errorf("the access URL itself is redirected: %d", resp.StatusCode)
	}
	old := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MaxVersion: tls.VersionTLS12}}}
	if _, err := old.Get("https://" + c.TLS.Address + "/healthz"); err == nil {
		t.Error("a TLS version below the minimum was accepted")
	}
}

func TestConfigurationsThatCannotWork(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*server.Config)
		says   string
	}{
		"no listener":          {func(c *server.Config) { c.HTTPAddress = "" }, "nowhere"},
		"TLS without files":    {func(c *server.Config) { c.TLS.Enable = true }, "--tls-cert-file"},
		"TLS with odd files":   {func(c *server.Config) { c.TLS = server.TLS{Enable: true, CertFiles: []string{"a"}} }, "pairs"},
		"a broken address":     {func(c *server.Config) { c.HTTPAddress = "nonsense" }, "nonsense"},
		"a relative URL":       {func(c *server.Config) { c.AccessURL = &url.URL{Path: "here"} }, "--access-url"},
		"too few provisioners": {func(c *server.Config) { c.ProvisionerDaemons = -1 }, "negative"},
		"odd idle connections": {func(c *server.Config) { c.PostgresMaxIdle = "some" }, "--postgres-conn-max-idle"},
		"odd same-site":        {func(c *server.Config) { c.Cookies.SameSite = "strictly" }, "lax or none"},
	} {
		conf := server.Config{Log: slog.New(slog.DiscardHandler), HTTPAddress: "127.0.0.1:0", ConfigDir: "x", CacheDir: "x"}
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
	c.HTTPAddress = freeAddress(t)
	good := c.PostgresURL
	c.PostgresURL = "postgres://nobody:secret-of-the-url@127.0.0.1:1/none"
	s, err := server.New(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(t.Context()); err == nil || strings.Contains(err.Error(), "secret-of-the-url") {
		t.Fatalf("got %v", err)
	}
	c.PostgresURL = good
	start(t, c)
	c.PostgresURL = postgrestest.URL(t)
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
	u, err := server.CreateAdminUser(t.Context(), c, coder.CreateFirstUserRequest{Username: "root", Email: "root@example.com", Password: "SomeLongPassw0rd!"})
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
	if err := server.ResetPassword(t.Context(), c, "root", "AnotherL0ngPassword!"); err != nil {
		t.Fatal(err)
	}
	if a, b := login("SomeLongPassw0rd!"), login("AnotherL0ngPassword!"); a != http.StatusUnauthorized || b != http.StatusCreated {
		t.Errorf("after the reset: old %d, new %d", a, b)
	}
	if err := server.ResetPassword(t.Context(), c, "nobody", "AnotherL0ngPassword!"); !coder.Is(err, coder.CodeNotFound) {
		t.Errorf("a user that does not exist: %v", err)
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
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
