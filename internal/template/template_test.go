package template_test

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/template"
)

func TestCreateTemplate(t *testing.T) {
	h := newHouse(t)
	ctx := t.Context()
	v := h.create(t, nil)
	h.importing(t, nil, nil)
	_, err := h.CreateTemplate(ctx, h.member, h.org, codersdk.CreateTemplateRequest{Name: "tpl", TemplateVersionID: v.ID})
	wants(t, err, codersdk.CodeForbidden, "")

	for name, req := range map[string]codersdk.CreateTemplateRequest{
		"name":                               {Name: "my template"},
		"display_name":                       {Name: "a", DisplayName: " x"},
		"description":                        {Name: "a", Description: strings.Repeat("é", 64)},
		"default_ttl_ms":                     {Name: "a", DefaultTTLMS: -1},
		"activity_bump_ms":                   {Name: "a", ActivityBumpMS: new(int64(-1))},
		"prebuild_budget":                    {Name: "a", PrebuildBudget: 1001},
		"autostart_requirement.days_of_week": {Name: "a", AutostartRequirement: &codersdk.TemplateAutostartRequirement{DaysOfWeek: []string{"caturday"}}},
		"autostop_requirement.days_of_week":  {Name: "a", AutostopRequirement: &codersdk.TemplateAutostopRequirement{DaysOfWeek: []string{""}}},
		"autostop_requirement.weeks":         {Name: "a", AutostopRequirement: &codersdk.TemplateAutostopRequirement{Weeks: 17}},
		"max_port_share_level":               {Name: "a", MaxPortShareLevel: "world"},
		"cors_behavior":                      {Name: "a", CORSBehavior: "loose"},
		"template_version_id":                {Name: "a", TemplateVersionID: uuid.New()},
		"icon":                               {Name: "a", Icon: "\x00"},
	} {
		if req.TemplateVersionID == uuid.Nil {
			req.TemplateVersionID = v.ID
		}
		_, err := h.CreateTemplate(ctx, h.admin, h.org, req)
		wants(t, err, codersdk.CodeInvalid, "")
		if f := field(err); f != name {
			t.Errorf("field %q, want %q", f, name)
		}
	}

	tpl, err := h.CreateTemplate(ctx, h.admin, h.org, codersdk.CreateTemplateRequest{
		Name: "tpl", TemplateVersionID: v.ID, Icon: "/i.svg", AllowUserAutostop: new(false),
		AutostopRequirement: &codersdk.TemplateAutostopRequirement{DaysOfWeek: []string{"Sunday", "monday", "sunday"}, Weeks: 2},
	})
	if err != nil {
		t.Fatal(err)
	}
	if !tpl.AllowUserAutostart || tpl.AllowUserAutostop || !tpl.AllowUserCancelWorkspaceJobs || tpl.ActivityBumpMS != 3600_000 || tpl.Provisioner != "echo" ||
		!slices.Equal(tpl.AutostopRequirement.DaysOfWeek, []string{"monday", "sunday"}) || len(tpl.AutostartRequirement.DaysOfWeek) != 7 ||
		tpl.OrganizationName != "acme" || tpl.CreatedByName != "ada" || tpl.ActiveVersionID != v.ID || len(tpl.BuildTimeStats) != 3 {
		t.Fatalf("template %+v", tpl)
	}
	_, err = h.CreateTemplate(ctx, h.admin, h.org, codersdk.CreateTemplateRequest{Name: "tpl2", TemplateVersionID: v.ID})
	wants(t, err, codersdk.CodeInvalid, "another template")
	v2 := h.create(t, nil)
	h.importing(t, nil, nil)
	_, err = h.CreateTemplate(ctx, h.admin, h.org, codersdk.CreateTemplateRequest{Name: "TPL", TemplateVersionID: v2.ID})
	wants(t, err, codersdk.CodeConflict, "already exists")
	if field(err) != "name" {
		t.Fatalf("field %q", field(err))
	}
	if row, err := h.store.VersionByID(ctx, v2.ID); err != nil || row.TemplateVersion.TemplateID != nil {
		t.Fatalf("a refused template left its version taken: %v", err)
	}
}

// A template can be created before the import of its version has ended, but not
// after the import was canceled.
func TestCreateTemplateBeforeTheImport(t *testing.T) {
	h := newHouse(t)
	v := h.create(t, nil)
	tpl := h.templateOf(t, "early", v)
	if tpl.ActiveVersionID != v.ID || tpl.Provisioner != "echo" {
		t.Fatalf("template %+v", tpl)
	}
	h.importing(t, nil, nil)
	got, err := h.TemplateVersion(t.Context(), h.admin, v.ID)
	if err != nil || got.Job.Status != codersdk.ProvisionerJobStatusSucceeded || got.TemplateID != tpl.ID {
		t.Fatalf("after the import: %+v %v", got, err)
	}
	canceled := h.create(t, nil)
	if err := h.CancelTemplateVersion(t.Context(), h.admin, canceled.ID); err != nil {
		t.Fatal(err)
	}
	_, err = h.CreateTemplate(t.Context(), h.admin, h.org, codersdk.CreateTemplateRequest{Name: "late", TemplateVersionID: canceled.ID})
	wants(t, err, codersdk.CodeInvalid, "canceled")
}

// Of many who make a template of one version at once, one succeeds.
func TestCreateTemplateOnce(t *testing.T) {
	h := newHouse(t)
	v := h.create(t, nil)
	h.importing(t, nil, nil)
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wg.Go(func() {
			_, errs[i] = h.CreateTemplate(t.Context(), h.admin, h.org, codersdk.CreateTemplateRequest{Name: codersdk.RandomName(), TemplateVersionID: v.ID})
		})
	}
	wg.Wait()
	if n := len(slices.DeleteFunc(errs, func(err error) bool { return err != nil })); n != 1 {
		t.Fatalf("%d succeeded", n)
	}
}

func TestUpdateTemplate(t *testing.T) {
	h := newHouse(t)
	ctx := t.Context()
	tpl := h.template(t, "tpl")
	h.template(t, "other")
	_, err := h.UpdateTemplate(ctx, h.member, tpl.ID, codersdk.UpdateTemplateMeta{Name: "x"})
	wants(t, err, codersdk.CodeForbidden, "")
	_, err = h.UpdateTemplate(ctx, h.outside, tpl.ID, codersdk.UpdateTemplateMeta{Name: "x"})
	wants(t, err, codersdk.CodeNotFound, "")
	_, err = h.UpdateTemplate(ctx, h.admin, tpl.ID, codersdk.UpdateTemplateMeta{Name: "Other"})
	wants(t, err, codersdk.CodeConflict, "already exists")
	_, err = h.UpdateTemplate(ctx, h.admin, tpl.ID, codersdk.UpdateTemplateMeta{FailureTTLMS: new(int64(-1))})
	wants(t, err, codersdk.CodeInvalid, "failure_ttl_ms")
	_, err = h.UpdateTemplate(ctx, h.admin, tpl.ID, codersdk.UpdateTemplateMeta{PrebuildBudget: new(int32(-1))})
	wants(t, err, codersdk.CodeInvalid, "prebuild_budget")
	if got, err := h.UpdateTemplate(ctx, h.admin, tpl.ID, codersdk.UpdateTemplateMeta{PrebuildBudget: new(int32(7))}); err != nil || got.PrebuildBudget != 7 {
		t.Fatalf("got %+v, %v", got, err)
	}

	got, err := h.UpdateTemplate(ctx, h.admin, tpl.ID, codersdk.UpdateTemplateMeta{DeprecationMessage: new("old"), DefaultTTLMS: new(int64(5)), RequireActiveVersion: new(true)})
	if err != nil || !got.Deprecated || got.DefaultTTLMS != 5 || !got.RequireActiveVersion || got.Name != "tpl" || !got.AllowUserAutostart {
		t.Fatalf("got %+v, %v", got, err)
	}
	if got, err = h.UpdateTemplate(ctx, h.admin, tpl.ID, codersdk.UpdateTemplateMeta{DeprecationMessage: new("")}); err != nil || got.Deprecated || got.DefaultTTLMS != 5 {
		t.Fatalf("got %+v, %v", got, err)
	}
	before := h.audits(t)
	if _, err = h.UpdateTemplate(ctx, h.admin, tpl.ID, codersdk.UpdateTemplateMeta{DefaultTTLMS: new(int64(5))}); err != nil || h.audits(t) != before {
		t.Fatalf("a change of nothing left a trace, or failed: %v", err)
	}
	var diff []byte
	if err := h.store.Pool().QueryRow(ctx, `SELECT diff FROM audit_logs WHERE resource_type = 'template' ORDER BY time DESC LIMIT 1`).Scan(&diff); err != nil {
		t.Fatal(err)
	}
	var d codersdk.AuditDiff
	if err := json.Unmarshal(diff, &d); err != nil || len(d) != 2 || d["deprecation_message"].Old != "old" {
		t.Fatalf("audit diff %s, %v", diff, err)
	}

	w := h.workspace(t, h.member, tpl, tpl.ActiveVersionID)
	h.exec(t, `UPDATE workspaces SET last_used_at = '2020-01-01', dormant_at = '2020-01-01' WHERE id = $1`, w)
	if _, err := h.UpdateTemplate(ctx, h.admin, tpl.ID, codersdk.UpdateTemplateMeta{TimeTilDormantAutodeleteMS: new(int64(1000)), UpdateWorkspaceDormantAt: true}); err != nil {
		t.Fatal(err)
	}
	var used, dormant, deleting int
	if err := h.store.Pool().QueryRow(ctx, `SELECT extract(year FROM last_used_at)::int, extract(year FROM dormant_at)::int, extract(year FROM deleting_at)::int FROM workspaces WHERE id = $1`, w).Scan(&used, &dormant, &deleting); err != nil || used != 2020 || dormant == 2020 || deleting != dormant {
		t.Fatalf("timers %d %d %d, %v", used, dormant, deleting, err)
	}
}

func (h *house) audits(t testing.TB) (n int) {
	t.Helper()
	if err := h.store.Pool().QueryRow(t.Context(), `SELECT count(*) FROM audit_logs`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestDeleteTemplate(t *testing.T) {
	h := newHouse(t)
	ctx := t.Context()
	tpl := h.template(t, "tpl")
	w := h.workspace(t, h.member, tpl, tpl.ActiveVersionID)
	wants(t, h.DeleteTemplate(ctx, h.member, tpl.ID), codersdk.CodeForbidden, "")
	wants(t, h.DeleteTemplate(ctx, h.admin, tpl.ID), codersdk.CodePrecondition, "1 workspace")
	h.Now = func() time.Time { return time.Now().Add(2 * time.Minute) } // build times are kept for one
	got, err := h.Template(ctx, h.member, tpl.ID)
	if err != nil || got.ActiveUserCount != 1 || got.BuildTimeStats["start"].P50 == nil || *got.BuildTimeStats["start"].P50 != 2000 {
		t.Fatalf("in use: %+v, %v", got, err)
	}
	h.exec(t, `UPDATE workspaces SET deleted_at = now() WHERE id = $1`, w)
	if err := h.DeleteTemplate(ctx, h.admin, tpl.ID); err != nil {
		t.Fatal(err)
	}
	for name, call := range map[string]func() error{
		"template": func() error { _, err := h.Template(ctx, h.admin, tpl.ID); return err },
		"by name":  func() error { _, err := h.TemplateByName(ctx, h.admin, h.org, "tpl"); return err },
		"version":  func() error { _, err := h.TemplateVersion(ctx, h.admin, tpl.ActiveVersionID); return err },
		"again":    func() error { return h.DeleteTemplate(ctx, h.admin, tpl.ID) },
	} {
		if err := call(); !codersdk.Is(err, codersdk.CodeNotFound) {
			t.Errorf("%s after deletion: %v", name, err)
		}
	}
	h.template(t, "tpl") // the name is free again
}

func TestListTemplates(t *testing.T) {
	h := newHouse(t)
	ctx := t.Context()
	a, b := h.template(t, "alpha"), h.template(t, "beta")
	if _, err := h.UpdateTemplate(ctx, h.admin, b.ID, codersdk.UpdateTemplateMeta{DeprecationMessage: new("no"), DisplayName: new("Second One"), DisableEveryoneGroupAccess: new(true)}); err != nil {
		t.Fatal(err)
	}
	list := func(who string, q template.Query) string {
		t.Helper()
		actor := h.admin
		switch who {
		case "member":
			actor = h.member
		case "outside":
			actor = h.outside
		}
		ts, err := h.Templates(ctx, actor, q)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, t := range ts {
			names = append(names, t.Name)
		}
		return strings.Join(names, " ")
	}
	for _, tt := range []struct {
		who  string
		q    template.Query
		want string
	}{
		{"admin", template.Query{}, "alpha beta"},
		{"member", template.Query{}, "alpha"},
		{"outside", template.Query{}, ""},
		{"admin", template.Query{Deprecated: new(true)}, "beta"},
		{"admin", template.Query{Words: "second"}, "beta"},
		{"admin", template.Query{Name: "et"}, "beta"},
		{"admin", template.Query{Name: "%"}, ""},
		{"admin", template.Query{ExactName: "ALPHA"}, "alpha"},
		{"admin", template.Query{ExactName: "alph"}, ""},
		{"admin", template.Query{Organization: "acme", Author: "me"}, "alpha beta"},
		{"admin", template.Query{OrganizationID: uuid.New()}, ""},
		{"admin", template.Query{HasAITask: new(false)}, "alpha beta"},
		{"admin", template.Query{HasExternal: new(true)}, ""},
	} {
		if got := list(tt.who, tt.q); got != tt.want {
			t.Errorf("%s asks %+v: %q, want %q", tt.who, tt.q, got, tt.want)
		}
	}
	if err := h.UpdateTemplateACL(ctx, h.admin, b.ID, codersdk.UpdateTemplateACL{UserPerms: map[string]string{h.member.UserID.String(): "use"}}); err != nil {
		t.Fatal(err)
	}
	if got := list("member", template.Query{}); got != "alpha beta" {
		t.Errorf("with an entry of one's own: %q", got)
	}
	narrowed := h.admin
	narrowed.AllowList = []codersdk.APIAllowListTarget{{Type: codersdk.RBACResourceTemplate, ID: a.ID.String()}}
	if ts, err := h.Templates(ctx, narrowed, template.Query{}); err != nil || len(ts) != 1 || ts[0].ID != a.ID {
		t.Errorf("with an allow list: %v, %v", ts, err)
	}
}

func TestACL(t *testing.T) {
	h := newHouse(t)
	ctx := t.Context()
	tpl := h.template(t, "tpl")
	bob, everyone := h.member.UserID.String(), h.org.String()
	acl, err := h.TemplateACL(ctx, h.admin, tpl.ID)
	if err != nil || len(acl.Group) != 1 || acl.Group[0].Name != "Everyone" || acl.Group[0].Role != "use" || acl.Group[0].TotalMemberCount != 2 || len(acl.Users) != 0 {
		t.Fatalf("at first: %+v, %v", acl, err)
	}
	_, err = h.TemplateACL(ctx, h.member, tpl.ID)
	wants(t, err, codersdk.CodeForbidden, "")
	for name, req := range map[string]codersdk.UpdateTemplateACL{
		"role":     {UserPerms: map[string]string{bob: "owner"}},
		"id":       {UserPerms: map[string]string{"bob": "use"}},
		"stranger": {UserPerms: map[string]string{h.outside.UserID.String(): "use"}},
		"group":    {GroupPerms: map[string]codersdk.TemplateRole{uuid.NewString(): "use"}},
	} {
		if err := h.UpdateTemplateACL(ctx, h.admin, tpl.ID, req); !codersdk.Is(err, codersdk.CodeInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	err = h.UpdateTemplateACL(ctx, h.admin, tpl.ID, codersdk.UpdateTemplateACL{
		UserPerms: map[string]string{bob: "admin"}, GroupPerms: map[string]codersdk.TemplateRole{everyone: ""},
	})
	if err != nil {
		t.Fatal(err)
	}
	if acl, err = h.TemplateACL(ctx, h.member, tpl.ID); err != nil || len(acl.Group) != 0 || len(acl.Users) != 1 || acl.Users[0].Username != "bob" || acl.Users[0].Role != "admin" {
		t.Fatalf("bob is its admin now: %+v, %v", acl, err)
	}
	if _, err := h.UpdateTemplate(ctx, h.member, tpl.ID, codersdk.UpdateTemplateMeta{Icon: new("/x.svg")}); err != nil {
		t.Fatalf("an admin of the template changes it: %v", err)
	}
	if got, err := h.TemplateACLAvailable(ctx, h.member, tpl.ID, "AD", codersdk.Page{}); err != nil || len(got.Users) != 1 || len(got.Groups) != 1 {
		t.Fatalf("available: %+v, %v", got, err)
	}
	if _, err := h.Template(ctx, h.user(t, "cy", true), tpl.ID); !codersdk.Is(err, codersdk.CodeNotFound) {
		t.Fatalf("a private template is seen by others: %v", err)
	}
	if err := h.UpdateTemplateACL(ctx, h.member, tpl.ID, codersdk.UpdateTemplateACL{UserPerms: map[string]string{bob: ""}}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Template(ctx, h.member, tpl.ID); !codersdk.Is(err, codersdk.CodeNotFound) {
		t.Fatalf("bob took himself off: %v", err)
	}
}
