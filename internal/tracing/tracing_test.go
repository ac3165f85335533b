package tracing_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/tracing"
)

func recorder() (*tracing.Tracer, *tracetest.SpanRecorder) {
	r := tracetest.NewSpanRecorder()
	return tracing.New(trace.NewTracerProvider(trace.WithSpanProcessor(r))), r
}

// TestWithoutTraces: a process without a Tracer records nothing and sends no
// trace to others.
func TestWithoutTraces(t *testing.T) {
	var none *tracing.Tracer
	ctx, span := none.Start(t.Context(), "request", tracing.KindServer)
	ctx, below := tracing.Start(ctx, "query")
	tracing.End(below, nil)
	tracing.End(span, errors.New("failed"))
	ctx = none.Record(ctx, "wait", tracing.Past{})
	if fields := tracing.Carry(ctx); fields == nil || len(fields) > 0 {
		t.Errorf("the trace context is %v", fields)
	}
	if _, _, ok := tracing.IDs(ctx); ok {
		t.Error("a span was started")
	}
}

// TestTraceTravels: a job continues the trace of its request in another process.
func TestTraceTravels(t *testing.T) {
	server, _ := recorder()
	provisioner, recorded := recorder()
	ctx, request := server.Start(t.Context(), "request", tracing.KindServer)
	fields := tracing.Carry(ctx)
	request.End()

	ctx, job := provisioner.Start(tracing.Continue(context.Background(), fields), "job", tracing.KindConsumer)
	start := time.Unix(1700000000, 0)
	provisioner.Record(ctx, "wait", tracing.Past{Start: start, End: start.Add(time.Minute), Failed: true})
	_, step := tracing.Start(ctx, "step")
	tracing.End(step, nil)
	job.End()
	spans := recorded.Ended()
	if len(spans) != 3 {
		t.Fatalf("%d spans were recorded", len(spans))
	}
	for _, s := range spans {
		if s.SpanContext().TraceID() != request.SpanContext().TraceID() {
			t.Errorf("span %q is of another trace", s.Name())
		}
	}
	if got := spans[0].EndTime().Sub(spans[0].StartTime()); got != time.Minute || spans[0].Status().Description != "failed" {
		t.Errorf("the span of the past lasts %s and has the status %v", got, spans[0].Status())
	}
	if got := tracing.Continue(t.Context(), map[string]string{"traceparent": "not a trace"}); len(tracing.Carry(got)) > 0 {
		t.Error("an invalid trace context was continued")
	}
}

// TestUnsampledTraceStaysSo: nothing is recorded below a client's trace that is
// not sampled.
func TestUnsampledTraceStaysSo(t *testing.T) {
	tracer, recorded := recorder()
	header := map[string]string{"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"}
	ctx, span := tracer.Start(tracing.ContinueHeader(t.Context(), func(k string) string { return header[k] }), "request", tracing.KindServer)
	_, below := tracing.Start(ctx, "query")
	below.End()
	span.End()
	if n := len(recorded.Ended()); n > 0 {
		t.Errorf("%d spans were recorded", n)
	}
}

// TestErrorsHaveNoText: the status of a span has the code of an error.
func TestErrorsHaveNoText(t *testing.T) {
	tracer, recorded := recorder()
	for _, err := range []error{codersdk.Errorf(codersdk.CodeNotFound, "no user jane@example.com"), errors.New("jane@example.com"), context.Canceled} {
		_, span := tracer.Start(t.Context(), "request", tracing.KindServer)
		tracing.End(span, err)
	}
	var got []string
	for _, s := range recorded.Ended() {
		got = append(got, s.Status().Description)
	}
	if want := string(codersdk.CodeNotFound) + " failed canceled"; strings.Join(got, " ") != want {
		t.Errorf("the statuses are %q, want %q", got, want)
	}
}

// TestLogs: lines name the trace, and are events of its span without secrets.
func TestLogs(t *testing.T) {
	tracer, recorded := recorder()
	var out bytes.Buffer
	log := tracing.Logs(slog.New(slog.NewTextHandler(&out, nil)), tracing.LogConfig{
		Events: true, Redact: func(s string) string { return strings.ReplaceAll(s, "hunter2", "***") },
	}).With("name", "queue").WithGroup("job")
	log.Info("started")
	ctx, span := tracer.Start(t.Context(), "job", tracing.KindConsumer)
	log.InfoContext(ctx, "password is hunter2", "token", "hunter2")
	span.End()
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	id := span.SpanContext().TraceID().String()
	if len(lines) != 2 || strings.Contains(lines[0], "trace_id") || !strings.Contains(lines[1], "trace_id="+id) {
		t.Errorf("the log is\n%s", out.String())
	}
	events := recorded.Ended()[0].Events()
	if len(events) != 1 || events[0].Name != "password is ***" {
		t.Fatalf("the events are %v", events)
	}
	got := map[string]string{}
	for _, a := range events[0].Attributes {
		got[string(a.Key)] = a.Value.String()
	}
	if got["name"] != "queue" || got["job.token"] != "***" || got["level"] != "INFO" {
		t.Errorf("the attributes are %v", got)
	}
}

func BenchmarkStartWithoutTraces(b *testing.B) {
	ctx := b.Context()
	for b.Loop() {
		_, span := tracing.Start(ctx, "query")
		tracing.End(span, nil)
	}
}
