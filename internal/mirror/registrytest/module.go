package registrytest

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"net/url"
	"testing"

	"github.com/seed-2a7f8fe7/coder/internal/rule/providermirror"
	"github.com/seed-2a7f8fe7/coder/internal/testtar"
)

// AddModule publishes a version of a module with a source. If at is an address, a gzipped tar of the files is there.
func (r *Registry) AddModule(t testing.TB, target providermirror.Target, source, at string, files map[string]string) {
	t.Helper()
	archive := compressed(t, testtar.Of(t, files))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.modules[target] = source
	if at != "" {
		u, err := url.Parse(at)
		if err != nil {
			t.Fatal(err)
		}
		r.files[u.Host+u.Path] = archive
	}
}

// compressed returns data as a gzip file.
func compressed(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	g := gzip.NewWriter(&b)
	_, err := g.Write(data)
	if err == nil {
		err = g.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// serveModule serves the versions of a module, or the source of a version.
func (r *Registry) serveModule(w http.ResponseWriter, req *http.Request, parts []string) {
	p := providermirror.Module(req.Host, parts[0], parts[1], parts[2])
	r.mu.Lock()
	var versions []providermirror.ModuleVersion
	source := ""
	for t, s := range r.modules {
		if t.Address != p {
			continue
		}
		versions = append(versions, providermirror.ModuleVersion{Version: t.Version})
		if t.Version == parts[3] {
			source = s
		}
	}
	r.mu.Unlock()
	switch {
	case len(parts) == 4 && parts[3] == "versions" && len(versions) > 0:
		writeJSON(w, providermirror.ModuleVersions{Modules: []providermirror.ModuleList{{Versions: versions}}})
	case len(parts) == 5 && parts[4] == "download" && source != "":
		w.Header().Set(providermirror.LocationHeader, source)
		w.WriteHeader(http.StatusNoContent)
	default:
		http.NotFound(w, req)
	}
}
