// Package scimapi serves SCIM 2.0 at /scim/v2. Requests carry the provider's key instead of a session, and errors have
// the form of SCIM.
package scimapi

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
	"github.com/seed-2a7f8fe7/coder/internal/scim"
)

// Prefix is the path of the endpoints.
const Prefix = "/scim/v2"

// maxBody is the maximum size of a request body: a group with 10,000 members.
const maxBody = 4 << 20

// API serves the endpoints. It is safe for concurrent use.
type API struct {
	SCIM *scim.Service
	Log  *slog.Logger
}

// endpoint handles a request of an authorized provider, and returns the status and the document of the response.
type endpoint func(actor access.Subject, r *http.Request) (int, any, error)

// Mounts returns the handlers by http.ServeMux pattern.
func (a *API) Mounts() map[string]http.Handler {
	s := a.SCIM
	out := map[string]http.Handler{
		Prefix + "/":                               a.serve(notFound, true),
		"GET " + Prefix + "/Schemas":               a.serve(static(func() any { return whole(s.Schemas()) }), true),
		"GET " + Prefix + "/ResourceTypes":         a.serve(static(func() any { return whole(s.Types()) }), true),
		"GET " + Prefix + "/Schemas/{id}":          a.serve(a.schema, true),
		"GET " + Prefix + "/ResourceTypes/{id}":    a.serve(a.resourceType, true),
		"GET " + Prefix + "/ServiceProviderConfig": a.serve(static(func() any { return s.Discovery() }), true),
	}
	for kind, e := range map[string]map[string]endpoint{
		"Users": {
			"GET": a.listed(s.Users), "POST": a.created(s.CreateUser), "GET /{id}": a.shown(s.ShownUser),
			"PUT /{id}": a.changed(s.ReplaceUser), "PATCH /{id}": a.changed(s.PatchUser), "DELETE /{id}": a.deleted(s.DeleteUser),
		},
		"Groups": {
			"GET": a.listed(s.Groups), "POST": a.created(s.CreateGroup), "GET /{id}": a.shown(s.Group),
			"PUT /{id}": a.changed(s.ReplaceGroup), "PATCH /{id}": a.changed(s.PatchGroup), "DELETE /{id}": a.deleted(s.DeleteGroup),
		},
	} {
		for pattern, handle := range e {
			method, rest, _ := strings.Cut(pattern, " ")
			out[method+" "+Prefix+"/"+kind+rest] = a.serve(handle, false)
		}
	}
	return out
}

// serve returns the handler of an endpoint. Public ones need no key: they describe the protocol only.
func (a *API) serve(e endpoint, public bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		origin, _ := access.OriginOf(r.Context())
		actor := access.Subject{Origin: origin}
		var err error
		if !public {
			actor, err = a.SCIM.Authorize(r.Context(), origin, r.Header.Get("Authorization"))
		}
		var status int
		var out any
		if err == nil {
			status, out, err = e(actor, r)
		}
		if err != nil {
			a.fail(w, r, err)
			return
		}
		if status == http.StatusNoContent {
			w.WriteHeader(status)
			return
		}
		if resource, ok := out.(scim.Resource); ok && status == http.StatusCreated {
			if meta, ok := resource["meta"].(scim.Resource); ok {
				if location, ok := meta["location"].(string); ok {
					w.Header().Set("Location", location)
				}
			}
		}
		reply(w, status, out)
	})
}

func reply(w http.ResponseWriter, status int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		status, b = http.StatusInternalServerError, []byte(`{}`)
	}
	h := w.Header()
	h.Set("Content-Type", "application/scim+json; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", strconv.Itoa(len(b)))
	w.WriteHeader(status)
	w.Write(b) //nolint:errcheck // the client went away
}

// failure is the body of an error (RFC 7644 section 3.12).
type failure struct {
	Schemas []string `json:"schemas"`
	Status  string   `json:"status"`
	Type    string   `json:"scimType,omitempty"`
	Detail  string   `json:"detail"`
}

// fail replies with an error. The client receives the cause of errors of the product only.
func (a *API) fail(w http.ResponseWriter, r *http.Request, err error) {
	out := failure{Schemas: []string{"urn:ietf:params:scim:api:messages:2.0:Error"}, Detail: "Internal server error; the server's log has the cause"}
	status := http.StatusInternalServerError
	if e, ok := errors.AsType[*codersdk.Error](err); ok && e.Code != codersdk.CodeInternal {
		status, out.Detail = codersdk.Status(e.Code), e.Message
		switch {
		case e.Code == codersdk.CodeConflict && len(e.Fields) > 0:
			out.Type = "uniqueness"
		case e.Code == codersdk.CodeInvalid:
			out.Type = "invalidValue"
		case e.Code == codersdk.CodeUnauthenticated:
			w.Header().Set("WWW-Authenticate", "Bearer")
		}
		rest.SetRetryAfter(w, e.RetryAfter)
	}
	if e, ok := errors.AsType[*scim.Error](err); ok {
		out.Type = e.Type
	}
	if status >= http.StatusInternalServerError && r.Context().Err() == nil {
		a.Log.ErrorContext(r.Context(), "SCIM request failed", "method", r.Method, "path", r.URL.Path, "error", err)
	}
	out.Status = strconv.Itoa(status)
	reply(w, status, out)
}

func notFound(_ access.Subject, r *http.Request) (int, any, error) {
	return 0, nil, codersdk.Errorf(codersdk.CodeNotFound, "No SCIM endpoint matches %s %s; Users and Groups are supported",
		rest.Truncate(r.Method, 20), rest.Truncate(r.URL.Path, 200))
}

// static returns the endpoint of a document that does not change.
func static(document func() any) endpoint {
	return func(access.Subject, *http.Request) (int, any, error) { return http.StatusOK, document(), nil }
}

// whole returns the document of a list that is not paged.
func whole[T any](items []T) any {
	return scim.Resource{
		"schemas":      []string{"urn:ietf:params:scim:api:messages:2.0:ListResponse"},
		"totalResults": len(items), "startIndex": 1, "itemsPerPage": len(items), "Resources": items,
	}
}

func (a *API) schema(_ access.Subject, r *http.Request) (int, any, error) {
	all := a.SCIM.Schemas()
	i := slices.IndexFunc(all, func(s scim.Schema) bool { return strings.EqualFold(s.ID, r.PathValue("id")) })
	if i < 0 {
		return notFound(access.Subject{}, r)
	}
	return http.StatusOK, all[i], nil
}

func (a *API) resourceType(_ access.Subject, r *http.Request) (int, any, error) {
	all := a.SCIM.Types()
	i := slices.IndexFunc(all, func(t scim.Resource) bool { return t["id"] == r.PathValue("id") })
	if i < 0 {
		return notFound(access.Subject{}, r)
	}
	return http.StatusOK, all[i], nil
}

// query reads the parameters of a request.
func query(r *http.Request) (scim.Query, error) {
	q := r.URL.Query()
	out := scim.Query{Filter: strings.TrimSpace(q.Get("filter")), Attributes: q.Get("attributes"), Excluded: q.Get("excludedAttributes")}
	number := func(name string) (*int, error) {
		if q.Get(name) == "" {
			return nil, nil
		}
		n, err := strconv.ParseInt(q.Get(name), 10, 32)
		if err != nil {
			return nil, codersdk.Errorf(codersdk.CodeInvalid, "The parameter %s is not a number", name)
		}
		i := int(n)
		return &i, nil
	}
	start, err := number("startIndex")
	if err != nil {
		return out, err
	}
	if start != nil {
		out.Start = *start
	}
	out.Count, err = number("count")
	return out, err
}

// body reads the body of a request, a JSON object.
func body(r *http.Request) (out map[string]any, err error) {
	dec := json.NewDecoder(r.Body)
	err = dec.Decode(&out)
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return nil, codersdk.Errorf(codersdk.CodeTooLarge, "The request body is larger than %d bytes", maxBody)
	}
	if err == nil && out != nil {
		_, err = dec.Token()
	}
	if !errors.Is(err, io.EOF) || out == nil {
		return nil, &scim.Error{Type: "invalidSyntax", Err: codersdk.Errorf(codersdk.CodeInvalid, "The request body is not a JSON object")}
	}
	return out, nil
}
