// Package registrytest is a registry of providers for tests.
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
)

// Registry is a registry that answers for every hostname.
type Registry struct {
	server *httptest.Server
	signer *openpgp.Entity

	// Requests counts the requests, and Archives those of archives.
	Requests, Archives atomic.Int64

	mu       sync.Mutex
	archives map[providermirror.Target][]byte
	// Served replaces an archive after its checksum was computed; Signer replaces the key that signs.
	served map[providermirror.Target][]byte
	forged *openpgp.Entity
	down   bool
	gate   chan struct{} // answers to requests of archives stop in the middle until it is closed
	middle chan struct{} // receives when an answer has stopped
}

// New starts a registry.
func New(t testing.TB) *Registry {
	t.Helper()
	r := &Registry{
		signer: entity(t), archives: map[providermirror.Target][]byte{}, served: map[providermirror.Target][]byte{}, middle: make(chan struct{}, 16),
	}
	r.server = httptest.NewTLSServer(r)
	t.Cleanup(r.server.Close)
	return r
}

func entity(t testing.TB) *openpgp.Entity {
	t.Helper()
	e, err := openpgp.NewEntity("acme", "", "acme@example.com", &packet.Config{Algorithm: packet.PubKeyAlgoEdDSA})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// Address returns the address at which the registry listens.
func (r *Registry) Address() string { return r.server.Listener.Addr().String() }

// Transport connects to the registry, whatever the hostname.
func (r *Registry) Transport() http.RoundTripper {
	c := r.server.Client().Transport.(*http.Transport).TLSClientConfig.Clone() //nolint:errcheck // it is one
	c.ServerName = "example.com"
	return transport(r.Address(), c)
}

// Untrusted connects to the registry at an address, for processes that do not have its certificate.
func Untrusted(address string) http.RoundTripper {
	return transport(address, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // a test on the loopback address
}

func transport(address string, c *tls.Config) http.RoundTripper {
	return &http.Transport{TLSClientConfig: c, DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", address)
	}}
}

// Add publishes an archive with a file and size bytes of random data.
func (r *Registry) Add(t testing.TB, target providermirror.Target, program string, size int) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	h := &zip.FileHeader{Name: "terraform-provider-" + target.Type + "_v" + target.Version, Method: zip.Deflate}
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
	r.mu.Lock()
	defer r.mu.Unlock()
	r.archives[target] = b.Bytes()
	return b.Bytes()
}

// Poison sends other bytes than those of the checksum.
func (r *Registry) Poison(target providermirror.Target, data []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.served[target] = data
}

// Forge signs with a key that the registry does not name.
func (r *Registry) Forge(t testing.TB) {
	e := entity(t)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forged = e
}

// SetDown closes the connections of requests from now on.
func (r *Registry) SetDown(down bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.down = down
}

// Hold stops answers of archives in the middle. Middle receives when one has stopped; release lets them
// continue.
func (r *Registry) Hold() (middle <-chan struct{}, release func()) {
	gate := make(chan struct{})
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gate = gate
	return r.middle, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.gate = nil
		close(gate)
	}
}

// ServeHTTP answers a request.
func (r *Registry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.Requests.Add(1)
	r.mu.Lock()
	down, gate := r.down, r.gate
	r.mu.Unlock()
	if down {
		panic(http.ErrAbortHandler)
	}
	path := strings.Trim(req.URL.Path, "/")
	parts := strings.Split(path, "/")
	switch {
	case path == ".well-known/terraform.json":
		reply(w, map[string]string{"providers.v1": "/v1/providers/"})
	case len(parts) == 5 && parts[4] == "versions":
		r.versions(w, req, providermirror.Provider{Hostname: req.Host, Namespace: parts[2], Type: parts[3]})
	case len(parts) == 8 && parts[5] == "download":
		r.describe(w, req, providermirror.Target{
			Provider: providermirror.Provider{Hostname: req.Host, Namespace: parts[2], Type: parts[3]},
			Version:  parts[4], Platform: providermirror.Platform{OS: parts[6], Arch: parts[7]},
		})
	case len(parts) == 6 && parts[0] == "files":
		r.file(w, req, parts, gate)
	default:
		http.NotFound(w, req)
	}
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(v) //nolint:errcheck // the client notices
}

func (r *Registry) versions(w http.ResponseWriter, req *http.Request, p providermirror.Provider) {
	type version struct {
		Version   string                    `json:"version"`
		Protocols []string                  `json:"protocols"`
		Platforms []providermirror.Platform `json:"platforms"`
	}
	list := map[string]*version{}
	r.mu.Lock()
	for t := range r.archives {
		if t.Provider != p {
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
	reply(w, map[string]any{"versions": out})
}

func (r *Registry) describe(w http.ResponseWriter, req *http.Request, t providermirror.Target) {
	r.mu.Lock()
	data, ok := r.archives[t]
	r.mu.Unlock()
	if !ok {
		http.NotFound(w, req)
		return
	}
	var key bytes.Buffer
	a, err := armor.Encode(&key, openpgp.PublicKeyType, nil)
	if err == nil {
		err = r.signer.Serialize(a)
	}
	if err == nil {
		err = a.Close()
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	sum := sha256.Sum256(data)
	base := fmt.Sprintf("/files/%s/%s/%s/%s/", t.Hostname, t.Namespace, t.Type, t.Version)
	reply(w, map[string]any{
		"protocols": []string{"5.0"}, "os": t.OS, "arch": t.Arch, "filename": t.Filename(), "download_url": base + t.Filename(),
		"shasums_url": base + "SHA256SUMS", "shasums_signature_url": base + "SHA256SUMS.sig", "shasum": hex.EncodeToString(sum[:]),
		"signing_keys": map[string]any{"gpg_public_keys": []any{map[string]string{"ascii_armor": key.String()}}},
	})
}

// file serves an archive, or the checksums of a version and their signature.
func (r *Registry) file(w http.ResponseWriter, req *http.Request, parts []string, gate chan struct{}) {
	p := providermirror.Provider{Hostname: parts[1], Namespace: parts[2], Type: parts[3]}
	r.mu.Lock()
	var sums strings.Builder
	var data []byte
	for t, content := range r.archives {
		if t.Provider != p || t.Version != parts[4] {
			continue
		}
		sum := sha256.Sum256(content)
		fmt.Fprintf(&sums, "%x  %s\n", sum, t.Filename())
		if t.Filename() == parts[5] {
			if data = content; r.served[t] != nil {
				data = r.served[t]
			}
		}
	}
	signer := r.signer
	if r.forged != nil {
		signer = r.forged
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
		if gate != nil {
			w.Write(data[:len(data)/2])           //nolint:errcheck // the client notices
			http.NewResponseController(w).Flush() //nolint:errcheck // the client notices
			data = data[len(data)/2:]
			r.middle <- struct{}{}
			select {
			case <-gate:
			case <-req.Context().Done():
				return
			}
		}
		w.Write(data) //nolint:errcheck // the client notices
	}
}
