package httpapi

import (
	"errors"
	"io"
	"net/http"
	"strconv"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/archive"
	"github.com/seed-2a7f8fe7/coder/internal/template"
)

// fileRoutes are the routes of template archives. (CP-12)
func (a *API) fileRoutes() []Route {
	if a.Templates == nil {
		return nil
	}
	const file = coder.RBACResourceFile
	return []Route{
		{Method: "POST", Path: "/files", Summary: "Upload an archive of a template's source", Action: coder.RBACActionCreate, Resource: file, Out: coder.UploadResponse{}, Status: 201, MaxBody: template.MaxUpload + 1, Handler: a.postFile},
		{Method: "GET", Path: "/files/{fileID}", Summary: "Download an archive", Action: coder.RBACActionRead, Resource: file, Handler: a.getFile},
	}
}

func (a *API) postFile(w http.ResponseWriter, r *http.Request) error {
	tooLarge := coder.Errorf(coder.CodeTooLarge, "The archive is too large: at most %s are taken", archive.Size(template.MaxUpload))
	if r.ContentLength > template.MaxUpload {
		return tooLarge // nothing of it is read
	}
	data, err := io.ReadAll(r.Body)
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return tooLarge
	}
	if err != nil {
		return coder.Errorf(coder.CodeInvalid, "The upload broke off").WithCause(err)
	}
	id, created, err := a.Templates.UploadFile(r.Context(), a.actor(r), r.Header.Get("Content-Type"), data)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if created {
		status = http.StatusCreated
	}
	return reply(w, status, coder.UploadResponse{Hash: id.String()})
}

func (a *API) getFile(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "fileID")
	if err != nil {
		return err
	}
	data, contentType, err := a.Templates.File(r.Context(), a.actor(r), id, r.URL.Query().Get("format"))
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
