package tracing

import (
	"context"
	"log/slog"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// The attributes of log lines that name the trace and the span in progress.
const (
	traceKey = "trace_id"
	spanKey  = "span_id"
)

// LogConfig describes how log lines and traces are connected.
type LogConfig struct {
	// Events also adds each line to the span in progress, as an event.
	Events bool
	// Redact removes secrets from the texts of events; nil leaves them.
	Redact func(string) string
}

// Logs returns a logger that adds the trace and the span of the context to each
// line of log.
func Logs(log *slog.Logger, c LogConfig) *slog.Logger {
	if c.Redact == nil {
		c.Redact = func(s string) string { return s }
	}
	return slog.New(&handler{next: log.Handler(), LogConfig: c})
}

type handler struct {
	LogConfig
	next  slog.Handler
	group string      // prefix of the keys of events
	attrs []slog.Attr // of the logger, for events
}

func (h *handler) Enabled(ctx context.Context, l slog.Level) bool { return h.next.Enabled(ctx, l) }

func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	id, span, ok := IDs(ctx)
	if !ok {
		return h.next.Handle(ctx, r)
	}
	if h.Events {
		h.event(trace.SpanFromContext(ctx), r)
	}
	r = r.Clone()
	r.AddAttrs(slog.String(traceKey, id), slog.String(spanKey, span))
	return h.next.Handle(ctx, r)
}

// event adds the line to a span.
func (h *handler) event(span trace.Span, r slog.Record) {
	if !span.IsRecording() {
		return
	}
	attrs := []attribute.KeyValue{attribute.String("level", r.Level.String())}
	add := func(key string, v slog.Value) {
		attrs = append(attrs, attribute.String(key, h.Redact(v.Resolve().String())))
	}
	for _, a := range h.attrs {
		add(a.Key, a.Value)
	}
	r.Attrs(func(a slog.Attr) bool { add(h.group+a.Key, a.Value); return true })
	span.AddEvent(h.Redact(r.Message), trace.WithTimestamp(r.Time), trace.WithAttributes(attrs...))
}

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	n := *h
	n.next = h.next.WithAttrs(attrs)
	n.attrs = append([]slog.Attr{}, h.attrs...)
	for _, a := range attrs {
		n.attrs = append(n.attrs, slog.Attr{Key: h.group + a.Key, Value: a.Value})
	}
	return &n
}

func (h *handler) WithGroup(name string) slog.Handler {
	n := *h
	n.next, n.group = h.next.WithGroup(name), h.group+name+"."
	return &n
}
