package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"regexp/syntax"
	"strconv"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
)

// decode reads the request's body as JSON. Fields that T does not have are
// ignored: clients may be newer than the server.
func decode[T any](r *http.Request) (T, error) {
	var v T
	dec := json.NewDecoder(r.Body)
	err := dec.Decode(&v)
	if err == nil && dec.More() {
		err = errors.New("more than one value")
	}
	if err == nil {
		return v, nil
	}
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return v, coder.Errorf(coder.CodeTooLarge, "The request is too large: at most %d bytes are taken here", tooLarge.Limit)
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && wrong.Field != "" {
		return v, coder.Invalid(wrong.Field, "cannot be a JSON %s", wrong.Value)
	}
	if wrong, ok := errors.AsType[*syntax.Error](err); ok { // the one field of requests that is one
		return v, coder.Invalid("regex_filter", "is no regular expression as Go reads them: %s: `%s`", wrong.Code, clip(wrong.Expr, 64))
	}
	if errors.Is(err, io.EOF) {
		return v, coder.Errorf(coder.CodeInvalid, "The request needs a JSON body")
	}
	return v, coder.Errorf(coder.CodeInvalid, "The request body cannot be read as JSON").WithDetail("%s", err)
}

// reply writes v as JSON. A nil slice is written as an empty array.
func reply(w http.ResponseWriter, status int, v any) error {
	if rv := reflect.ValueOf(v); rv.Kind() == reflect.Slice && rv.IsNil() {
		v = []struct{}{}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("encode answer: %w", err)
	}
	h := w.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", strconv.Itoa(b.Len()))
	w.WriteHeader(status)
	w.Write(b.Bytes()) //nolint:errcheck // the client went away
	return nil
}

// show answers what a use case gives for the user in the path.
func show[T any](w http.ResponseWriter, r *http.Request, actor access.Subject,
	get func(context.Context, access.Subject, string) (T, error),
) error {
	out, err := get(r.Context(), actor, r.PathValue("user"))
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, out)
}

// showPage answers the page of what a use case gives for the user in the path.
func showPage[T any](w http.ResponseWriter, r *http.Request, actor access.Subject,
	get func(context.Context, access.Subject, string, coder.Page) (T, error),
) error {
	p, err := pageOf(r)
	if err != nil {
		return err
	}
	out, err := get(r.Context(), actor, r.PathValue("user"), p)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, out)
}

// change decodes a body, hands it to a use case for the user in the path, and
// answers the result.
func change[In, Out any](w http.ResponseWriter, r *http.Request, actor access.Subject,
	put func(context.Context, access.Subject, string, In) (Out, error),
) error {
	in, err := decode[In](r)
	if err != nil {
		return err
	}
	out, err := put(r.Context(), actor, r.PathValue("user"), in)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, out)
}

// done answers success with no body.
func done(w http.ResponseWriter) error {
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// pathID reads a path parameter that is a UUID.
func pathID(r *http.Request, name string) (uuid.UUID, error) {
	id, err := uuid.Parse(r.PathValue(name))
	if err != nil {
		return uuid.Nil, coder.Invalid(name, "%q is not a UUID", clip(r.PathValue(name), 64))
	}
	return id, nil
}

// pathOwner gives the id of the user that the path names as an owner of things.
func (a *API) pathOwner(r *http.Request) (uuid.UUID, error) {
	return a.Identity.OwnerByRef(r.Context(), a.actor(r), r.PathValue("user"))
}

// pathUser gives the user that the path names by id, name, or "me".
func (a *API) pathUser(r *http.Request) (coder.User, error) {
	return a.Identity.UserByRef(r.Context(), a.actor(r), r.PathValue("user"))
}

// pathOrganization gives the organization that the path names by id, name, or "default".
func (a *API) pathOrganization(r *http.Request) (coder.Organization, error) {
	return a.Identity.OrganizationByRef(r.Context(), a.actor(r), r.PathValue("organization"))
}

// maxPage bounds one page of any list.
const maxPage = 1000

// pageOf reads limit and offset for lists that have a largest page of their own.
func pageOf(r *http.Request) (p coder.Page, err error) {
	p.Limit, p.Offset, err = page(r)
	return p, err
}

// page reads limit and offset. No limit, or 0, means the largest page there is.
func page(r *http.Request) (limit, offset int, err error) {
	if limit, err = queryInt(r, "limit"); err != nil {
		return 0, 0, err
	}
	if offset, err = queryInt(r, "offset"); err != nil {
		return 0, 0, err
	}
	if limit == 0 || limit > maxPage {
		limit = maxPage
	}
	return limit, offset, nil
}

// queryInt reads a query parameter that counts; 0 when absent.
func queryInt(r *http.Request, name string) (int, error) {
	v := r.URL.Query().Get(name)
	if v == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(v, 10, 32)
	if err != nil || n < 0 {
		return 0, coder.Invalid(name, "%q is not a number from 0", clip(v, 32))
	}
	return int(n), nil
}

// queryBool reads a query parameter that is true or false; false when absent.
func queryBool(r *http.Request, name string) (bool, error) {
	v := r.URL.Query().Get(name)
	if v == "" {
		return false, nil
	}
	b, err := strconv.ParseBool(v)
	if err != nil {
		return false, coder.Invalid(name, "%q is neither true nor false", clip(v, 32))
	}
	return b, nil
}

// queryID reads a query parameter that is a UUID; Nil when absent.
func queryID(r *http.Request, name string) (uuid.UUID, error) {
	v := r.URL.Query().Get(name)
	if v == "" {
		return uuid.Nil, nil
	}
	id, err := uuid.Parse(v)
	if err != nil {
		return uuid.Nil, coder.Invalid(name, "%q is not a UUID", clip(v, 64))
	}
	return id, nil
}

// accept upgrades to a WebSocket; a page of another origin is refused. When it
// fails it has answered already: return the error as it is. The caller closes.
func accept(w http.ResponseWriter, r *http.Request) (*websocket.Conn, error) {
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		return nil, fmt.Errorf("accept WebSocket: %w", err)
	}
	return conn, nil
}
