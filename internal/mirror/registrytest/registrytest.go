// Package registrytest runs a Terraform registry of providers and modules, and a site with releases of Terraform, for tests.
package registrytest

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"

	"github.com/seed-2a7f8fe7/coder/internal/rule/providermirror"
	"github.com/seed-2a7f8fe7/coder/internal/testtar"
)

// Registry is a registry that answers for every hostname.
type Registry struct {
	server *httptest.Server
	signer *openpgp.Entity

	// Requests counts all requests. Archives counts the requests for archives.
	Requests, Archives atomic.Int64

	mu       sync.Mutex
	archives map[providermirror.Target][]byte
	modules  map[providermirror.Target]string // sources
	files    map[string][]byte                // by host and path
	// poisoned has data that replaces archives, but not their checksums.
	poisoned     map[providermirror.Target][]byte
	forgedSigner *openpgp.Entity
	down         bool
	release      chan struct{} // if set, responses with archives pause in the middle until it is closed
	paused       chan struct{} // receives when a response has paused
}

// New starts a registry. The test's cleanup stops it.
func New(t testing.TB) *Registry {
	t.Helper()
	r := &Registry{
		signer: newSigningKey(t), archives: map[providermirror.Target][]byte{}, poisoned: map[providermirror.Target][]byte{},
		modules: map[providermirror.Target]string{}, files: map[string][]byte{}, paused: make(chan struct{}, 16),
	}
	r.server = httptest.NewTLSServer(r)
	t.Cleanup(r.server.Close)
	return r
}

func newSigningKey(t testing.TB) *openpgp.Entity {
	t.Helper()
	e, err := openpgp.NewEntity("acme", "", "acme@example.com", &packet.Config{Algorithm: packet.PubKeyAlgoEdDSA})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// Address returns the host and port at which the registry listens.
func (r *Registry) Address() string { return r.server.Listener.Addr().String() }

// Transport returns a transport that connects to the registry for every hostname.
func (r *Registry) Transport() http.RoundTripper {
	c := r.server.Client().Transport.(*http.Transport).TLSClientConfig.Clone() //nolint:errcheck // httptest uses this type
	c.ServerName = "example.com"
	return newTransport(r.Address(), c)
}

// Untrusted returns a transport that connects to the registry at an address and does
// not verify its certificate. It is for processes that do not have the certificate.
func Untrusted(address string) http.RoundTripper {
	return newTransport(address, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // a test on the loopback address
}

func newTransport(address string, c *tls.Config) http.RoundTripper {
	return &http.Transport{TLSClientConfig: c, DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", address)
	}}
}

// Add publishes an archive and returns it. The archive contains program as the
// provider's executable, and a file with size random bytes.
func (r *Registry) Add(t testing.TB, target providermirror.Target, program string, size int) []byte {
	t.Helper()
	if target.Address == providermirror.OpenTofu().Address {
		return r.add(target, compressed(t, testtar.Of(t, map[string]string{"tofu": program})))
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	h := &zip.FileHeader{Name: "terraform-provider-" + target.Type + "_v" + target.Version, Method: zip.Deflate}
	if target.Kind() == providermirror.KindProgram {
		h.Name = "terraform"
	}
	h.SetMode(0o755)
	w, err := z.CreateHeader(h)
	if err == nil {
		_, err = w.Write([]byte(program))
	}
	if err != nil {
		t.Fatal(err)
	}
	if size > 0 {
		data := make([]byte, size)
		rand.Read(data) //nolint:errcheck // it never fails
		if w, err = z.CreateHeader(&zip.FileHeader{Name: "data", Method: zip.Store}); err == nil {
			_, err = w.Write(data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return r.add(target, b.Bytes())
}

func (r *Registry) add(target providermirror.Target, archive []byte) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.archives[target] = archive
	return archive
}

// Poison makes the registry send data instead of an archive. The checksum remains
// that of the archive.
func (r *Registry) Poison(target providermirror.Target, data []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.poisoned[target] = data
}

// Forge makes the registry sign with a key that it does not publish.
func (r *Registry) Forge(t testing.TB) {
	e := newSigningKey(t)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forgedSigner = e
}

// SetDown makes the registry abort all requests, or serve them again if down is
// false.
func (r *Registry) SetDown(down bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.down = down
}

// Hold pauses responses with archives in the middle. The channel receives when a
// response has paused. resume lets all responses continue.
func (r *Registry) Hold() (paused <-chan struct{}, resume func()) {
	release := make(chan struct{})
	r.mu.Lock()
	defer r.mu.Unlock()
	r.release = release
	return r.paused, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.release = nil
		close(release)
	}
}

// ServeHTTP implements http.Handler.
func (r *Registry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.Requests.Add(1)
	r.mu.Lock()
	down, release, file := r.down, r.release, r.files[req.Host+req.URL.Path]
	r.mu.Unlock()
	if down {
		panic(http.ErrAbortHandler)
	}
	path := strings.Trim(req.URL.Path, "/")
	parts := strings.Split(path, "/")
	switch {
	case file != nil:
		r.Archives.Add(1)
		w.Write(file) //nolint:errcheck // the client notices
	case path == ".well-known/terraform.json":
		writeJSON(w, map[string]string{"providers.v1": "/v1/providers/", "modules.v1": "/v1/modules/"})
	case strings.HasPrefix(path, "v1/modules/") && len(parts) > 5:
		r.serveModule(w, req, parts[2:])
	case len(parts) == 5 && parts[4] == "versions":
		r.serveVersions(w, req, providermirror.Address{Hostname: req.Host, Namespace: parts[2], Type: parts[3]})
	case len(parts) == 8 && parts[5] == "download":
		r.serveDownload(w, req, providermirror.Target{
			Address: providermirror.Address{Hostname: req.Host, Namespace: parts[2], Type: parts[3]},
			Version: parts[4], Platform: providermirror.Platform{OS: parts[6], Arch: parts[7]},
		})
	case len(parts) == 6 && parts[0] == "files":
		r.serveFile(w, req, parts, release)
	case len(parts) == 3 && parts[0] == "terraform":
		r.serveRelease(w, req, providermirror.Terraform(), parts[1], parts[2], release)
	case len(parts) == 6 && strings.HasPrefix(path, "opentofu/opentofu/releases/download/v"):
		r.serveRelease(w, req, providermirror.OpenTofu(), parts[4][1:], parts[5], release)
	default:
		http.NotFound(w, req)
	}
}

// serveRelease serves a file of a release of a program.
func (r *Registry) serveRelease(w http.ResponseWriter, req *http.Request, p providermirror.Program, version, name string, release chan struct{}) {
	switch name {
	case p.ChecksumsName(version):
		name = "SHA256SUMS"
	case p.SignatureName(version):
		name = "SHA256SUMS.sig"
	}
	r.serveFile(w, req, []string{"files", p.Hostname, p.Namespace, p.Type, version, name}, release)
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(v) //nolint:errcheck // the client notices
}

func (r *Registry) serveVersions(w http.ResponseWriter, req *http.Request, p providermirror.Address) {
	type version struct {
		Version   string                    `json:"version"`
		Protocols []string                  `json:"protocols"`
		Platforms []providermirror.Platform `json:"platforms"`
	}
	list := map[string]*version{}
	r.mu.Lock()
	for t := range r.archives {
		if t.Address != p {
			continue
		}
		if list[t.Version] == nil {
			list[t.Version] = &version{Version: t.Version, Protocols: []string{"5.0"}}
		}
		list[t.Version].Platforms = append(list[t.Version].Platforms, t.Platform)
	}
	r.mu.Unlock()
	if len(list) == 0 {
		http.NotFound(w, req)
		return
	}
	var out []*version
	for _, v := range list {
		out = append(out, v)
	}
	writeJSON(w, map[string]any{"versions": out})
}

func (r *Registry) serveDownload(w http.ResponseWriter, req *http.Request, t providermirror.Target) {
	r.mu.Lock()
	data, ok := r.archives[t]
	r.mu.Unlock()
	if !ok {
		http.NotFound(w, req)
		return
	}
	key, err := r.Key()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	sum := sha256.Sum256(data)
	base := fmt.Sprintf("/files/%s/%s/%s/%s/", t.Hostname, t.Namespace, t.Type, t.Version)
	writeJSON(w, map[string]any{
		"protocols": []string{"5.0"}, "os": t.OS, "arch": t.Arch, "filename": t.Filename(), "download_url": base + t.Filename(),
		"shasums_url": base + "SHA256SUMS", "shasums_signature_url": base + "SHA256SUMS.sig", "shasum": hex.EncodeToString(sum[:]),
		"signing_keys": map[string]any{"gpg_public_keys": []any{map[string]string{"ascii_armor": key}}},
	})
}

// Key returns the armored key with which the registry signs.
func (r *Registry) Key() (string, error) {
	var key bytes.Buffer
	a, err := armor.Encode(&key, openpgp.PublicKeyType, nil)
	if err == nil {
		err = r.signer.Serialize(a)
	}
	if err == nil {
		err = a.Close()
	}
	return key.String(), err
}

// serveFile serves an archive, the checksums of a version, or their signature.
func (r *Registry) serveFile(w http.ResponseWriter, req *http.Request, parts []string, release chan struct{}) {
	p := providermirror.Address{Hostname: parts[1], Namespace: parts[2], Type: parts[3]}
	r.mu.Lock()
	var sums strings.Builder
	var data []byte
	for t, content := range r.archives {
		if t.Address != p || t.Version != parts[4] {
			continue
		}
		sum := sha256.Sum256(content)
		fmt.Fprintf(&sums, "%x  %s\n", sum, t.Filename())
		if t.Filename() == parts[5] {
			if data = content; r.poisoned[t] != nil {
				data = r.poisoned[t]
			}
		}
	}
	signer := r.signer
	if r.forgedSigner != nil {
		signer = r.forgedSigner
	}
	r.mu.Unlock()
	switch parts[5] {
	case "SHA256SUMS":
		fmt.Fprint(w, sums.String())
	case "SHA256SUMS.sig":
		if err := openpgp.DetachSign(w, signer, strings.NewReader(sums.String()), nil); err != nil {
			panic(http.ErrAbortHandler)
		}
	default:
		if data == nil {
			http.NotFound(w, req)
			return
		}
		r.Archives.Add(1)
		if release != nil {
			w.Write(data[:len(data)/2])           //nolint:errcheck // the client notices
			http.NewResponseController(w).Flush() //nolint:errcheck // the client notices
			data = data[len(data)/2:]
			r.paused <- struct{}{}
			select {
			case <-release:
			case <-req.Context().Done():
				return
			}
		}
		w.Write(data) //nolint:errcheck // the client notices
	}
}
