package servertest_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/echo"
	"github.com/seed-2a7f8fe7/coder/internal/provisionerd"
	"github.com/seed-2a7f8fe7/coder/internal/server"
	"github.com/seed-2a7f8fe7/coder/internal/servertest"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

const daemonPSK = "a long pre-shared key"

// echoDaemon runs an external daemon until the test ends or stop is called.
func echoDaemon(t *testing.T, s *servertest.Server, w provisionerd.WebSocket) (stop func()) {
	t.Helper()
	if w.Client == nil {
		c := *s.Client
		w.Client = &c
	}
	w.Provisioners = []string{"echo"}
	d, err := provisionerd.New(provisionerd.Config{Dial: w.Dial, Name: w.Name, Engines: map[string]provisioner.Engine{"echo": echo.Engine{}}})
	must(t, err)
	must(t, d.Start(t.Context()))
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		ctx, cancel := context.WithTimeout(context.Background(), testwait.Limit)
		defer cancel()
		must(t, d.Stop(ctx))
	}
	t.Cleanup(stop)
	return stop
}

func sql(t *testing.T, s *servertest.Server, query string, args ...any) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), s.PostgresURL)
	must(t, err)
	defer c.Close(t.Context()) //nolint:errcheck // the test's own
	_, err = c.Exec(t.Context(), query, args...)
	must(t, err)
}

func importEcho(t *testing.T, s *servertest.Server, tags map[string]string) codersdk.TemplateVersion {
	t.Helper()
	archive, err := echo.Archive(map[string]string{"readme.md": "x"})
	must(t, err)
	up, err := s.Client.Upload(t.Context(), "application/x-tar", bytes.NewReader(archive))
	must(t, err)
	v, err := s.Client.CreateTemplateVersion(t.Context(), "default", codersdk.CreateTemplateVersionRequest{FileID: uuid.MustParse(up.Hash), Provisioner: "echo", StorageMethod: "file", Tags: tags})
	must(t, err)
	return v
}

// TestJobThatNoLongerDecodes spoils the input of pending jobs: each fails once,
// with a message, and the daemon takes the next.
func TestJobThatNoLongerDecodes(t *testing.T) {
	s := servertest.Start(t, func(c *server.Config) { c.Provisioning.Daemons, c.Provisioning.PSK = 0, daemonPSK })
	ctx, c := t.Context(), s.Client
	psk := provisionerd.WebSocket{PSK: daemonPSK, Name: "far"}
	stop := echoDaemon(t, s, psk)
	v := importEcho(t, s, nil)
	follow(t, c, "/templateversions/"+v.ID.String()+"/logs")
	tpl, err := c.CreateTemplate(ctx, "default", codersdk.CreateTemplateRequest{Name: "echo", TemplateVersionID: v.ID})
	must(t, err)
	stop()

	var jobs []uuid.UUID
	for _, name := range []string{"a", "b", "c"} {
		w, err := c.CreateWorkspace(ctx, "me", codersdk.CreateWorkspaceRequest{Name: name, TemplateID: tpl.ID})
		must(t, err)
		jobs = append(jobs, w.LatestBuild.Job.ID)
	}
	broken := importEcho(t, s, nil)
	dry, err := c.CreateTemplateVersionDryRun(ctx, v.ID, codersdk.CreateTemplateVersionDryRunRequest{WorkspaceName: "x"})
	must(t, err)
	jobs = append(jobs, broken.Job.ID, dry.ID)
	for i, input := range []string{`{"workspace_build_id": 7}`, `"text"`, `{}`, `{"template_version_id": [1]}`, `{"template_version_id": "nonsense"}`} {
		sql(t, s, `UPDATE provisioner_jobs SET input = $1 WHERE id = $2`, input, jobs[i])
	}
	good := importEcho(t, s, nil)
	echoDaemon(t, s, psk)
	follow(t, c, "/templateversions/"+good.ID.String()+"/logs")
	for i, id := range jobs {
		j, err := c.ProvisionerJob(ctx, "default", id)
		must(t, err)
		if j.Status != codersdk.ProvisionerJobStatusFailed || !strings.Contains(j.Error, "cannot prepare the job") {
			t.Errorf("job %d ended as %s: %q", i, j.Status, j.Error)
		}
	}
	if g, err := c.ProvisionerJob(ctx, "default", good.Job.ID); err != nil || g.Status != codersdk.ProvisionerJobStatusSucceeded {
		t.Errorf("the next job ended as %s: %s, %v", g.Status, g.Error, err)
	}
}
