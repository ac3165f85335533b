package rest

import (
	"context"
	"net/http"

	"github.com/seed-2a7f8fe7/coder/internal/access"
)

type contextKey int

const subjectKey contextKey = 0

// WithSubject returns a context with the authenticated user of a request.
func WithSubject(ctx context.Context, s access.Subject) context.Context {
	return context.WithValue(ctx, subjectKey, s)
}

// SubjectOf returns the subject that WithSubject set, and whether there is one.
func SubjectOf(ctx context.Context) (access.Subject, bool) {
	s, ok := ctx.Value(subjectKey).(access.Subject)
	return s, ok
}

// Actor returns the authenticated user of the request. On routes without
// AuthUser it returns a subject without a user, which has only an origin.
func Actor(r *http.Request) access.Subject {
	if s, ok := SubjectOf(r.Context()); ok {
		return s
	}
	origin, _ := access.OriginOf(r.Context())
	return access.Subject{Origin: origin}
}
