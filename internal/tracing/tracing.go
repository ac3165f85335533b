// Package tracing starts the spans of OpenTelemetry traces and carries them
// between processes. It exports nothing: package otlp below it does, and only
// processes that can export link that package.
//
// A Tracer starts the root spans of a process: requests, jobs and background
// work. All other spans start below the span of their context, with Start. A
// context without a span, which is each context of a process without traces,
// makes Start a single lookup.
//
// Attributes are identifiers, names of routes and queries, and counts. They are
// never parameters, paths, outputs or texts of errors, because those can contain
// secrets.
package tracing

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// scope is the name of the instrumentation in exported spans.
const scope = "github.com/seed-2a7f8fe7/coder"

// Span is a span that has started. End ends it.
type Span = trace.Span

// Attr is an attribute of a span.
type Attr = attribute.KeyValue

// Kind is the role of a span between two processes.
type Kind = trace.SpanKind

// The kinds of spans.
const (
	KindInternal = trace.SpanKindInternal
	KindServer   = trace.SpanKindServer
	KindClient   = trace.SpanKindClient
	KindConsumer = trace.SpanKindConsumer
)

// String returns an attribute with a text.
func String(key, value string) Attr { return attribute.String(key, value) }

// Int returns an attribute with a number.
func Int(key string, value int) Attr { return attribute.Int(key, value) }

// Tracer starts the root spans of a process. The nil Tracer starts none. It is
// safe for concurrent use.
type Tracer struct{ tracer trace.Tracer }

// New returns a Tracer that passes its spans to the provider.
func New(provider trace.TracerProvider) *Tracer { return &Tracer{provider.Tracer(scope)} }

// Start starts a span below the span of ctx, which may be one of another
// process, or a new trace. The caller calls End.
func (t *Tracer) Start(ctx context.Context, name string, kind Kind, attrs ...Attr) (context.Context, Span) {
	if t == nil {
		return ctx, None()
	}
	return t.tracer.Start(ctx, name, trace.WithSpanKind(kind), trace.WithAttributes(attrs...))
}

// Past is when something happened that is over, and whether it failed.
type Past struct {
	Start, End time.Time
	Failed     bool
}

// Record adds a span of the past below the span of ctx. It starts a new trace if
// ctx has no span. It returns ctx with the span.
func (t *Tracer) Record(ctx context.Context, name string, past Past, attrs ...Attr) context.Context {
	if t == nil {
		return ctx
	}
	ctx, span := t.tracer.Start(ctx, name, trace.WithTimestamp(past.Start), trace.WithAttributes(attrs...))
	if past.Failed {
		span.SetStatus(codes.Error, "failed")
	}
	span.End(trace.WithTimestamp(past.End))
	return ctx
}

// Start starts a span below the span of ctx. Without one, or if its trace is not
// sampled, it does nothing. The caller calls End.
func Start(ctx context.Context, name string, attrs ...Attr) (context.Context, Span) {
	return StartKind(ctx, name, KindInternal, attrs...)
}

// StartKind is Start for a span of a given kind.
func StartKind(ctx context.Context, name string, kind Kind, attrs ...Attr) (context.Context, Span) {
	parent := trace.SpanFromContext(ctx)
	if !parent.SpanContext().IsSampled() {
		return ctx, None()
	}
	return parent.TracerProvider().Tracer(scope).Start(ctx, name, trace.WithSpanKind(kind), trace.WithAttributes(attrs...))
}

// None returns a span that records nothing.
func None() Span { return noop.Span{} }

// Below returns ctx with the span of parent, if that has one.
func Below(ctx, parent context.Context) context.Context {
	if s := trace.SpanFromContext(parent); s.SpanContext().IsValid() {
		return trace.ContextWithSpan(ctx, s)
	}
	return ctx
}

// End ends a span. The status of a failed span has the code of the error, never
// its text.
func End(span Span, err error) {
	if err != nil && span.IsRecording() {
		span.SetStatus(codes.Error, code(err))
	}
	span.End()
}

// Fail marks a span as failed for a reason that contains no data of users.
func Fail(span Span, reason string) { span.SetStatus(codes.Error, reason) }

func code(err error) string {
	if e, ok := errors.AsType[*codersdk.Error](err); ok {
		return string(e.Code)
	}
	switch {
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, context.DeadlineExceeded):
		return "deadline exceeded"
	}
	return "failed"
}

// Carry returns the trace context of ctx in the form of the W3C headers, for
// another process. It is empty without a span, and never nil.
func Carry(ctx context.Context) map[string]string {
	fields := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, fields)
	return fields
}

// Continue returns ctx with the trace context that Carry returned elsewhere.
// Invalid fields are ignored.
func Continue(ctx context.Context, fields map[string]string) context.Context {
	if len(fields) == 0 {
		return ctx
	}
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier(fields))
}

// ContinueHeader is Continue for the headers of a request; get returns a header.
func ContinueHeader(ctx context.Context, get func(string) string) context.Context {
	parent := get("traceparent")
	if parent == "" {
		return ctx
	}
	return Continue(ctx, map[string]string{"traceparent": parent, "tracestate": get("tracestate")})
}

// IDs returns the trace and span of ctx in hexadecimal; ok is false without a
// span.
func IDs(ctx context.Context) (traceID, spanID string, ok bool) {
	c := trace.SpanContextFromContext(ctx)
	if !c.IsValid() {
		return "", "", false
	}
	return c.TraceID().String(), c.SpanID().String(), true
}
