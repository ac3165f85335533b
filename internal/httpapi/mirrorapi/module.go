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

// moduleArchive is the file with the module, relative to the document that names it.
const moduleArchive = "archive.zip"

func module(r *http.Request) (providermirror.Provider, error) {
	p := providermirror.Module(r.PathValue("hostname"), r.PathValue("namespace"), r.PathValue("name"), r.PathValue("system"))
	return p, p.Check()
}

func (a *API) getModule(w http.ResponseWriter, r *http.Request) error {
	p, err := module(r)
	if err != nil {
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
	p, err := module(r)
	if err != nil {
		return err
	}
	version := r.PathValue("version")
	switch r.PathValue("file") {
	case moduleArchive:
		return a.send(w, r, providermirror.Target{Provider: p, Version: version})
	case "download":
		source, err := a.Mirror.Locate(r.Context(), p, version)
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
