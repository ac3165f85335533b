// Package netmirror lets one run of Terraform or OpenTofu install providers and modules from the mirror of the
// server, and provisioners install Terraform from it.
package netmirror

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
	"github.com/seed-2a7f8fe7/coder/internal/rule/providermirror"
)

// Mirror passes the requests of one `terraform init` to the mirror of the server. Terraform requires
// HTTPS with a trusted certificate, and sends no credentials when it downloads archives; the server may be
// reached in another way and needs credentials. So Terraform sees a listener on the loopback address that
// exists during the init only, with a certificate of its own. Its paths start with a random word, so that
// other users of the machine cannot use it. The word is worthless after the init.
type Mirror struct {
	server *http.Server
	done   chan struct{}
	env    []string

	mu      sync.Mutex
	refusal string // the last error of the server
}

// Bounds of a mirror's answers.
const (
	mirrorStatusTimeout = 30 * time.Second
	mirrorAttempts      = 5
	maxMirrorAnswer     = 1 << 20
)

// Start starts a listener for an init, with files in dir. It returns nil if the server has no mirror or if this
// provisioner does not use it; unused says why it does not. The caller calls Stop.
func Start(ctx context.Context, server http.Handler, dir string, env []string) (m *Mirror, unused string, err error) {
	if server == nil {
		return nil, "", nil
	}
	status, err := mirrorStatus(ctx, server)
	for _, p := range providermirror.Programs() { // sites with releases are no registries
		for _, list := range []*[]string{&status.Hostnames, &status.ModuleHostnames} {
			*list = slices.DeleteFunc(*list, func(h string) bool { return h == p.Hostname })
		}
	}
	unused = unusable(env)
	switch {
	case err != nil && unused != "":
		return nil, "", nil // nothing of the server is needed
	case err != nil, len(status.Hostnames) == 0 && len(status.ModuleHostnames) == 0:
		return nil, "", err
	case unused != "":
		return nil, unused, nil
	}
	if m, err = startMirror(server, dir, status); err != nil {
		return nil, "", fmt.Errorf("start the listener for the provider mirror: %w", err)
	}
	return m, "", nil
}

// Env returns the additional environment of Terraform. It is empty for nil.
func (m *Mirror) Env() []string {
	if m == nil {
		return nil
	}
	return m.env
}

// unusable returns why Terraform cannot use a mirror on this machine, "" if it can. An administrator configures where
// providers come from in env, the environment of Terraform, or in the home directory.
func unusable(env []string) string {
	if runtime.GOOS == "darwin" || runtime.GOOS == "windows" {
		return "Terraform accepts no further certificate on this operating system"
	}
	for _, kv := range env {
		if name, _, _ := strings.Cut(kv, "="); name == "TF_CLI_CONFIG_FILE" || name == "TERRAFORM_CONFIG" {
			return "the provisioner has a CLI configuration in " + name
		}
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	for _, name := range []string{".terraformrc", ".tofurc"} {
		if _, err := os.Stat(filepath.Join(home, name)); err == nil {
			return "the provisioner has a CLI configuration in ~/" + name
		}
	}
	return ""
}

// mirrorStatus asks the server which registries its mirror replaces; none without a mirror. A server that
// does not answer is asked again, because it may be restarting.
func mirrorStatus(ctx context.Context, mirror http.Handler) (providermirror.Status, error) {
	wait := lifecycle.Backoff{First: 250 * time.Millisecond}
	for attempt := 1; ; attempt++ {
		status, again, err := askMirror(ctx, mirror)
		if !again || attempt == mirrorAttempts || !wait.Sleep(ctx) {
			return status, err
		}
	}
}

// askMirror asks once, and reports whether another attempt may succeed.
func askMirror(ctx context.Context, mirror http.Handler) (status providermirror.Status, again bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, mirrorStatusTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "/", nil)
	if err != nil {
		return status, false, err
	}
	answer := &answer{header: http.Header{}}
	mirror.ServeHTTP(answer, req)
	switch {
	case answer.status == http.StatusNotFound: // no mirror, or an older server
		return status, false, nil
	case answer.status != http.StatusOK:
		return status, answer.status >= http.StatusInternalServerError, fmt.Errorf("ask the server for its provider mirror: %s", answer.message())
	}
	if err := json.Unmarshal(answer.body.Bytes(), &status); err != nil {
		return status, true, fmt.Errorf("ask the server for its provider mirror: %w", err)
	}
	for _, h := range slices.Concat(status.Hostnames, status.ModuleHostnames) {
		if err := providermirror.CheckHostname("hostnames", h); err != nil {
			return providermirror.Status{}, false, err
		}
	}
	return status, false, nil
}

// answer is a response that is kept, up to maxMirrorAnswer. If to is not nil, successful responses are
// passed on instead, and others without their body, which Terraform does not read.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
	to     http.ResponseWriter
}

func (a *answer) Header() http.Header {
	if a.to != nil {
		return a.to.Header()
	}
	return a.header
}

func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		if a.status = status; a.to != nil {
			if status != http.StatusOK {
				a.to.Header().Del("Content-Length")
			}
			a.to.WriteHeader(status)
		}
	}
}

func (a *answer) Write(b []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	if a.to != nil && a.status == http.StatusOK {
		return a.to.Write(b)
	}
	a.body.Write(b[:min(len(b), maxMirrorAnswer-a.body.Len())])
	return len(b), nil
}

// message returns the message of an error of the server.
func (a *answer) message() string {
	var body struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(a.body.Bytes(), &body) != nil || body.Message == "" {
		return fmt.Sprintf("the server answered %d %s", a.status, http.StatusText(a.status))
	}
	return body.Message
}

// startMirror listens on the loopback address and writes Terraform's configuration into dir.
func startMirror(mirror http.Handler, dir string, status providermirror.Status) (*Mirror, error) {
	cert, root, err := loopbackCertificate()
	if err != nil {
		return nil, err
	}
	m, base, err := listen(mirror, "/", &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12})
	if err != nil {
		return nil, err
	}
	config := filepath.Join(dir, "mirror.tfrc")
	certs := filepath.Join(dir, "certificates")
	err = os.MkdirAll(certs, 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(certs, "mirror.pem"), root, 0o600)
	}
	if err == nil {
		err = os.WriteFile(config, mirrorConfig(base, status), 0o600)
	}
	if err != nil {
		m.Stop()
		return nil, err
	}
	m.env = []string{"TF_CLI_CONFIG_FILE=" + config, "SSL_CERT_DIR=" + certificateDirs(certs)}
	return m, nil
}

// listen serves the server's paths below prefix on the loopback address, with TLS unless it is nil. base is the
// address with the random word that all paths start with.
func listen(server http.Handler, prefix string, security *tls.Config) (m *Mirror, base string, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", err
	}
	base = l.Addr().String() + "/"
	if security != nil {
		l = tls.NewListener(l, security)
	}
	word := rand.Text()
	m = &Mirror{done: make(chan struct{})}
	m.server = &http.Server{
		Handler: m.handler(server, word, prefix), ReadHeaderTimeout: 10 * time.Second,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
	go func() {
		defer close(m.done)
		m.server.Serve(l) //nolint:errcheck // Stop ends it
	}()
	return m, base + word, nil
}

// Stop closes the listener. It returns the last error of the server, "" for none.
func (m *Mirror) Stop() string {
	if m == nil {
		return ""
	}
	m.server.Close() //nolint:errcheck // the requests have ended
	<-m.done
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.refusal
}

// mirrorConfig is Terraform's CLI configuration: the providers and modules of the mirror come from the listener, all
// others from where they are.
func mirrorConfig(base string, status providermirror.Status) []byte {
	patterns := make([]string, 0, len(status.Hostnames))
	for _, h := range status.Hostnames {
		patterns = append(patterns, fmt.Sprintf("%q", h+"/*/*"))
	}
	var registries strings.Builder
	for _, h := range status.ModuleHostnames {
		fmt.Fprintf(&registries, `host %q {
  services = {
    "modules.v1" = "https://%s/modules/%s/"
  }
}
`, h, base, h)
	}
	list := strings.Join(patterns, ", ")
	return fmt.Appendf(nil, `provider_installation {
  network_mirror {
    url     = "https://%s/providers/"
    include = [%s]
  }
  direct {
    exclude = [%s]
  }
}
%s`, base, list, list, &registries)
}

// certificateDirs returns the directories of trusted certificates with one more.
func certificateDirs(more string) string {
	existing := os.Getenv("SSL_CERT_DIR")
	if existing == "" {
		existing = "/etc/ssl/certs:/etc/pki/tls/certs"
	}
	return more + ":" + existing
}

// handler passes requests below the word to a path of the mirror.
func (m *Mirror) handler(mirror http.Handler, word, path string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		first, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		if r.Method != http.MethodGet || subtle.ConstantTimeCompare([]byte(first), []byte(word)) != 1 {
			http.NotFound(w, r)
			return
		}
		r = r.Clone(r.Context())
		r.URL.Path, r.URL.RawPath = path+rest, ""
		a := &answer{to: w}
		mirror.ServeHTTP(a, r)
		if a.status != http.StatusOK && r.Context().Err() == nil {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.refusal = a.message()
		}
	})
}

// loopbackCertificate returns a certificate for 127.0.0.1 that can sign no other, and its PEM form.
func loopbackCertificate() (tls.Certificate, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "coder provisioner"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}
