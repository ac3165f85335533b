package base

import (
	"context"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/tracing/otlp"
)

// Traces describes the export of traces.
type Traces struct {
	Enable       bool   // exports to the receiver of the OTEL_EXPORTER_OTLP_ variables
	HoneycombKey string // also exports to Honeycomb; "" does not
	Logs         bool   // adds log lines to traces
}

// Enabled reports whether traces are exported.
func (t Traces) Enabled() bool { return t.config().Enabled() }

func (t Traces) config() otlp.Config {
	return otlp.Config{Enable: t.Enable, HoneycombKey: t.HoneycombKey, Logs: t.Logs, Service: "coder-server"}
}

// StartTraces sets the Tracers and the log of b, if traces are exported. The
// caller calls StopTraces after everything else.
func (b *Base) StartTraces(ctx context.Context, t Traces, secrets []string) error {
	c := t.config()
	if !c.Enabled() {
		return nil
	}
	c.Version, c.Instance, c.Log, c.Secrets = b.Version, b.Replica.String(), b.Log, secrets
	e, err := otlp.New(ctx, c)
	if err != nil {
		return err
	}
	b.traces, b.Tracer, b.Log = e, e.Tracer, e.Log
	b.Agents, err = e.TracerOf(ctx, "coder-agent")
	return err
}

// StopTraces exports the last spans. An unreachable receiver does not fail the
// stop, and delays it by at most five seconds.
func (b *Base) StopTraces(ctx context.Context) {
	if b.traces == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := b.traces.Stop(ctx); err != nil {
		b.Log.WarnContext(ctx, "the last spans could not be exported", "error", err)
	}
}
