// Package otlp exports traces with the OpenTelemetry protocol (OTLP).
//
// The standard variables configure it: OTEL_EXPORTER_OTLP_ENDPOINT, _HEADERS,
// _PROTOCOL, _CERTIFICATE and the rest, OTEL_TRACES_SAMPLER, OTEL_BSP_*,
// OTEL_RESOURCE_ATTRIBUTES and OTEL_SERVICE_NAME. Spans are exported in batches
// in the background. If the receiver is unreachable, spans are dropped, and the
// process continues.
package otlp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"

	"github.com/seed-2a7f8fe7/coder/internal/redact"
	"github.com/seed-2a7f8fe7/coder/internal/tracing"
)

// honeycombURL receives the traces of every Honeycomb key.
const honeycombURL = "https://api.honeycomb.io/v1/traces"

// Config describes the traces of a process.
type Config struct {
	// Enable exports to the receiver of the standard variables.
	Enable bool
	// HoneycombKey also exports to Honeycomb; "" does not.
	HoneycombKey string
	// Service is the name of the process in traces, without OTEL_SERVICE_NAME.
	Service string
	Version string
	// Instance distinguishes processes of one service; "" for none.
	Instance string
	Log      *slog.Logger
	// Logs adds the lines of Log to traces, without Secrets and what looks like
	// a secret.
	Logs    bool
	Secrets []string
}

// Enabled reports whether the configuration exports traces.
func (c Config) Enabled() bool {
	return (c.Enable || c.HoneycombKey != "") && !strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true")
}

// Exporter exports the spans of its Tracers.
type Exporter struct {
	// Tracer is that of the process.
	Tracer *tracing.Tracer
	// Log is the log of the Config, whose lines name the trace in progress.
	Log *slog.Logger

	c         Config
	receivers []trace.SpanExporter
	processor trace.SpanProcessor
	providers []*trace.TracerProvider
}

// New returns an exporter, which runs from now on. The caller calls Stop. New
// connects to nothing.
func New(ctx context.Context, c Config) (*Exporter, error) {
	e := &Exporter{c: c}
	hide := redact.New(append([]string{c.HoneycombKey}, c.Secrets...)...)
	e.Log = tracing.Logs(c.Log, tracing.LogConfig{Events: c.Logs, Redact: hide.Text})
	if c.Enable && os.Getenv("OTEL_TRACES_EXPORTER") != "none" {
		x, err := standard(ctx)
		if err != nil {
			return nil, fmt.Errorf("export traces as the OTEL_EXPORTER_OTLP_ variables say: %w", err)
		}
		e.receivers = append(e.receivers, x)
	}
	if c.HoneycombKey != "" {
		x, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(honeycombURL),
			otlptracehttp.WithHeaders(map[string]string{"x-honeycomb-team": c.HoneycombKey}))
		if err != nil {
			return nil, errors.Join(fmt.Errorf("export traces to Honeycomb: %w", err), e.Stop(ctx))
		}
		e.receivers = append(e.receivers, x)
	}
	e.processor = trace.NewBatchSpanProcessor(&tolerant{receivers: e.receivers, log: c.Log})
	var err error
	if e.Tracer, err = e.tracer(ctx, c.Service, resource.WithFromEnv()); err != nil {
		return nil, errors.Join(err, e.Stop(ctx))
	}
	return e, nil
}

// standard returns the exporter of the standard variables.
func standard(ctx context.Context) (*otlptrace.Exporter, error) {
	switch p := protocol(os.Getenv); p {
	case "grpc":
		return otlptracegrpc.New(ctx)
	case "http/protobuf":
		return otlptracehttp.New(ctx)
	default:
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL must be grpc or http/protobuf, got %q", p)
	}
}

// protocol returns the protocol of the variables. Without one, it is gRPC for
// an endpoint with the registered port of OTLP over gRPC, and otherwise HTTP.
func protocol(env func(string) string) string {
	first := func(suffix string) string {
		if v := env("OTEL_EXPORTER_OTLP_TRACES_" + suffix); v != "" {
			return v
		}
		return env("OTEL_EXPORTER_OTLP_" + suffix)
	}
	if p := first("PROTOCOL"); p != "" {
		return p
	}
	if u, err := url.Parse(first("ENDPOINT")); err == nil && u.Port() == "4317" {
		return "grpc"
	}
	return "http/protobuf"
}

// TracerOf returns a Tracer for what another service did and reported to this
// process.
func (e *Exporter) TracerOf(ctx context.Context, service string) (*tracing.Tracer, error) {
	return e.tracer(ctx, service)
}

func (e *Exporter) tracer(ctx context.Context, service string, last ...resource.Option) (*tracing.Tracer, error) {
	attrs := []attribute.KeyValue{attribute.String("service.name", service), attribute.String("service.version", e.c.Version)}
	if e.c.Instance != "" {
		attrs = append(attrs, attribute.String("service.instance.id", e.c.Instance))
	}
	r, err := resource.New(ctx, append([]resource.Option{resource.WithTelemetrySDK(), resource.WithAttributes(attrs...)}, last...)...)
	if err != nil {
		return nil, fmt.Errorf("read OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	p := trace.NewTracerProvider(trace.WithSpanProcessor(e.processor), trace.WithResource(r))
	e.providers = append(e.providers, p)
	return tracing.New(p), nil
}

// Stop exports the spans that have ended, until ctx ends.
func (e *Exporter) Stop(ctx context.Context) error {
	var errs []error
	if e.processor != nil {
		errs = append(errs, e.processor.Shutdown(ctx)) // which shuts the receivers down
	}
	for _, p := range e.providers {
		errs = append(errs, p.Shutdown(ctx))
	}
	return errors.Join(errs...)
}

// complainEvery is the minimum interval between log lines about failed exports.
const complainEvery = time.Minute

// tolerant exports to all receivers and logs errors instead of returning them.
type tolerant struct {
	receivers []trace.SpanExporter
	log       *slog.Logger

	mu         sync.Mutex
	complained time.Time
}

func (x *tolerant) ExportSpans(ctx context.Context, spans []trace.ReadOnlySpan) error {
	for _, r := range x.receivers {
		if err := r.ExportSpans(ctx, spans); err != nil {
			x.complain(err, len(spans))
		}
	}
	return nil
}

func (x *tolerant) complain(err error, lost int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if time.Since(x.complained) < complainEvery {
		return
	}
	x.complained = time.Now()
	x.log.Warn("cannot export traces; these spans are lost. Check the receiver, and the OTEL_EXPORTER_OTLP_ variables", "spans", lost, "error", err)
}

func (x *tolerant) Shutdown(ctx context.Context) error {
	var errs []error
	for _, r := range x.receivers {
		errs = append(errs, r.Shutdown(ctx))
	}
	return errors.Join(errs...)
}
