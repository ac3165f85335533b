package httpapi

import (
	"errors"
	"io"
	"net/http"
	"strconv"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/archive"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
	"github.com/seed-2a7f8fe7/coder/internal/template"
)

// fileRoutes are template archives. (CP-12)
func (a *API) fileRoutes() []rest.Route {
	if a.Templates == nil {
		return nil
	}
	const file = codersdk.RBACResourceFile
	return []rest.Route{
		{Method: "POST", Path: "/files", Summary: "Upload a template archive",
			Action: codersdk.RBACActionCreate, Resource: file, Out: codersdk.UploadResponse{}, Status: 201, MaxBody: template.MaxUpload + 1,
			Handler: a.postFile},
		{Method: "GET", Path: "/files/{fileID}", Summary: "Download an archive",
			Action: codersdk.RBACActionRead, Resource: file, Handler: a.getFile},
	}
}

func (a *API) postFile(w http.ResponseWriter, r *http.Request) error {
	tooLarge := codersdk.Errorf(codersdk.CodeTooLarge,
		"The archive is larger than %s, the maximum; remove files that the template does not need", archive.Size(template.MaxUpload))
	if r.ContentLength > template.MaxUpload {
		return tooLarge // refused before reading the body
	}
	data, err := io.ReadAll(r.Body)
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return tooLarge
	}
	if err != nil {
		return codersdk.Errorf(codersdk.CodeInvalid, "The upload was interrupted; try again").WithCause(err)
	}
	id, created, err := a.Templates.UploadFile(r.Context(), rest.Actor(r), r.Header.Get("Content-Type"), data)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if created {
		status = http.StatusCreated
	}
	return rest.Reply(w, status, codersdk.UploadResponse{Hash: id.String()})
}

func (a *API) getFile(w http.ResponseWriter, r *http.Request) error {
	id, err := rest.PathID(r, "fileID")
	if err != nil {
		return err
	}
	data, contentType, err := a.Templates.File(r.Context(), rest.Actor(r), id, r.URL.Query().Get("format"))
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(http.StatusOK)
	w.Write(data) //nolint:errcheck // the client went away
	return nil
}
