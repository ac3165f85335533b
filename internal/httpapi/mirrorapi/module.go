package mirrorapi

import (
	"net/http"
	"slices"
	"strings"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
	"github.com/seed-2a7f8fe7/coder/internal/rule/providermirror"
)

// ModulePath is the path of the versions of a module below /api/v2, ModuleFilePath that of the files of a version.
const (
	ModulePath     = Path + "/modules/{hostname}/{namespace}/{name}/{system}/versions"
	ModuleFilePath = Path + "/modules/{hostname}/{namespace}/{name}/{system}/{version}/{file}"
)

// ModuleVersionPath is the path of a version of a module below /api/v2, which can be published and removed.
const ModuleVersionPath = Path + "/modules/{hostname}/{namespace}/{name}/{system}/{version}"

// maxModule bounds the tar of a module, in bytes.
const maxModule = 100 << 20

// moduleArchive is the file with the module, relative to the document that names it.
const moduleArchive = "archive.zip"

// module returns the address of a module, which the use cases check.
func module(r *http.Request) providermirror.Address {
	return providermirror.Module(r.PathValue("hostname"), r.PathValue("namespace"), r.PathValue("name"), r.PathValue("system"))
}

func (a *API) getModule(w http.ResponseWriter, r *http.Request) error {
	p := module(r)
	if err := p.Check(); err != nil {
		return err
	}
	known, err := a.Mirror.Versions(r.Context(), p)
	if err != nil {
		return err
	}
	list := []providermirror.ModuleVersion{}
	for v := range known.Versions {
		list = append(list, providermirror.ModuleVersion{Version: v})
	}
	slices.SortFunc(list, func(a, b providermirror.ModuleVersion) int { return strings.Compare(a.Version, b.Version) })
	return rest.Reply(w, http.StatusOK, providermirror.ModuleVersions{Modules: []providermirror.ModuleList{{Versions: list}}})
}

// getModuleFile serves where a version of a module is, or its archive.
func (a *API) getModuleFile(w http.ResponseWriter, r *http.Request) error {
	version := r.PathValue("version")
	switch r.PathValue("file") {
	case moduleArchive:
		return a.send(w, r, providermirror.Target{Address: module(r), Version: version})
	case "download":
		source, err := a.Mirror.Locate(r.Context(), module(r), version)
		if err != nil {
			return err
		}
		if source == "" {
			source = "./" + moduleArchive
		}
		w.Header().Set(providermirror.LocationHeader, source)
		return rest.Reply(w, http.StatusOK, providermirror.ModuleLocation{Location: source})
	}
	return codersdk.Errorf(codersdk.CodeNotFound, "A version of a module has the files download and %s", moduleArchive)
}

func (a *API) publishModule(w http.ResponseWriter, r *http.Request) error {
	out, err := a.Mirror.Publish(r.Context(), rest.Actor(r), module(r), r.PathValue("version"), r.Body)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusCreated, out)
}

func (a *API) removeModule(w http.ResponseWriter, r *http.Request) error {
	if err := a.Mirror.Remove(r.Context(), rest.Actor(r), module(r), r.PathValue("version")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
