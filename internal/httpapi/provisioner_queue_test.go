package httpapi_test

import (
	"bytes"
	"context"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/echo"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/provisionerd"
	"github.com/seed-2a7f8fe7/coder/internal/server"
	"github.com/seed-2a7f8fe7/coder/internal/servertest"
)

// daemon starts a live provisioner and waits until it is listed; stop ends it.
func daemon(t *testing.T, s *servertest.Server, w provisionerd.WebSocket) (stop func()) {
	t.Helper()
	if w.Client == nil {
		w.Client = s.Client
	}
	if w.Provisioners == nil {
		w.Provisioners = []string{"echo"}
	}
	engines := map[string]provisioner.Engine{}
	for _, k := range w.Provisioners {
		engines[k] = echo.New()
	}
	d, err := provisionerd.New(provisionerd.Config{Dial: w.Dial, Name: w.Name, Engines: engines})
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	must(t, d.Start(ctx))
	ended := false
	stop = func() {
		if !ended {
			ended = true
			cancel()
			must(t, d.Stop(context.Background()))
		}
	}
	t.Cleanup(stop)
	see(t, s, w.Name, func(d codersdk.ProvisionerDaemon) bool { return d.Status != codersdk.ProvisionerDaemonStatusOffline })
	return stop
}

// see waits until a daemon is as wanted.
func see(t *testing.T, s *servertest.Server, name string, want func(codersdk.ProvisionerDaemon) bool) codersdk.ProvisionerDaemon {
	t.Helper()
	for {
		list, err := s.Client.ProvisionerDaemons(t.Context(), "default", nil)
		must(t, err)
		if i := slices.IndexFunc(list, func(d codersdk.ProvisionerDaemon) bool { return d.Name == name }); i >= 0 && want(list[i]) {
			return list[i]
		}
	}
}

// version pushes a version and does not wait for its import.
func version(t *testing.T, c *codersdk.Client, kind string, files map[string]string, tags codersdk.Tags) codersdk.TemplateVersion {
	t.Helper()
	tar, err := echo.Archive(files)
	must(t, err)
	up, err := c.Upload(t.Context(), "application/x-tar", bytes.NewReader(tar))
	must(t, err)
	v, err := c.CreateTemplateVersion(t.Context(), "default", codersdk.CreateTemplateVersionRequest{
		FileID: uuid.MustParse(up.Hash), Provisioner: kind, StorageMethod: "file", Tags: codersdk.ProvisionerKeyTags(tags),
	})
	must(t, err)
	return v
}

// reasonOf returns what an explanation says of a daemon.
func reasonOf(t *testing.T, x codersdk.ProvisionerJobExplanation, name string) codersdk.ProvisionerRefusal {
	t.Helper()
	i := slices.IndexFunc(x.Daemons, func(r codersdk.ProvisionerRefusal) bool { return r.Name == name })
	if i < 0 {
		t.Fatalf("nothing is said of %q in %+v", name, x.Daemons)
	}
	return x.Daemons[i]
}

// TestExplainOverHTTP walks every reason with live provisioners.
func TestExplainOverHTTP(t *testing.T) {
	s := servertest.Start(t, func(c *server.Config) { c.Provisioning.Daemons = 0 })
	ctx, c := t.Context(), s.Client
	explain := func(id uuid.UUID) codersdk.ProvisionerJobExplanation {
		t.Helper()
		x, err := c.ExplainProvisionerJob(ctx, "default", id)
		must(t, err)
		return x
	}
	hang := map[string]string{"plan.jsonl": `{"hang": true}`}

	// Nobody is there at all.
	v := version(t, c, "echo", hang, codersdk.Tags{"env": "prod", "gpu": "yes"})
	const nobody = "No provisioner is connected to this organization, so the job waits. To start one: coder provisioner start --tag env=prod --tag gpu=yes"
	if v.ProvisionerWarning != nobody || v.MatchedProvisioners == nil || v.MatchedProvisioners.Count != 0 {
		t.Errorf("a push is answered %q, %+v", v.ProvisionerWarning, v.MatchedProvisioners)
	}
	x := explain(v.Job.ID)
	if x.Summary != nobody || len(x.Daemons) != 0 || x.NearestMiss != nil || x.EstimatedStart != nil || x.QueuePosition != 1 || x.QueueSize != 1 || x.Engine != "echo" {
		t.Errorf("with nobody there: %+v", x)
	}

	member, mira := s.Member(t, "mira")
	tools := provisionerd.WebSocket{Name: "tools", Provisioners: []string{"terraform"}, Tags: codersdk.Tags{"env": "prod", "gpu": "yes"}}
	daemon(t, s, tools)
	daemon(t, s, provisionerd.WebSocket{Name: "plain"})
	daemon(t, s, provisionerd.WebSocket{Name: "prod", Tags: codersdk.Tags{"env": "prod"}})
	daemon(t, s, provisionerd.WebSocket{Name: "test", Tags: codersdk.Tags{"env": "test", "gpu": "yes"}})
	daemon(t, s, provisionerd.WebSocket{Name: "hers", Client: member, Tags: codersdk.Tags{"scope": "user"}})
	old(t, s)
	x = explain(v.Job.ID)
	for name, want := range map[string]codersdk.ProvisionerReason{
		"tools": "engine_missing", "plain": "tag_missing", "prod": "tag_missing", "test": "tag_differs", "hers": "other_owner", "old": "version",
	} {
		if r := reasonOf(t, x, name); r.Reason != want || r.Message == "" {
			t.Errorf("%s: %+v, want %s", name, r, want)
		}
	}
	if r := reasonOf(t, x, "test"); !slices.Equal(r.DifferentTags, []codersdk.ProvisionerTagDiffers{{Name: "env", Job: "prod", Daemon: "test"}}) {
		t.Errorf("differences are %+v", r.DifferentTags)
	}
	if r := reasonOf(t, x, "prod"); len(r.MissingTags) != 1 || r.MissingTags["gpu"] != "yes" {
		t.Errorf("missing are %+v", r.MissingTags)
	}
	if m := x.NearestMiss; m == nil || m.DaemonName != "prod" || m.Fix != "coder provisioner start --name prod --tag env=prod --tag gpu=yes" || m.TemplateFix != "coder templates push --provisioner-tag env=prod" {
		t.Errorf("the nearest miss is %+v", m)
	}
	if x.Summary != x.Warning || !strings.Contains(x.Summary, "coder provisioner start --name prod") {
		t.Errorf("the summary is %q", x.Summary)
	}

	// What would fix it does fix it; then it is busy, and offline.
	stop := daemon(t, s, provisionerd.WebSocket{Name: "prod-gpu", Tags: codersdk.Tags{"env": "prod", "gpu": "yes", "zone": "a"}})
	see(t, s, "prod-gpu", func(d codersdk.ProvisionerDaemon) bool { return d.Status == codersdk.ProvisionerDaemonStatusBusy })
	if x = explain(v.Job.ID); x.Status != codersdk.ProvisionerJobStatusRunning || !strings.Contains(x.Summary, `the provisioner "prod-gpu" runs it`) || len(x.Daemons) != 0 {
		t.Errorf("while it runs: %+v", x)
	}
	next := version(t, c, "echo", hang, codersdk.Tags{"env": "prod", "gpu": "yes"})
	if next.ProvisionerWarning != "" || next.MatchedProvisioners.Available != 1 {
		t.Errorf("with a busy provisioner: %q", next.ProvisionerWarning)
	}
	x = explain(next.Job.ID)
	if r := reasonOf(t, x, "prod-gpu"); r.Reason != "busy" || r.BusyWith == nil || *r.BusyWith != v.Job.ID || r.Since == nil {
		t.Errorf("busy: %+v", r)
	}
	if x.NearestMiss != nil || x.Warning != "" || x.EstimatedStart != nil || x.Matched.Available != 1 {
		t.Errorf("busy: %+v", x)
	}
	must(t, c.CancelTemplateVersion(ctx, v.ID))
	see(t, s, "prod-gpu", func(d codersdk.ProvisionerDaemon) bool { return d.CurrentJob != nil && d.CurrentJob.ID == next.Job.ID })
	must(t, c.CancelTemplateVersion(ctx, next.ID))
	if x = explain(v.Job.ID); !strings.HasPrefix(x.Summary, "It does not wait: it ") || x.Status != codersdk.ProvisionerJobStatusCanceled {
		t.Errorf("when it is over: %+v", x)
	}
	stop()
	see(t, s, "prod-gpu", func(d codersdk.ProvisionerDaemon) bool { return d.Status == codersdk.ProvisionerDaemonStatusOffline })
	last := version(t, c, "echo", hang, codersdk.Tags{"env": "prod", "gpu": "yes"})
	if last.MatchedProvisioners.Count != 1 || last.MatchedProvisioners.Available != 0 || !strings.Contains(last.ProvisionerWarning, "offline, so it waits. To start one again: coder provisioner start --name prod-gpu --tag env=prod --tag gpu=yes --tag zone=a") {
		t.Errorf("all offline: %+v, %q", last.MatchedProvisioners, last.ProvisionerWarning)
	}
	x = explain(last.Job.ID)
	if r := reasonOf(t, x, "prod-gpu"); r.Reason != "offline" || r.Since == nil || x.NearestMiss == nil || x.NearestMiss.Reason != "offline" {
		t.Errorf("offline: %+v, nearest %+v", r, x.NearestMiss)
	}

	// What others' own provisioners are called is not a member's business.
	other, _ := s.Member(t, "nora")
	if _, err := other.ExplainProvisionerJob(ctx, "default", last.Job.ID); !codersdk.Is(err, codersdk.CodeNotFound) {
		t.Errorf("a stranger asks: %v", err)
	}
	if list, err := member.ProvisionerDaemons(ctx, "default", nil); err != nil || len(list) != 1 || list[0].Name != "hers" || list[0].Tags["owner"] != mira.ID.String() {
		t.Errorf("a member lists %+v, %v", list, err)
	}
	if list, err := other.ProvisionerDaemons(ctx, "default", nil); err != nil || len(list) != 0 {
		t.Errorf("another member lists %+v, %v", list, err)
	}
	if list, err := other.ProvisionerJobs(ctx, "default", nil); err != nil || len(list) != 0 {
		t.Errorf("another member lists the jobs %+v, %v", list, err)
	}
}

// old is a provisioner that a newer server let in, which this one cannot talk to.
func old(t *testing.T, s *servertest.Server) {
	t.Helper()
	store, err := postgres.Open(t.Context(), postgres.Config{URL: s.PostgresURL})
	must(t, err)
	defer store.Close()
	_, err = store.Pool().Exec(t.Context(), `INSERT INTO provisioner_daemons
		(id, organization_id, key_id, name, provisioners, tags, version, api_version, created_at, last_seen_at)
		SELECT gen_random_uuid(), organization_id, key_id, 'old', provisioners, tags, 'v3.0.0', '2.0', now(), now() FROM provisioner_daemons WHERE name = 'tools'`)
	must(t, err)
}

// TestExplainToMembers is why a build waits, asked by whose it is.
func TestExplainToMembers(t *testing.T) {
	s := servertest.Start(t, func(c *server.Config) { c.Provisioning.Daemons = 0 })
	ctx, c := t.Context(), s.Client
	stop := daemon(t, s, provisionerd.WebSocket{Name: "one"})
	v := push(t, c, map[string]string{"apply.jsonl": `{"hang": true}`, "parse.jsonl": `{"complete": {"workspaceTags": {"zone": "\"a\""}}}`}, nil)
	tpl, err := c.CreateTemplate(ctx, "default", codersdk.CreateTemplateRequest{Name: "t", TemplateVersionID: v.ID})
	must(t, err)
	stop()
	see(t, s, "one", func(d codersdk.ProvisionerDaemon) bool { return d.Status == codersdk.ProvisionerDaemonStatusOffline })
	daemon(t, s, provisionerd.WebSocket{Name: "b", Tags: codersdk.Tags{"zone": "b"}})
	ada, _ := s.Member(t, "ada")
	eve, _ := s.Member(t, "eve")
	daemon(t, s, provisionerd.WebSocket{Name: "eves", Client: eve, Tags: codersdk.Tags{"scope": "user", "zone": "a"}})

	w, err := ada.CreateWorkspace(ctx, "me", codersdk.CreateWorkspaceRequest{TemplateID: tpl.ID, Name: "dev"})
	must(t, err)
	const line = `tags = { "zone" = "b" } in data "coder_workspace_tags"`
	if warning := w.LatestBuild.ProvisionerWarning; !strings.Contains(warning, "coder provisioner start --name b-2 --tag zone=a") || !strings.Contains(warning, line) || strings.Contains(warning, "eves") {
		t.Errorf("the new workspace is answered %q", warning)
	}
	job := w.LatestBuild.Job.ID
	x, err := ada.ExplainProvisionerJob(ctx, "default", job)
	must(t, err)
	if x.NearestMiss == nil || x.NearestMiss.DaemonName != "b" || x.NearestMiss.TemplateFix != line || x.Summary != w.LatestBuild.ProvisionerWarning {
		t.Errorf("%+v", x)
	}
	hidden := slices.IndexFunc(x.Daemons, func(r codersdk.ProvisionerRefusal) bool { return r.Name == "" })
	if len(x.Daemons) != 3 || hidden < 0 || x.Daemons[hidden].Reason != "other_owner" || len(x.Daemons[hidden].Tags) != 0 || x.Daemons[hidden].Version != "" {
		t.Errorf("daemons are %+v", x.Daemons)
	}
	if list, err := ada.ProvisionerJobs(ctx, "default", url.Values{"status": {"pending"}}); err != nil || len(list) != 1 || list[0].ID != job {
		t.Errorf("her own jobs are %+v, %v", list, err)
	}
	for name, who := range map[string]*codersdk.Client{"a stranger": eve} {
		if _, err := who.ExplainProvisionerJob(ctx, "default", job); !codersdk.Is(err, codersdk.CodeNotFound) {
			t.Errorf("%s asks: %v", name, err)
		}
	}
	for _, role := range []string{"template-admin", "owner"} {
		who, _ := s.Member(t, role+"-x", role)
		if x, err := who.ExplainProvisionerJob(ctx, "default", job); err != nil || len(x.Daemons) != 3 || slices.ContainsFunc(x.Daemons, func(r codersdk.ProvisionerRefusal) bool { return r.Name == "" }) {
			t.Errorf("%s asks: %+v, %v", role, x.Daemons, err)
		}
	}
	for _, id := range []uuid.UUID{uuid.New(), uuid.Nil} {
		if _, err := c.ExplainProvisionerJob(ctx, "default", id); !codersdk.Is(err, codersdk.CodeNotFound) {
			t.Errorf("job %s: %v", id, err)
		}
	}
	if status, body := raw(t, c, "/organizations/default/provisionerjobs/x/explain", nil, nil); status != 400 {
		t.Errorf("a job that is no id: %d %s", status, body)
	}

	// The dry run of a version warns as well.
	dry, err := ada.CreateTemplateVersionDryRun(ctx, v.ID, codersdk.CreateTemplateVersionDryRunRequest{})
	must(t, err)
	if !strings.Contains(dry.ProvisionerWarning, "offline, so it waits. To start one again: coder provisioner start --name one") {
		t.Errorf("the dry run is answered %q", dry.ProvisionerWarning)
	}
	if x, err := ada.ExplainProvisionerJob(ctx, "default", dry.ID); err != nil || x.Type != codersdk.ProvisionerJobTypeTemplateVersionDryRun {
		t.Errorf("her dry run: %+v, %v", x, err)
	}
}

// TestExplainNamesNoStrangersJobs is who a provisioner is busy for.
func TestExplainNamesNoStrangersJobs(t *testing.T) {
	s := servertest.Start(t, func(c *server.Config) { c.Provisioning.Daemons = 0 })
	ctx, c := t.Context(), s.Client
	daemon(t, s, provisionerd.WebSocket{Name: "one"})
	v := push(t, c, map[string]string{"apply.jsonl": `{"hang": true}`}, nil)
	tpl, err := c.CreateTemplate(ctx, "default", codersdk.CreateTemplateRequest{Name: "t", TemplateVersionID: v.ID})
	must(t, err)
	ada, _ := s.Member(t, "ada")
	eve, _ := s.Member(t, "eve")
	first, err := ada.CreateWorkspace(ctx, "me", codersdk.CreateWorkspaceRequest{TemplateID: tpl.ID, Name: "dev"})
	must(t, err)
	see(t, s, "one", func(d codersdk.ProvisionerDaemon) bool { return d.Status == codersdk.ProvisionerDaemonStatusBusy })
	second, err := eve.CreateWorkspace(ctx, "me", codersdk.CreateWorkspaceRequest{TemplateID: tpl.ID, Name: "dev"})
	must(t, err)
	third, err := ada.CreateWorkspace(ctx, "me", codersdk.CreateWorkspaceRequest{TemplateID: tpl.ID, Name: "other"})
	must(t, err)
	x, err := eve.ExplainProvisionerJob(ctx, "default", second.LatestBuild.Job.ID)
	must(t, err)
	if r := reasonOf(t, x, "one"); r.Reason != "busy" || r.BusyWith != nil || r.Since == nil || x.QueuePosition == 0 {
		t.Errorf("a stranger's job: %+v", r)
	}
	x, err = ada.ExplainProvisionerJob(ctx, "default", third.LatestBuild.Job.ID)
	must(t, err)
	if r := reasonOf(t, x, "one"); r.BusyWith == nil || *r.BusyWith != first.LatestBuild.Job.ID {
		t.Errorf("her own job: %+v", r)
	}
	q, err := c.ProvisionerQueue(ctx, "default", url.Values{"target_seconds": {"30"}, "provisioner_tags": {`{}`}})
	must(t, err)
	if q.Count != 1 || len(q.TagSets) != 1 || q.TagSets[0].Pending != 2 || q.TagSets[0].Running != 1 || q.TagSets[0].Slots != 1 || q.TagSets[0].SlotsBusy != 1 || q.RecommendedSlots < 2 {
		t.Errorf("the queue is %+v", q)
	}
	if _, err := ada.ProvisionerQueue(ctx, "default", nil); !codersdk.Is(err, codersdk.CodeNotFound) {
		t.Errorf("a member reads the queue: %v", err)
	}
	for _, bad := range []url.Values{{"target_seconds": {"86401"}}, {"target_seconds": {"-1"}}, {"provisioner_tags": {"a=b"}}, {"offset": {"x"}}} {
		if status, body := raw(t, c, "/organizations/default/provisionerqueue", bad, nil); status != 400 || !strings.Contains(body, "validations") {
			t.Errorf("%v: %d %s", bad, status, body)
		}
	}
	for _, w := range []codersdk.Workspace{second, third, first} {
		must(t, c.CancelWorkspaceBuild(ctx, w.LatestBuild.ID, nil))
	}
}

// TestProvisionerWarningsOverHTTP holds the codes of provisioners whose version
// is not the server's.
func TestProvisionerWarningsOverHTTP(t *testing.T) {
	s := servertest.Start(t, func(c *server.Config) { c.Provisioning.Daemons, c.Version = 0, "v2.30.1" })
	daemon(t, s, provisionerd.WebSocket{Name: "same", Version: "v2.30.0"})
	daemon(t, s, provisionerd.WebSocket{Name: "behind", Version: "v2.29.9"})
	for name, want := range map[string]int{"same": 0, "behind": 1} {
		d := see(t, s, name, func(codersdk.ProvisionerDaemon) bool { return true })
		if len(d.Warnings) != want || want > 0 && d.Warnings[0].Code != codersdk.HealthCodeProvisionerVersion {
			t.Errorf("%s: %+v", name, d.Warnings)
		}
	}
}
