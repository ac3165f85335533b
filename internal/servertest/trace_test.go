package servertest_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	otlpproto "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/echo"
	"github.com/seed-2a7f8fe7/coder/internal/otlptest"
	"github.com/seed-2a7f8fe7/coder/internal/provisionerd"
	"github.com/seed-2a7f8fe7/coder/internal/provisionerd/engines"
	"github.com/seed-2a7f8fe7/coder/internal/server"
	"github.com/seed-2a7f8fe7/coder/internal/server/base"
	"github.com/seed-2a7f8fe7/coder/internal/servertest"
	"github.com/seed-2a7f8fe7/coder/internal/terraform"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
	"github.com/seed-2a7f8fe7/coder/internal/tracing/otlp"
)

const tracedTemplate = `
terraform {
  required_providers {
    coder = { source = "coder/coder" }
  }
}
data "coder_workspace" "me" {}
data "coder_parameter" "password" {
  name    = "password"
  default = "none"
}
resource "terraform_data" "main" {
  count = data.coder_workspace.me.start_count
  input = data.coder_parameter.password.value
}
`

// traceReceiver receives the traces of everything that the test starts after it.
func traceReceiver(t *testing.T) *otlptest.Receiver {
	t.Helper()
	r := otlptest.Start(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", r.URL)
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "20")
	return r
}

// everyLine returns a log that formats lines of every level and keeps none.
func everyLine() *slog.Logger {
	return slog.New(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// tracedProvisioner runs an external provisioner with Terraform that exports its
// traces.
func tracedProvisioner(t *testing.T, s *servertest.Server) {
	t.Helper()
	if _, err := exec.LookPath("terraform"); err != nil {
		t.Skip("terraform is not on PATH: this test of the real thing does not run")
	}
	t.Setenv("TF_CLI_CONFIG_FILE", "/nonexistent")
	e, err := otlp.New(t.Context(), otlp.Config{Enable: true, Service: "coder-provisioner", Log: everyLine(), Logs: true})
	must(t, err)
	available, err := engines.New([]string{"terraform"}, terraform.Config{CacheDir: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
	must(t, err)
	c := *s.Client
	w := provisionerd.WebSocket{Client: &c, Name: "far", PSK: daemonPSK, Provisioners: []string{"terraform"}}
	d, err := provisionerd.New(provisionerd.Config{Dial: w.Dial, Name: w.Name, Engines: available, Log: e.Log, Tracer: e.Tracer})
	must(t, err)
	must(t, d.Start(t.Context()))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), testwait.Limit)
		defer cancel()
		must(t, d.Stop(ctx))
		must(t, e.Stop(ctx))
	})
}

// buildTraced builds a workspace whose parameter is secret.
func buildTraced(t *testing.T, s *servertest.Server, secret string) {
	t.Helper()
	ctx, c := t.Context(), s.Client
	archive, err := echo.Archive(map[string]string{"main.tf": tracedTemplate})
	must(t, err)
	up, err := c.Upload(ctx, "application/x-tar", bytes.NewReader(archive))
	must(t, err)
	v, err := c.CreateTemplateVersion(ctx, "default", codersdk.CreateTemplateVersionRequest{
		FileID: uuid.MustParse(up.Hash), Provisioner: "terraform", StorageMethod: "file",
	})
	must(t, err)
	follow(t, c, "/templateversions/"+v.ID.String()+"/logs")
	tpl, err := c.CreateTemplate(ctx, "default", codersdk.CreateTemplateRequest{Name: "docker", TemplateVersionID: v.ID})
	must(t, err)
	w, err := c.CreateWorkspace(ctx, "me", codersdk.CreateWorkspaceRequest{
		Name: "dev", TemplateID: tpl.ID, RichParameterValues: []codersdk.WorkspaceBuildParameter{{Name: "password", Value: secret}},
	})
	must(t, err)
	follow(t, c, "/workspacebuilds/"+w.LatestBuild.ID.String()+"/logs")
	w, err = c.Workspace(ctx, w.ID, nil)
	must(t, err)
	if got := w.LatestBuild.Job.Status; got != codersdk.ProvisionerJobStatusSucceeded {
		t.Fatalf("the build ended as %s: %s", got, w.LatestBuild.Job.Error)
	}
}

// TestTraceOfABuild: one trace leads from the request through the queue and the
// external provisioner to Terraform's commands and back to the database. No
// secret is part of it.
func TestTraceOfABuild(t *testing.T) {
	receiver := traceReceiver(t)
	s := servertest.Start(t, func(c *server.Config) {
		c.Provisioning.Daemons, c.Provisioning.PSK = 0, daemonPSK
		c.Observability.Traces = base.Traces{Enable: true, Logs: true}
		c.Log = everyLine()
	})
	tracedProvisioner(t, s)
	const secret = "hunter2-hunter2"
	buildTraced(t, s, secret)

	const request = "POST /api/v2/users/{user}/workspaces"
	parents := map[string]string{ // of each span of the trace: the span above it
		"query QueueAdd":                        "transaction workspace.(*Service).CreateWorkspace",
		"queue wait":                            request,
		"queue prepare":                         request,
		"provisioner job":                       request,
		"provisioner plan":                      "provisioner job",
		"terraform plan":                        "provisioner plan",
		"terraform apply":                       "provisioner apply",
		"provisioner call CompleteJob":          "provisioner job",
		"transaction queue.(*Service).Complete": "provisioner call CompleteJob",
	}
	services := map[string]string{request: "coder-server", "provisioner job": "coder-provisioner", "terraform apply": "coder-provisioner"}
	var trace []otlptest.Span
	testwait.Until(t, "the whole trace is exported", func() bool {
		trace = receiver.Trace(request)
		return slices.ContainsFunc(trace, func(s otlptest.Span) bool { return s.Name == "provisioner job" }) &&
			slices.ContainsFunc(trace, func(s otlptest.Span) bool { return s.Name == "provisioner call CompleteJob" })
	})
	name, names := map[string]string{}, []string{} // names by ID; names below names
	for _, s := range trace {
		name[s.ID()] = s.Name
	}
	for _, s := range trace {
		names = append(names, name[s.Parent()]+" > "+s.Name)
	}
	for below, parent := range parents {
		if !slices.Contains(names, parent+" > "+below) {
			t.Errorf("no span %q below %q", below, parent)
		}
	}
	for name, service := range services {
		i := slices.IndexFunc(trace, func(s otlptest.Span) bool { return s.Name == name })
		if i < 0 || trace[i].Service != service {
			t.Errorf("span %q is not of %s", name, service)
		}
	}
	for span, line := range map[string]string{request: "request", "provisioner job": "job succeeded"} {
		i := slices.IndexFunc(trace, func(s otlptest.Span) bool { return s.Name == span })
		if i < 0 || !slices.ContainsFunc(trace[i].Events, func(e *otlpproto.Span_Event) bool { return e.Name == line }) {
			t.Errorf("span %q has no event %q", span, line)
		}
	}
	if t.Failed() {
		slices.Sort(names)
		t.Logf("the trace has:\n%s", strings.Join(slices.Compact(names), "\n"))
	}
	for kind, hidden := range map[string]string{"parameter": secret, "session token": s.Client.SessionToken, "pre-shared key": daemonPSK, "password": servertest.Password} {
		if bytes.Contains(receiver.Raw(), []byte(hidden)) {
			t.Errorf("the traces contain the %s", kind)
		}
	}
}
