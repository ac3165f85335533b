package mirrorapi_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/mirrorapi"
	"github.com/seed-2a7f8fe7/coder/internal/rule/ociregistry"
	"github.com/seed-2a7f8fe7/coder/internal/rule/providermirror"
	"github.com/seed-2a7f8fe7/coder/internal/testtar"
)

// token is the session token that the server of oci accepts next to key.
const token = "session-token"

// oci starts a server with the OCI distribution protocol.
func (h *house) oci(t *testing.T) *httptest.Server {
	t.Helper()
	api := mirrorapi.API{Mirror: h.mirror, Authenticate: func(r *http.Request) error {
		if r.Header.Get("Coder-Provisioner-Daemon-Key") == key {
			return nil
		}
		if got, _ := codersdk.TokenOf(r); got != token {
			return codersdk.Errorf(codersdk.CodeUnauthenticated, "Wrong token")
		}
		return nil
	}}
	log := slog.New(slog.DiscardHandler)
	server := httptest.NewTLSServer(httpapi.New(httpapi.Config{Mounts: mirrorapi.NewOCI(&api, log).Mounts(), Log: log}).Handler())
	t.Cleanup(server.Close)
	return server
}

// store publishes a provider and stores its archive.
func (h *house) store(t *testing.T, name, version string) providermirror.Target {
	t.Helper()
	target := h.publish(t, name, version)
	if _, err := h.mirror.Pull(t.Context(), access.System(), providermirror.PullRequest{Target: target}); err != nil {
		t.Fatal(err)
	}
	return target
}

// damage changes a byte of every stored archive.
func (h *house) damage(t *testing.T) {
	t.Helper()
	if _, err := h.mirror.Store.Pool().Exec(t.Context(), "UPDATE mirror_chunks SET data = set_byte(data, 7, get_byte(data, 7) # 1) WHERE number = 0"); err != nil {
		t.Fatal(err)
	}
}

// registryClient requests a registry.
type registryClient struct {
	*httptest.Server
	password string
}

// send returns the response, its body, and the code of the error in it.
func (c registryClient) send(t *testing.T, method, path string) (*http.Response, []byte, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, c.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.password != "" {
		req.SetBasicAuth("any", c.password)
	}
	resp, err := c.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var failure struct {
		Errors []struct{ Code, Message string }
	}
	if json.Unmarshal(body, &failure) != nil || len(failure.Errors) != 1 || failure.Errors[0].Message == "" {
		return resp, body, ""
	}
	return resp, body, failure.Errors[0].Code
}

const acme = "/v2/" + providermirror.TerraformRegistry + "/acme"

func TestRegistryDocuments(t *testing.T) {
	h := newHouse(t)
	for _, version := range []string{"1.0.0", "1.1.0+build.1", "1.2.0-rc.1"} {
		h.store(t, "one", version)
	}
	h.registry.SetDown(true)
	requests := h.registry.Requests.Load()
	c := registryClient{h.oci(t), key}

	if resp, body, _ := c.send(t, "GET", "/v2/"); resp.StatusCode != 200 || string(bytes.TrimSpace(body)) != "{}" ||
		resp.Header.Get("Docker-Distribution-Api-Version") != "registry/2.0" {
		t.Errorf("/v2/: %d %s %v", resp.StatusCode, body, resp.Header)
	}
	var list ociregistry.TagList
	var tags []string
	for path := acme + "/one/tags/list?n=2"; path != ""; {
		resp, body, _ := c.send(t, "GET", path)
		if err := json.Unmarshal(body, &list); err != nil || resp.StatusCode != 200 || len(list.Tags) == 0 || list.Name != strings.TrimPrefix(acme, "/v2/")+"/one" {
			t.Fatalf("%s: %d %s", path, resp.StatusCode, body)
		}
		tags = append(tags, list.Tags...)
		path, _, _ = strings.Cut(strings.TrimPrefix(resp.Header.Get("Link"), "<"), ">")
	}
	if !slices.Equal(tags, []string{"1.0.0", "1.1.0_build.1", "1.2.0-rc.1"}) {
		t.Errorf("tags %q", tags)
	}

	var index ociregistry.Index
	c.document(t, acme+"/one/manifests/1.1.0_build.1", ociregistry.IndexType, &index)
	var manifest ociregistry.Manifest
	c.document(t, acme+"/one/manifests/"+index.Manifests[0].Digest, ociregistry.ManifestType, &manifest)
	c.document(t, acme+"/one/blobs/"+manifest.Config.Digest, "application/octet-stream", &struct{}{})
	if n := c.blob(t, acme+"/one/blobs/"+manifest.Layers[0].Digest); int64(n) != manifest.Layers[0].Size {
		t.Errorf("the archive has %d bytes instead of %d", n, manifest.Layers[0].Size)
	}
	if h.registry.Requests.Load() != requests {
		t.Error("the registry was asked")
	}
}

// document reads a document twice, the second time by HEAD.
func (c registryClient) document(t *testing.T, path, mediaType string, out any) {
	t.Helper()
	resp, body, _ := c.send(t, "GET", path)
	if err := json.Unmarshal(body, out); err != nil || resp.StatusCode != 200 || resp.Header.Get("Content-Type") != mediaType ||
		resp.Header.Get("Docker-Content-Digest") != ociregistry.DigestOf(body) {
		t.Fatalf("GET %s: %d %s %v", path, resp.StatusCode, body, resp.Header)
	}
	head, nothing, _ := c.send(t, "HEAD", path)
	if head.StatusCode != 200 || len(nothing) != 0 || head.ContentLength != int64(len(body)) {
		t.Errorf("HEAD %s: %d, %d bytes, %v", path, head.StatusCode, len(nothing), head.Header)
	}
	for _, name := range []string{"Content-Type", "Docker-Content-Digest"} {
		if head.Header.Get(name) != resp.Header.Get(name) {
			t.Errorf("HEAD %s: %s is %s", path, name, head.Header.Get(name))
		}
	}
}

// blob reads an archive and returns its size.
func (c registryClient) blob(t *testing.T, path string) int {
	t.Helper()
	resp, body, _ := c.send(t, "GET", path)
	if resp.StatusCode != 200 || !strings.HasSuffix(path, "/"+ociregistry.DigestOf(body)) || resp.Header.Get("Docker-Content-Digest") != ociregistry.DigestOf(body) {
		t.Fatalf("GET %s: %d %v, %d bytes", path, resp.StatusCode, resp.Header, len(body))
	}
	if head, nothing, _ := c.send(t, "HEAD", path); head.StatusCode != 200 || len(nothing) != 0 || head.ContentLength != int64(len(body)) {
		t.Errorf("HEAD %s: %d %v", path, head.StatusCode, head.Header)
	}
	return len(body)
}

func TestRegistryErrors(t *testing.T) {
	h := newHouse(t)
	h.store(t, "one", "1.0.0")
	h.publish(t, "two", "1.0.0") // which the registry has, but not the mirror
	other := ociregistry.DigestOf([]byte("other"))
	server := h.oci(t)
	for _, c := range []struct {
		method, path, password string
		status                 int
		code                   string
	}{
		{"GET", "/v2/", "", 401, "UNAUTHORIZED"},
		{"GET", "/v2/", "wrong", 401, "UNAUTHORIZED"},
		{"GET", "/v2/?coder_session_token=" + token, "wrong", 401, "UNAUTHORIZED"},
		{"GET", acme + "/one/tags/list", "", 401, "UNAUTHORIZED"},
		{"GET", acme + "/one/manifests/1.0.0", "wrong", 401, "UNAUTHORIZED"},
		{"GET", acme + "/one/blobs/" + other, "wrong", 401, "UNAUTHORIZED"},
		{"GET", "/v2/nothing", "", 401, "UNAUTHORIZED"},
		{"POST", acme + "/one/blobs/uploads/", "", 401, "UNAUTHORIZED"},
		{"GET", "/v2/", token, 200, ""},
		{"GET", acme + "/one/tags/list", token, 200, ""},
		{"GET", acme + "/two/tags/list", key, 404, "NAME_UNKNOWN"},
		{"GET", acme + "/two/manifests/1.0.0", key, 404, "NAME_UNKNOWN"},
		{"GET", acme + "/one/any/tags/list", key, 404, "NAME_UNKNOWN"},
		{"GET", "/v2/library/alpine/tags/list", key, 404, "NAME_UNKNOWN"},
		{"GET", "/v2/registry.terraform.io:443/acme/one/tags/list", key, 404, "NAME_UNKNOWN"},
		{"GET", "/v2/releases.hashicorp.com/hashicorp/terraform/tags/list", key, 404, "NAME_UNKNOWN"},
		{"GET", "/v2/_catalog", key, 404, "NAME_UNKNOWN"},
		{"GET", acme + "/one", key, 404, "NAME_UNKNOWN"},
		{"GET", acme + "/one/tags/list?n=-1", key, 400, "PAGINATION_NUMBER_INVALID"},
		{"GET", acme + "/one/tags/list?n=x", key, 400, "PAGINATION_NUMBER_INVALID"},
		{"GET", acme + "/one/manifests/1.0.1", key, 404, "MANIFEST_UNKNOWN"},
		{"GET", acme + "/one/manifests/" + other, key, 404, "MANIFEST_UNKNOWN"},
		{"GET", acme + "/one/blobs/" + other, key, 404, "BLOB_UNKNOWN"},
		{"GET", acme + "/one/blobs/sha512:00", key, 400, "DIGEST_INVALID"},
		{"PUT", acme + "/one/manifests/1.0.0", key, 405, "UNSUPPORTED"},
		{"DELETE", acme + "/one/manifests/1.0.0", key, 405, "UNSUPPORTED"},
		{"POST", acme + "/one/blobs/uploads/", key, 405, "UNSUPPORTED"},
	} {
		resp, body, code := registryClient{server, c.password}.send(t, c.method, c.path)
		if resp.StatusCode != c.status || code != c.code {
			t.Errorf("%s %s with %q: %d %s", c.method, c.path, c.password, resp.StatusCode, body)
		}
		if got := resp.Header.Get("WWW-Authenticate"); (got == `Basic realm="coder"`) != (c.status == 401) {
			t.Errorf("%s %s with %q: WWW-Authenticate %q", c.method, c.path, c.password, got)
		}
		if kind := resp.Header.Get("Content-Type"); !strings.HasPrefix(kind, "application/json") {
			t.Errorf("%s %s: %s", c.method, c.path, kind)
		}
	}
	if n := h.registry.Archives.Load(); n != 1 {
		t.Errorf("the server downloaded %d archives", n)
	}
}

func TestRegistryRefusesDamagedArchives(t *testing.T) {
	h := newHouse(t)
	h.store(t, "one", "1.0.0")
	c := registryClient{h.oci(t), key}
	var index ociregistry.Index
	c.document(t, acme+"/one/manifests/1.0.0", ociregistry.IndexType, &index)
	var manifest ociregistry.Manifest
	c.document(t, acme+"/one/manifests/"+index.Manifests[0].Digest, ociregistry.ManifestType, &manifest)
	h.damage(t)
	resp, body, code := c.send(t, "GET", acme+"/one/blobs/"+manifest.Layers[0].Digest)
	if resp.StatusCode != http.StatusPreconditionFailed || code != "UNKNOWN" || !strings.Contains(string(body), "is refused: the SHA-256 of the stored archive is") {
		t.Errorf("got %d %s", resp.StatusCode, body)
	}
}

func TestRegistryLimitsWrongPasswords(t *testing.T) {
	h := newHouse(t)
	server := h.oci(t)
	for range 600 {
		resp, _, code := registryClient{server, "wrong"}.send(t, "GET", "/v2/")
		if resp.StatusCode == http.StatusUnauthorized {
			continue
		}
		if resp.StatusCode != http.StatusTooManyRequests || code != "TOOMANYREQUESTS" || resp.Header.Get("Retry-After") == "" {
			t.Errorf("got %d %s %v", resp.StatusCode, code, resp.Header)
		}
		if resp, _, _ := (registryClient{server, key}).send(t, "GET", "/v2/"); resp.StatusCode != http.StatusOK {
			t.Errorf("the right password: %d", resp.StatusCode)
		}
		return
	}
	t.Error("wrong passwords are not limited")
}

func TestRegistryHasModules(t *testing.T) {
	h := newHouse(t)
	home := providermirror.Module("coder.example.com", "platform", "home", "docker")
	files := testtar.Of(t, map[string]string{"main.tf": "output \"text\" {\n  value = \"published\"\n}\n"})
	if _, err := h.mirror.Publish(t.Context(), access.System(), home, "1.0.0", bytes.NewReader(files)); err != nil {
		t.Fatal(err)
	}
	c := registryClient{h.oci(t), key}
	var manifest ociregistry.Manifest
	c.document(t, "/v2/coder.example.com/platform/home/docker/manifests/1.0.0", ociregistry.ManifestType, &manifest)
	if manifest.ArtifactType != "application/vnd.opentofu.modulepkg" {
		t.Errorf("got %+v", manifest)
	}
	c.blob(t, "/v2/coder.example.com/platform/home/docker/blobs/"+manifest.Layers[0].Digest)
}
