// Package mirrorapi serves the provider mirror: the network mirror protocol and the module registry protocol of
// Terraform and OpenTofu, and the endpoints that fill the mirror.
package mirrorapi

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
	"github.com/seed-2a7f8fe7/coder/internal/mirror"
	"github.com/seed-2a7f8fe7/coder/internal/rule/providermirror"
)

// API holds the dependencies of the endpoints.
type API struct {
	Mirror *mirror.Service
	// Authenticate checks the token of a user or the key of a provisioner.
	Authenticate func(*http.Request) error
}

// Path is the path of the mirror below /api/v2, ProviderPath that of the network mirror protocol, and ReleasePath
// that of the programs.
const (
	Path         = "/mirror"
	ProviderPath = Path + "/providers/{hostname}/{namespace}/{type}/{file}"
	ReleasePath  = Path + "/releases/{program}/{version}/{file}"
)

// maxImport bounds the body of an import, in bytes. The size of each archive is bounded by that of the mirror.
const maxImport = 1 << 42

// Routes returns the endpoints.
func (a *API) Routes() []rest.Route {
	const resource, read, update = codersdk.RBACResourceDeploymentConfig, codersdk.RBACActionRead, codersdk.RBACActionUpdate
	return []rest.Route{
		{Method: "GET", Path: Path, Summary: "Describe the provider mirror",
			About: "For users and provisioners.", Auth: rest.AuthSelf, Out: providermirror.Status{}, Handler: a.authenticated(a.getStatus)},
		{Method: "GET", Path: ProviderPath, Summary: "Get a document or an archive of a provider",
			About: "The network mirror protocol of Terraform and OpenTofu, for users and provisioners: index.json, <version>.json and archives.",
			Auth:  rest.AuthSelf, Handler: a.authenticated(a.getProvider)},
		{Method: "GET", Path: ModulePath, Summary: "List the versions of a module",
			About: "The module registry protocol of Terraform and OpenTofu, for users and provisioners.",
			Auth:  rest.AuthSelf, Out: providermirror.ModuleVersions{}, Handler: a.authenticated(a.getModule)},
		{Method: "GET", Path: ModuleFilePath, Summary: "Get the location or the archive of a module",
			About: "The module registry protocol of Terraform and OpenTofu, for users and provisioners: download, and the archive that it names.",
			Auth:  rest.AuthSelf, Handler: a.authenticated(a.getModuleFile)},
		{Method: "POST", Path: ModuleVersionPath, Summary: "Publish a version of a module",
			About:  "The body is a tar of the module's directory. A version is never replaced.",
			Action: update, Resource: resource, Out: providermirror.Package{}, Status: http.StatusCreated, MaxBody: maxModule, Handler: a.publishModule},
		{Method: "DELETE", Path: ModuleVersionPath, Summary: "Remove a version of a module from the mirror",
			Action: update, Resource: resource, Status: http.StatusNoContent, Handler: a.removeModule},
		{Method: "GET", Path: ReleasePath, Summary: "Get a file of a release of Terraform or OpenTofu",
			About: "For users and provisioners: archives, and checksums with their signature, as on the sites of terraform and opentofu; index.json of terraform.",
			Auth:  rest.AuthSelf, Handler: a.authenticated(a.getRelease)},
		{Method: "GET", Path: Path + "/packages", Summary: "List the stored archives",
			Query: rest.Paged(), Action: read, Resource: resource, Out: []providermirror.Package{}, Handler: a.list},
		{Method: "POST", Path: Path + "/packages", Summary: "Fetch an archive from its registry",
			Action: update, Resource: resource, In: providermirror.PullRequest{}, Out: providermirror.Package{}, Handler: a.pull},
		{Method: "GET", Path: Path + "/needs", Summary: "List the archives that the active versions of templates need",
			Query: []rest.Param{
				{Name: "platform", Type: "string", About: "Platform such as linux_amd64; can be repeated. Without it, that of the server."},
				{Name: "registry", Type: "string", About: "Registry of providers without a hostname; without it, registry.terraform.io."},
			},
			Action: read, Resource: resource, Out: []providermirror.Need{}, Handler: a.needs},
		{Method: "GET", Path: Path + "/archive", Summary: "Export all stored archives as a tar",
			Action: read, Resource: resource, Handler: a.export},
		{Method: "POST", Path: Path + "/archive", Summary: "Import the archives of an export",
			About:  "Archives before an error stay stored.",
			Action: update, Resource: resource, Out: providermirror.Imported{}, MaxBody: maxImport, Handler: a.importArchives},
	}
}

// authenticated checks the credentials of a request before the mirror is looked at.
func (a *API) authenticated(next rest.HandlerFunc) rest.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		if err := a.Authenticate(r); err != nil {
			return err
		}
		return next(w, r)
	}
}

// ServeProvisioner serves what provisioners read to the built-in ones, which need no credentials: /,
// /providers/, /modules/ and /releases/.
func (a *API) ServeProvisioner() http.Handler {
	mux := http.NewServeMux()
	handle := func(pattern string, h rest.HandlerFunc) {
		mux.HandleFunc("GET "+pattern, func(w http.ResponseWriter, r *http.Request) {
			if err := h(w, r); err != nil {
				fail(w, err)
			}
		})
	}
	handle("/{$}", a.getStatus)
	handle(strings.TrimPrefix(ProviderPath, Path), a.getProvider)
	handle(strings.TrimPrefix(ModulePath, Path), a.getModule)
	handle(strings.TrimPrefix(ModuleFilePath, Path), a.getModuleFile)
	handle(strings.TrimPrefix(ReleasePath, Path), a.getRelease)
	return mux
}

// fail replies with an error body of the REST API.
func fail(w http.ResponseWriter, err error) {
	status, body := http.StatusInternalServerError, codersdk.Response{Message: "The mirror failed; the server's log has the cause"}
	if e, ok := errors.AsType[*codersdk.Error](err); ok && e.Code != codersdk.CodeInternal {
		status, body = codersdk.Status(e.Code), codersdk.Response{Message: e.Message, Detail: e.Detail}
	}
	rest.Reply(w, status, body) //nolint:errcheck // the client went away
}

func (a *API) getStatus(w http.ResponseWriter, r *http.Request) error {
	out, err := a.Mirror.Status(r.Context())
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}

func (a *API) list(w http.ResponseWriter, r *http.Request) error {
	p, err := rest.PageOf(r)
	if err != nil {
		return err
	}
	out, err := a.Mirror.List(r.Context(), rest.Actor(r), p)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}

func (a *API) pull(w http.ResponseWriter, r *http.Request) error {
	return rest.ServeChange(a.Mirror.Pull)(w, r)
}

func (a *API) needs(w http.ResponseWriter, r *http.Request) error {
	var platforms []providermirror.Platform
	for _, text := range r.URL.Query()["platform"] {
		p, err := providermirror.ParsePlatform(text)
		if err != nil {
			return err
		}
		platforms = append(platforms, p)
	}
	out, err := a.Mirror.Needs(r.Context(), rest.Actor(r), r.URL.Query().Get("registry"), platforms)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}

func (a *API) export(w http.ResponseWriter, r *http.Request) error {
	first := &started{ResponseWriter: w}
	err := a.Mirror.Export(r.Context(), rest.Actor(r), first)
	if err != nil && first.begun {
		panic(http.ErrAbortHandler) // the client must not take it for the whole export
	}
	return err
}

// started sets the content type at the first write.
type started struct {
	http.ResponseWriter
	begun bool
}

func (s *started) Write(b []byte) (int, error) {
	if !s.begun {
		s.begun = true
		s.Header().Set("Content-Type", "application/x-tar")
		s.Header().Set("Cache-Control", "no-store")
	}
	return s.ResponseWriter.Write(b)
}

func (a *API) importArchives(w http.ResponseWriter, r *http.Request) error {
	out, err := a.Mirror.Import(r.Context(), rest.Actor(r), r.Body)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}

// getProvider serves one file of the network mirror protocol.
func (a *API) getProvider(w http.ResponseWriter, r *http.Request) error {
	p, err := providermirror.ParseProvider(r.PathValue("hostname")+"/"+r.PathValue("namespace")+"/"+r.PathValue("type"), "")
	if err != nil {
		return err
	}
	name := r.PathValue("file")
	if name == "index.json" {
		out, err := a.Mirror.Versions(r.Context(), p)
		if err != nil {
			return err
		}
		return rest.Reply(w, http.StatusOK, out)
	}
	if version, ok := strings.CutSuffix(name, ".json"); ok {
		out, err := a.Mirror.Archives(r.Context(), p, version)
		if err != nil {
			return err
		}
		return rest.Reply(w, http.StatusOK, out)
	}
	t, err := providermirror.ParseFilename(p, name)
	if err != nil {
		return err
	}
	return a.send(w, r, t)
}

// send sends an archive.
func (a *API) send(w http.ResponseWriter, r *http.Request, t providermirror.Target) error {
	archive, err := a.Mirror.Open(r.Context(), t)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "application/zip")
	if strings.HasSuffix(t.Filename(), ".gz") {
		h.Set("Content-Type", "application/gzip")
	}
	h.Set("Cache-Control", "private, max-age=3600")
	h.Set("Content-Length", strconv.FormatInt(archive.Size, 10))
	if err := archive.WriteTo(r.Context(), w); err != nil {
		panic(http.ErrAbortHandler) // the client must not take it for the whole archive
	}
	return nil
}
