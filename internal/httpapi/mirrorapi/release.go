package mirrorapi

import (
	"encoding/json"
	"net/http"

	"github.com/seed-2a7f8fe7/coder/internal/rule/providermirror"
)

// getRelease serves one file of a release of a program.
func (a *API) getRelease(w http.ResponseWriter, r *http.Request) error {
	version, name := r.PathValue("version"), r.PathValue("file")
	p, err := providermirror.ParseProgram(r.PathValue("program"))
	if err != nil {
		return err
	}
	index := name == "index.json" && p == providermirror.Terraform()
	sums := p.ChecksumsName(version)
	if !index && name != sums && name != p.SignatureName(version) {
		t, err := p.ParseName(version, name)
		if err != nil {
			return err
		}
		return a.send(w, r, t)
	}
	release, err := a.Mirror.Release(r.Context(), p, version)
	if err != nil {
		return err
	}
	kind, body := "application/octet-stream", release.Signature
	switch {
	case name == sums:
		kind, body = "text/plain; charset=utf-8", release.Checksums
	case index:
		kind = "application/json" // without a charset, which the installer of HashiCorp refuses
		if body, err = json.Marshal(release.Index(version)); err != nil {
			return err
		}
	}
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(http.StatusOK)
	w.Write(body) //nolint:errcheck // the client went away
	return nil
}
