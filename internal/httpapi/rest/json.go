package rest

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

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
)

// Decode reads the request's body as JSON. Fields that T does not have are
// ignored: clients may be newer than the server.
func Decode[T any](r *http.Request) (T, error) {
	var v T
	body := &v // nil after null, which is no request
	dec := json.NewDecoder(r.Body)
	err := dec.Decode(&body)
	if err == nil && dec.More() {
		err = errors.New("the body contains more than one JSON value")
	}
	if err == nil && body == nil {
		return v, codersdk.Errorf(codersdk.CodeInvalid, "The request body cannot be JSON null; send a JSON object")
	}
	if err == nil {
		return v, checkNUL(v)
	}
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return v, codersdk.Errorf(codersdk.CodeTooLarge, "The request body is larger than %d bytes, the maximum for this route; send less", tooLarge.Limit)
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if wrong.Field == "" {
			return v, codersdk.Errorf(codersdk.CodeInvalid, "The request body cannot be a JSON %s; send a JSON object", wrong.Value)
		}
		return v, codersdk.Invalid(wrong.Field, "cannot be a JSON %s", wrong.Value)
	}
	if wrong, ok := errors.AsType[*syntax.Error](err); ok { // regex_filter is the only request field of this type
		return v, codersdk.Invalid("regex_filter", "is not a valid Go regular expression: %s: `%s`", wrong.Code, Truncate(wrong.Expr, 64))
	}
	if errors.Is(err, io.EOF) {
		return v, codersdk.Errorf(codersdk.CodeInvalid, "The request has no body; send a JSON object")
	}
	return v, codersdk.Errorf(codersdk.CodeInvalid, "The request body is not valid").WithDetail("%s", err)
}

// Reply writes v as JSON. A nil slice is written as an empty array.
func Reply(w http.ResponseWriter, status int, v any) error {
	if rv := reflect.ValueOf(v); rv.Kind() == reflect.Slice && rv.IsNil() {
		v = []struct{}{}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("encode response: %w", err)
	}
	h := w.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", strconv.Itoa(b.Len()))
	w.WriteHeader(status)
	w.Write(b.Bytes()) //nolint:errcheck // the client went away
	return nil
}

// ReplyForUser replies with the result of a use case for the user in the path.
func ReplyForUser[T any](w http.ResponseWriter, r *http.Request, actor access.Subject,
	get func(context.Context, access.Subject, string) (T, error),
) error {
	out, err := get(r.Context(), actor, r.PathValue("user"))
	if err != nil {
		return err
	}
	return Reply(w, http.StatusOK, out)
}

// ReplyPageForUser replies with one page of the result of a use case for the
// user in the path.
func ReplyPageForUser[T any](w http.ResponseWriter, r *http.Request, actor access.Subject,
	get func(context.Context, access.Subject, string, codersdk.Page) (T, error),
) error {
	p, err := PageOf(r)
	if err != nil {
		return err
	}
	out, err := get(r.Context(), actor, r.PathValue("user"), p)
	if err != nil {
		return err
	}
	return Reply(w, http.StatusOK, out)
}

// ChangeForUser decodes the body, passes it to a use case for the user in the
// path, and replies with the result.
func ChangeForUser[In, Out any](w http.ResponseWriter, r *http.Request, actor access.Subject,
	put func(context.Context, access.Subject, string, In) (Out, error),
) error {
	in, err := Decode[In](r)
	if err != nil {
		return err
	}
	out, err := put(r.Context(), actor, r.PathValue("user"), in)
	if err != nil {
		return err
	}
	return Reply(w, http.StatusOK, out)
}

// ReplyNoContent replies 204 with no body.
func ReplyNoContent(w http.ResponseWriter) error {
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// ServeResult returns a handler that replies with the result of a use case for
// the actor.
func ServeResult[T any](get func(context.Context, access.Subject) (T, error)) HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		out, err := get(r.Context(), Actor(r))
		if err != nil {
			return err
		}
		return Reply(w, http.StatusOK, out)
	}
}

// ServeChange returns a handler that decodes the body, passes it to a use case
// for the actor, and replies with the result.
func ServeChange[In, Out any](put func(context.Context, access.Subject, In) (Out, error)) HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		in, err := Decode[In](r)
		if err != nil {
			return err
		}
		out, err := put(r.Context(), Actor(r), in)
		if err != nil {
			return err
		}
		return Reply(w, http.StatusOK, out)
	}
}
