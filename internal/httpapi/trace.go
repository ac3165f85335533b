package httpapi

import (
	"net/http"
	"strings"

	"github.com/seed-2a7f8fe7/coder/internal/tracing"
)

// startSpan starts the span of a request, below the client's if the client sent
// a trace. The returned function ends it with the response's status. The span
// has the pattern of the route and no part of the URL, which can contain
// secrets. A WebSocket has a span of its own that is above no other: it can last
// for days.
func (a *API) startSpan(r *http.Request, path, requestID string) (*http.Request, func(status int)) {
	if a.Tracer == nil {
		return r, func(int) {}
	}
	if path == "" {
		path = "unknown"
	}
	method := knownMethod(r.Method)
	ctx, span := a.Tracer.Start(tracing.ContinueHeader(r.Context(), r.Header.Get), method+" "+path, tracing.KindServer,
		tracing.String("http.request.method", method), tracing.String("http.route", path), tracing.String("coder.request.id", requestID))
	if !isWebSocket(r) {
		r = r.WithContext(ctx)
	}
	return r, func(status int) {
		if status == 0 {
			status = http.StatusOK
		}
		span.SetAttributes(tracing.Int("http.response.status_code", status))
		if status >= http.StatusInternalServerError {
			tracing.Fail(span, http.StatusText(status))
		}
		span.End()
	}
}

func isWebSocket(r *http.Request) bool {
	return strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
}

// knownMethod returns the method of a request, or "other": clients must not be
// able to create names of spans and values of labels.
func knownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	}
	return "other"
}
