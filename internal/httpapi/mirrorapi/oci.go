package mirrorapi

import (
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/ratelimit"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
	"github.com/seed-2a7f8fe7/coder/internal/rule/ociregistry"
)

// OCIPath is the path of the OCI distribution protocol, which clients expect there.
const OCIPath = "/v2/"

// maxOCIBody bounds the body of a request, in bytes. Requests that read have none.
const maxOCIBody = 64 << 10

// keyHeader is the header with the key of a provisioner.
const keyHeader = "Coder-Provisioner-Daemon-Key"

// Error codes of the protocol.
const (
	ociNameUnknown     = "NAME_UNKNOWN"
	ociManifestUnknown = "MANIFEST_UNKNOWN"
	ociBlobUnknown     = "BLOB_UNKNOWN"
	ociDigestInvalid   = "DIGEST_INVALID"
	ociPageInvalid     = "PAGINATION_NUMBER_INVALID"
	ociUnauthorized    = "UNAUTHORIZED"
	ociDenied          = "DENIED"
	ociUnsupported     = "UNSUPPORTED"
	ociTooMany         = "TOOMANYREQUESTS"
	ociUnknown         = "UNKNOWN" // not in the specification, but in registries
)

// OCI serves the stored providers and modules with the part of the OCI distribution protocol that reads. It is safe for
// concurrent use.
type OCI struct {
	*API
	Log    *slog.Logger
	limits *ratelimit.Limiter
}

// NewOCI returns the endpoints of a mirror.
func NewOCI(a *API, log *slog.Logger) *OCI {
	return &OCI{API: a, Log: log, limits: ratelimit.New(0)}
}

// Mounts returns the handlers by http.ServeMux pattern.
func (o *OCI) Mounts() map[string]http.Handler {
	out := map[string]http.Handler{
		"GET " + OCIPath + "{$}": o.serve(ping),
		OCIPath:                  o.serve(noEndpoint),
	}
	for _, name := range []string{"{hostname}/{namespace}/{name}", "{hostname}/{namespace}/{name}/{system}"} {
		out["GET "+OCIPath+name+"/tags/list"] = o.serve(o.getTags)
		out["GET "+OCIPath+name+"/manifests/{reference}"] = o.serve(o.getManifest)
		out["GET "+OCIPath+name+"/blobs/{digest}"] = o.serve(o.getBlob)
	}
	return out
}

// serve limits the requests, checks their credentials, and replies with errors in the form of the protocol.
func (o *OCI) serve(next rest.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Docker-Distribution-Api-Version", "registry/2.0")
		w.Header().Set("Cache-Control", "no-store")
		r.Body = http.MaxBytesReader(w, r.Body, maxOCIBody)
		err := o.admit(r)
		if err == nil {
			err = next(w, r)
		}
		if err != nil {
			o.fail(w, r, err)
		}
	})
}

// admit checks the limits and the credentials of a request. Clients send the first request without credentials, so
// only wrong ones count against the stricter limit.
func (o *OCI) admit(r *http.Request) error {
	origin, _ := access.OriginOf(r.Context())
	if err := o.limits.AllowPublic(origin.IP.String()); err != nil {
		return err
	}
	_, password, basic := r.BasicAuth()
	if !basic {
		return o.Authenticate(r)
	}
	for _, header := range []string{codersdk.SessionTokenHeader, keyHeader} {
		with := r.Clone(r.Context())
		with.Header, with.URL.RawQuery = http.Header{header: {password}}, "" // no other credentials
		if err := o.Authenticate(with); !codersdk.Is(err, codersdk.CodeUnauthenticated) {
			return err
		}
	}
	if err := o.limits.Allow("ip " + origin.IP.String()); err != nil {
		return err
	}
	return codersdk.Errorf(codersdk.CodeUnauthenticated, "The password is wrong; use a token of a user or the key of a provisioner")
}

// ociError is an error with a code of the protocol.
type ociError struct {
	code  string
	cause *codersdk.Error
}

func (e *ociError) Error() string { return e.cause.Error() }

func (e *ociError) Unwrap() error { return e.cause }

func ociErrorf(code string, kind codersdk.Code, format string, args ...any) error {
	return &ociError{code, codersdk.Errorf(kind, format, args...)}
}

// ociFailure is the body of an error.
type ociFailure struct {
	Errors []ociFailureItem `json:"errors"` // one
}

type ociFailureItem struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// fail replies with an error. The client receives the cause of errors of the product only.
func (o *OCI) fail(w http.ResponseWriter, r *http.Request, err error) {
	status, item := http.StatusInternalServerError, ociFailureItem{ociUnknown, "The mirror failed; the server's log has the cause"}
	if e, ok := errors.AsType[*codersdk.Error](err); ok && e.Code != codersdk.CodeInternal {
		status, item.Message = codersdk.Status(e.Code), e.Message
		switch e.Code {
		case codersdk.CodeUnauthenticated:
			item.Code = ociUnauthorized
			w.Header().Set("WWW-Authenticate", `Basic realm="coder"`)
		case codersdk.CodeForbidden:
			item.Code = ociDenied
		case codersdk.CodeRateLimited:
			item.Code = ociTooMany
		}
		rest.SetRetryAfter(w, e.RetryAfter)
	}
	if e, ok := errors.AsType[*ociError](err); ok {
		item.Code = e.code
	}
	if s, ok := errors.AsType[*rest.StatusError](err); ok {
		status, item.Code = s.Status, ociUnsupported // only noEndpoint returns it
	}
	if status >= http.StatusInternalServerError && r.Context().Err() == nil {
		o.Log.ErrorContext(r.Context(), "OCI request failed", "method", r.Method, "path", r.URL.Path, "error", err)
	}
	rest.Reply(w, status, ociFailure{[]ociFailureItem{item}}) //nolint:errcheck // the client went away
}

// ping replies to the first request of clients, which checks that the server has the protocol and accepts their credentials.
func ping(w http.ResponseWriter, _ *http.Request) error {
	return rest.Reply(w, http.StatusOK, struct{}{})
}

// noEndpoint refuses what no other endpoint serves.
func noEndpoint(w http.ResponseWriter, r *http.Request) error {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		return &rest.StatusError{
			Status: http.StatusMethodNotAllowed,
			Err:    codersdk.Errorf(codersdk.CodeInvalid, "The registry is read-only; fill the mirror with 'coder mirror pull' or 'coder mirror publish'"),
		}
	}
	_, err := ociregistry.ParseName(strings.TrimPrefix(r.URL.Path, OCIPath))
	if err == nil {
		err = codersdk.Errorf(codersdk.CodeNotFound, "The registry has tags/list, manifests/<reference> and blobs/<digest> of a repository")
	}
	return named(err)
}

// named returns the error for a name that is not that of a repository.
func named(err error) error {
	if e, ok := errors.AsType[*codersdk.Error](err); ok {
		return &ociError{ociNameUnknown, e}
	}
	return err
}

// repository returns the name of the repository of a request, and its archives.
func (o *OCI) repository(r *http.Request) (string, ociregistry.Repository, error) {
	name := strings.TrimSuffix(strings.Join([]string{
		r.PathValue("hostname"), r.PathValue("namespace"), r.PathValue("name"), r.PathValue("system"),
	}, "/"), "/")
	address, err := ociregistry.ParseName(name)
	if err != nil {
		return name, nil, named(err)
	}
	packages, err := o.Mirror.Stored(r.Context(), address)
	if err == nil && len(packages) == 0 {
		err = ociErrorf(ociNameUnknown, codersdk.CodeNotFound, "The mirror has stored no archive of %s; 'coder mirror pull' stores what templates need", name)
	}
	return name, packages, err
}

func (o *OCI) getTags(w http.ResponseWriter, r *http.Request) error {
	name, repository, err := o.repository(r)
	if err != nil {
		return err
	}
	query, limit := r.URL.Query(), -1
	if query.Has("n") {
		if limit, err = strconv.Atoi(query.Get("n")); err != nil || limit < 0 {
			return ociErrorf(ociPageInvalid, codersdk.CodeInvalid, "The parameter n must be a number of tags that is not negative")
		}
	}
	tags, more := ociregistry.PageOf(repository.Tags(), query.Get("last"), limit)
	if more && len(tags) > 0 {
		next := url.Values{"n": {strconv.Itoa(limit)}, "last": {tags[len(tags)-1]}}
		w.Header().Set("Link", "<"+OCIPath+name+"/tags/list?"+next.Encode()+`>; rel="next"`)
	}
	return rest.Reply(w, http.StatusOK, ociregistry.TagList{Name: name, Tags: tags})
}

func (o *OCI) getManifest(w http.ResponseWriter, r *http.Request) error {
	name, repository, err := o.repository(r)
	if err != nil {
		return err
	}
	reference := r.PathValue("reference")
	document, ok := repository.Document(reference)
	if !ok {
		return ociErrorf(ociManifestUnknown, codersdk.CodeNotFound, "The mirror has stored no archive of %s with the tag or digest %.128q", name, reference)
	}
	return reply(w, document.MediaType, document.Digest, document.Body)
}

// reply sends a document, without its body in response to HEAD.
func reply(w http.ResponseWriter, mediaType, digest string, body []byte) error {
	describe(w, mediaType, digest, int64(len(body)))
	w.WriteHeader(http.StatusOK)
	w.Write(body) //nolint:errcheck // the client went away
	return nil
}

func describe(w http.ResponseWriter, mediaType, digest string, size int64) {
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("Docker-Content-Digest", digest)
	w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
}

func (o *OCI) getBlob(w http.ResponseWriter, r *http.Request) error {
	const mediaType = "application/octet-stream"
	name, repository, err := o.repository(r)
	if err != nil {
		return err
	}
	digest := r.PathValue("digest")
	if !ociregistry.IsDigest(digest) {
		return ociErrorf(ociDigestInvalid, codersdk.CodeInvalid, "%.128q is not a digest; the registry has digests such as sha256:<64 hexadecimal digits>", digest)
	}
	if digest == ociregistry.DigestOf([]byte(ociregistry.Empty)) {
		return reply(w, mediaType, digest, []byte(ociregistry.Empty))
	}
	unknown := ociErrorf(ociBlobUnknown, codersdk.CodeNotFound, "The mirror has stored no archive of %s with the digest %s", name, digest)
	p, ok := repository.Archive(digest)
	if !ok {
		return unknown
	}
	if r.Method == http.MethodHead {
		describe(w, mediaType, digest, p.Size)
		w.WriteHeader(http.StatusOK)
		return nil
	}
	archive, err := o.Mirror.Open(r.Context(), p.Target)
	if err != nil {
		return err
	}
	if archive.SHA256 != p.SHA256 { // it was replaced in the meantime
		return unknown
	}
	describe(w, mediaType, digest, archive.Size)
	if err := archive.WriteTo(r.Context(), w); err != nil {
		panic(http.ErrAbortHandler) // the client must not take it for the whole archive
	}
	return nil
}
