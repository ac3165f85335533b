package presence_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/agenttest"
	"github.com/seed-2a7f8fe7/coder/internal/otlptest"
	"github.com/seed-2a7f8fe7/coder/internal/presence"
	"github.com/seed-2a7f8fe7/coder/internal/tracing/otlp"
)

// TestAgentTrace: what an agent reports about its start is part of the trace of
// its build.
func TestAgentTrace(t *testing.T) {
	receiver := otlptest.Start(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.URL)
	exporter, err := otlp.New(t.Context(), otlp.Config{Enable: true, Service: "coder-server", Log: slog.New(slog.DiscardHandler)})
	must(t, err)
	tracer, err := exporter.TracerOf(t.Context(), "coder-agent")
	must(t, err)
	h := agenttest.New(t, func(p *presence.Config) { p.Tracer = tracer })
	a := h.Workspace("dev", func(a *provisioner.Agent) {
		a.Scripts = []*provisioner.Script{{DisplayName: "start", Script: "true", RunOnStart: true}}
	})
	c := connect(t, h, a.Token)
	m, err := h.Presence.Hello(t.Context(), c, presence.Hello{Certificate: []byte("cert")})
	must(t, err)
	const id = "0af7651916cd43dd8448eb211c80319c"
	_, err = h.Store.Pool().Exec(t.Context(), `UPDATE provisioner_jobs SET trace = jsonb_build_object('traceparent', $1::text), completed_at = now() - interval '1 minute'
		WHERE id = $2`, "00-"+id+"-b7ad6b7169203331-01", c.Agent.JobID)
	must(t, err)

	begin := time.Now()
	must(t, h.Presence.SetLifecycle(t.Context(), c.Agent, codersdk.WorkspaceAgentLifecycleStarting, begin.Add(-7*time.Second)))
	must(t, h.Presence.AddScriptTiming(t.Context(), c.Agent, presence.ScriptTiming{
		ScriptID: m.Scripts[0].ID, StartedAt: begin.Add(-6 * time.Second), EndedAt: begin.Add(-3 * time.Second), ExitCode: 3, Stage: "start", Status: "exit_failure",
	}))
	must(t, h.Presence.SetLifecycle(t.Context(), c.Agent, codersdk.WorkspaceAgentLifecycleStartError, begin.Add(-2*time.Second)))
	must(t, exporter.Stop(context.Background()))

	took := map[string]time.Duration{}
	for _, s := range receiver.Spans() {
		if s.Trace() != id || s.Service != "coder-agent" || s.Parent() != "b7ad6b7169203331" {
			t.Errorf("span %q is of the trace %s, service %s, parent %s", s.Name, s.Trace(), s.Service, s.Parent())
		}
		took[s.Name] = time.Duration(s.EndTimeUnixNano - s.StartTimeUnixNano).Round(time.Second)
		if s.Name == "agent script" && (s.Attribute("coder.script.stage") != "start" || s.Status.Message != "failed") {
			t.Errorf("the span of the script is %v", s)
		}
	}
	if took["agent connect"] != 53*time.Second || took["agent script"] != 3*time.Second || took["agent start"] != 5*time.Second || len(took) != 3 {
		t.Errorf("the spans took %v", took)
	}
}
