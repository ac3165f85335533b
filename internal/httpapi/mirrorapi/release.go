package mirrorapi

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/seed-2a7f8fe7/coder/internal/rule/providermirror"
	"github.com/seed-2a7f8fe7/coder/internal/terraform/registry"
)

// getRelease serves one file of a release of Terraform.
func (a *API) getRelease(w http.ResponseWriter, r *http.Request) error {
	version, name := r.PathValue("version"), r.PathValue("file")
	sums := providermirror.ChecksumsName(version)
	switch name {
	case "index.json", sums, sums + providermirror.SignatureSuffix:
	default:
		t, err := providermirror.ParseReleaseName(version, name)
		if err != nil {
			return err
		}
		return a.send(w, r, t)
	}
	release, err := a.Mirror.Release(r.Context(), version)
	if err != nil {
		return err
	}
	kind, body := "application/octet-stream", release.Signature
	switch name {
	case sums:
		kind, body = "text/plain; charset=utf-8", release.Checksums
	case "index.json":
		kind = "application/json" // without a charset, which the installer of HashiCorp refuses
		if body, err = json.Marshal(index(version, release)); err != nil {
			return err
		}
	}
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(http.StatusOK)
	w.Write(body) //nolint:errcheck // the client went away
	return nil
}

// index lists the archives that the checksums of a release name.
func index(version string, release registry.Release) providermirror.ReleaseIndex {
	sums := providermirror.ChecksumsName(version)
	out := providermirror.ReleaseIndex{
		Name: "terraform", Version: version, Checksums: sums, Signature: sums + providermirror.SignatureSuffix,
		Signatures: []string{sums + providermirror.SignatureSuffix}, Builds: []providermirror.ReleaseBuild{},
	}
	for name := range registry.ParseChecksums(release.Checksums) {
		if t, err := providermirror.ParseReleaseName(version, name); err == nil {
			out.Builds = append(out.Builds, providermirror.ReleaseBuild{
				Name: "terraform", Version: version, OS: t.OS, Arch: t.Arch, Filename: name, URL: "https://" + providermirror.Releases + "/terraform/" + version + "/" + name,
			})
		}
	}
	slices.SortFunc(out.Builds, func(a, b providermirror.ReleaseBuild) int { return strings.Compare(a.Filename, b.Filename) })
	return out
}
