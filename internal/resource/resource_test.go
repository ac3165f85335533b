package resource_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/dbcrypt"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgrestest"
	"github.com/seed-2a7f8fe7/coder/internal/resource"
)

// newJob makes a job that resources can belong to.
func newJob(t *testing.T, s *postgres.Store) uuid.UUID {
	t.Helper()
	id := uuid.New()
	for _, sql := range []string{
		`INSERT INTO organizations (id, name, created_at, updated_at) VALUES ($1::uuid, $1::uuid::text, now(), now())`,
		`INSERT INTO users (id, email, username, login_type, status, created_at, updated_at) VALUES ($1::uuid, $1::uuid::text, $1::uuid::text, 'none', 'active', now(), now())`,
		`INSERT INTO files (id, hash, created_by, mimetype, data, created_at) VALUES ($1, '', $1, '', '', now())`,
		`INSERT INTO job_tag_sets (organization_id, key, tags) VALUES ($1, '', '{}')`,
		`INSERT INTO provisioner_jobs (id, organization_id, initiator_id, type, provisioner, tag_set_id, file_id, input, created_at, updated_at)
			VALUES ($1, $1, $1, 'workspace_build', 'echo', (SELECT id FROM job_tag_sets WHERE organization_id = $1), $1, '{}', now(), now())`,
	} {
		if _, err := s.Pool().Exec(t.Context(), sql, id); err != nil {
			t.Fatal(err)
		}
	}
	return id
}

func agent(name string) *provisioner.Agent {
	return &provisioner.Agent{Name: name, OperatingSystem: "linux", Architecture: "arm64", Auth: &provisioner.Agent_Token{Token: uuid.NewString()}}
}

func TestInsertAndLoad(t *testing.T) {
	s := postgrestest.New(t)
	now := time.Now().UTC().Truncate(time.Microsecond)
	first, second := agent("first"), agent("second")
	first.Order, second.Order = 2, 1
	first.Metadata = []*provisioner.Agent_Metadata{{Key: "b", Order: 2}, {Key: "a", Order: 1}, {Key: "c", Order: 2}}
	first.Apps = []*provisioner.App{
		{Slug: "z", Order: 1, DisplayName: "Zed", SharingLevel: provisioner.AppSharingLevel_PUBLIC, OpenIn: provisioner.AppOpenIn_TAB, Url: "u", Hidden: true, Group: "g", Tooltip: "t"},
		{Slug: "a", Order: 2, Command: "top", SharingLevel: provisioner.AppSharingLevel_AUTHENTICATED},
	}
	rs := []*provisioner.Resource{
		{Name: "pod", Type: "kubernetes_pod", Agents: []*provisioner.Agent{first, second}, Icon: "/i", InstanceType: "big", DailyCost: 7, Hide: true},
		{Name: "disk", Type: "volume", Metadata: []*provisioner.Resource_Metadata{{Key: "k", Value: "v", Sensitive: true}, {Key: "null", IsNull: true}}},
	}
	job, empty := newJob(t, s), newJob(t, s)
	if err := resource.Insert(t.Context(), s.Queries, job, codersdk.WorkspaceTransitionStart, rs, resource.Options{Now: now}); err != nil {
		t.Fatal(err)
	}
	if err := resource.Insert(t.Context(), s.Queries, empty, codersdk.WorkspaceTransitionStop, nil, resource.Options{Now: now}); err != nil {
		t.Fatal(err)
	}
	all, err := resource.Load(t.Context(), s.Queries, now, []uuid.UUID{job, empty})
	if err != nil || len(all) != 1 || len(all[job]) != 2 {
		t.Fatalf("loaded %v, %v", all, err)
	}
	pod, disk := all[job][0], all[job][1]
	if pod.Name != "pod" || !pod.Hide || pod.DailyCost != 7 || pod.JobID != job || !pod.CreatedAt.Equal(now) || pod.WorkspaceTransition != "start" {
		t.Errorf("pod: %+v", pod)
	}
	if diff := cmp.Diff([]codersdk.WorkspaceResourceMetadata{{Key: "type", Value: "big"}}, pod.Metadata); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]codersdk.WorkspaceResourceMetadata{{Key: "k", Value: "v", Sensitive: true}}, disk.Metadata); diff != "" || disk.Agents == nil {
		t.Error(diff, disk.Agents)
	}
	if len(pod.Agents) != 2 || pod.Agents[0].Name != "second" || pod.Agents[1].Name != "first" {
		t.Fatalf("agents out of order: %+v", pod.Agents)
	}
	a := pod.Agents[1]
	if len(a.Apps) != 2 || a.Apps[0].Slug != "z" || a.Apps[0].DisplayName != "Zed" || a.Apps[0].SharingLevel != "public" || a.Apps[0].OpenIn != "tab" || !a.Apps[0].Hidden {
		t.Errorf("first app: %+v", a.Apps)
	}
	if b := a.Apps[1]; b.DisplayName != "a" || b.SharingLevel != "authenticated" || b.OpenIn != "slim-window" || b.Health != "disabled" || b.Statuses == nil {
		t.Errorf("second app: %+v", b)
	}
	if a.StartupScriptBehavior != "non-blocking" || a.Latency == nil || a.Subsystems == nil || a.Scripts == nil || a.LogSources == nil || a.EnvironmentVariables == nil {
		t.Errorf("agent: %+v", a)
	}
	row, err := s.ResourceAgentsOfJobs(t.Context(), []uuid.UUID{job})
	if hash := dbcrypt.HashAgentToken(uuid.MustParse(first.GetToken())); err != nil || row[1].Token != nil || !bytes.Equal(row[1].TokenHash, hash) {
		t.Errorf("token %v, hash %x, %v", row[1].Token, row[1].TokenHash, err)
	}
	var keys string
	for _, m := range row[1].MetadataItems {
		keys += m.Key
	}
	if keys != "abc" {
		t.Errorf("metadata in the order %s", keys)
	}
}

func TestPreviewsHaveNoToken(t *testing.T) {
	s := postgrestest.New(t)
	job := newJob(t, s)
	rs := []*provisioner.Resource{{Name: "a", Type: "b", Agents: []*provisioner.Agent{agent("main")}}}
	if err := resource.Insert(t.Context(), s.Queries, job, codersdk.WorkspaceTransitionStart, rs, resource.Options{Now: time.Now(), Preview: true}); err != nil {
		t.Fatal(err)
	}
	row, err := s.ResourceAgentsOfJobs(t.Context(), []uuid.UUID{job})
	if err != nil || len(row) != 1 || row[0].Token != nil || row[0].TokenHash != nil {
		t.Errorf("an agent of a preview has a token: %v, %v", row, err)
	}
}

func TestRefusedResources(t *testing.T) {
	s := postgrestest.New(t)
	badToken, app1, app2, noSlug := agent("main"), agent("one"), agent("two"), agent("main")
	badToken.Auth = &provisioner.Agent_Token{Token: "secret"}
	app1.Apps = []*provisioner.App{{Slug: "code"}}
	app2.Apps = []*provisioner.App{{Slug: "Code"}}
	noSlug.Apps = []*provisioner.App{{}}
	for want, agents := range map[string][]*provisioner.Agent{
		"Two agents are named":   {agent("main"), agent("Main")},
		"has no name":            {agent("")},
		"was not created by":     {badToken},
		"Two apps have the slug": {app1, app2},
		"has no slug":            {noSlug},
	} {
		job := newJob(t, s)
		rs := []*provisioner.Resource{{Name: "r", Type: "t", Agents: agents}}
		err := resource.Insert(t.Context(), s.Queries, job, codersdk.WorkspaceTransitionStart, rs, resource.Options{Now: time.Now()})
		if !codersdk.Is(err, codersdk.CodeInvalid) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("got %v, want it to say %q", err, want)
		}
		if got, err := resource.Load(t.Context(), s.Queries, time.Now(), []uuid.UUID{job}); err != nil || len(got) != 0 {
			t.Errorf("a refused insert left %v, %v", got, err)
		}
	}
}
