package provisioner

import (
	"context"
	"log/slog"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/option"
	"github.com/seed-2a7f8fe7/coder/internal/tracing/otlp"
)

// traceOptions holds the flags about traces. They are those of the server.
type traceOptions struct {
	enable, logs bool
	honeycomb    string
}

func (o *traceOptions) options() []*option.Option {
	return []*option.Option{
		option.Bool(&o.enable, "trace", "Export traces with OTLP, as the standard OTEL_ variables configure").Env("CODER_TRACE_ENABLE").Def("false"),
		option.String(&o.honeycomb, "trace-honeycomb-api-key", "API key of Honeycomb, to which traces are also exported").Env("CODER_TRACE_HONEYCOMB_API_KEY"),
		option.Bool(&o.logs, "trace-logs", "Add log lines to traces").Env("CODER_TRACE_LOGS").Def("false"),
	}
}

// start starts the export of traces. It returns nil if they are not enabled.
func (o *traceOptions) start(ctx context.Context, log *slog.Logger, name string, secrets ...string) (*otlp.Exporter, error) {
	c := otlp.Config{
		Enable: o.enable, HoneycombKey: o.honeycomb, Service: "coder-provisioner", Version: codersdk.Version(), Instance: name,
		Log: log, Logs: o.logs, Secrets: secrets,
	}
	if !c.Enabled() {
		return nil, nil
	}
	return otlp.New(ctx, c)
}

// stopTraces exports the last spans. An unreachable receiver delays the end of
// the program by at most five seconds.
func stopTraces(ctx context.Context, e *otlp.Exporter) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := e.Stop(ctx); err != nil {
		e.Log.WarnContext(ctx, "the last spans could not be exported", "error", err)
	}
}
