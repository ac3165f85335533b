package template_test

import (
	"crypto/sha256"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/template"
	"github.com/seed-2a7f8fe7/coder/internal/testtar"
)

func TestImport(t *testing.T) {
	h := newHouse(t)
	ctx := t.Context()
	v := h.create(t, func(r *codersdk.CreateTemplateVersionRequest) {
		r.Name, r.Message = "v1", "first"
		r.UserVariableValues = []codersdk.VariableValue{{Name: "region", Value: "eu"}}
	})
	if v.Job.Status != codersdk.ProvisionerJobStatusPending || v.Name != "v1" || v.CreatedBy.Username != "ada" || v.MatchedProvisioners == nil || v.MatchedProvisioners.Count != 1 {
		t.Fatalf("new version: %+v", v)
	}
	if _, err := h.TemplateVersionParameters(ctx, h.admin, v.ID); !codersdk.Is(err, codersdk.CodePrecondition) {
		t.Fatalf("parameters before the import: %v", err)
	}

	job := h.acquire(t)
	in := job.GetTemplateImport()
	if in == nil || in.Metadata.CoderUrl != "https://coder.test" || in.Metadata.WorkspaceOwner != "ada" || in.Metadata.TemplateVersion != "v1" ||
		len(in.UserVariableValues) != 1 || len(job.TemplateSourceArchive) == 0 || in.Metadata.WorkspaceOwnerSshPrivateKey != "" {
		t.Fatalf("acquired: %+v", in)
	}
	resp, err := h.queue.Update(ctx, h.worker, job.Fence, &provisionerd.UpdateJobRequest{
		JobId: job.JobId, Readme: []byte("# Hello\x00\xff"), WorkspaceTags: map[string]string{"zone": `"a"`},
		TemplateVariables: []*provisioner.TemplateVariable{
			{Name: "region", Type: "string", Required: true},
			{Name: "size", Type: "number", DefaultValue: "3"},
			{Name: "key", Type: "string", DefaultValue: "hush", Sensitive: true},
		},
	})
	if err != nil || len(resp.VariableValues) != 1 || resp.VariableValues[0].Value != "eu" {
		t.Fatalf("values %v, %v", resp, err)
	}
	lo, hi := int32(1), int32(9)
	err = h.queue.Complete(ctx, h.worker, job.Fence, &provisionerd.CompletedJob{JobId: job.JobId, Type: &provisionerd.CompletedJob_TemplateImport_{TemplateImport: &provisionerd.CompletedJob_TemplateImport{
		StartResources: []*provisioner.Resource{{Name: "vm", Type: "cloud_vm", Agents: []*provisioner.Agent{agent("main")}}, {Name: "disk", Type: "cloud_disk"}},
		StopResources:  []*provisioner.Resource{{Name: "disk", Type: "cloud_disk"}},
		RichParameters: []*provisioner.RichParameter{
			{Name: "b", Type: "number", DefaultValue: "2", ValidationMin: &lo, ValidationMax: &hi, Order: 2, Mutable: true, FormType: provisioner.ParameterFormType_SLIDER},
			{Name: "a", Type: "string", Required: true, Order: 1, Description: "The **big** [one](http://x)", Options: []*provisioner.RichParameterOption{{Name: "X", Value: "x"}}},
		},
		Presets:               []*provisioner.Preset{{Name: "small", Default: true, Parameters: []*provisioner.PresetParameter{{Name: "a", Value: "x"}}, Prebuild: &provisioner.Prebuild{Instances: 2}}},
		ExternalAuthProviders: []*provisioner.ExternalAuthProviderResource{{Id: "github", Optional: true}},
		ModuleFiles:           testtar.Of(t, map[string]string{".terraform/modules/modules.json": "{}"}),
	}}})
	if err != nil {
		t.Fatal(err)
	}

	if v, err = h.TemplateVersion(ctx, h.admin, v.ID); err != nil || v.Job.Status != codersdk.ProvisionerJobStatusSucceeded || v.Readme != "# Hello\uFFFD" || v.MatchedProvisioners != nil {
		t.Fatalf("imported: %+v, %v", v, err)
	}
	params, err := h.TemplateVersionParameters(ctx, h.admin, v.ID)
	if err != nil || len(params) != 2 || params[0].Name != "a" || params[0].DescriptionPlaintext != "The big one" || params[1].FormType != "slider" || *params[1].ValidationMax != 9 {
		t.Fatalf("parameters %+v, %v", params, err)
	}
	vars, err := h.TemplateVersionVariables(ctx, h.admin, v.ID)
	if err != nil || len(vars) != 3 || vars[0].Value != "eu" || vars[1].Value != "3" || vars[2].Value != "" || vars[2].DefaultValue != "" {
		t.Fatalf("variables %+v, %v", vars, err)
	}
	presets, err := h.TemplateVersionPresets(ctx, h.admin, v.ID)
	if err != nil || len(presets) != 1 || !presets[0].Default || presets[0].DesiredPrebuildInstances != 2 || presets[0].ID == uuid.Nil {
		t.Fatalf("presets %+v, %v", presets, err)
	}
	logins, err := h.TemplateVersionExternalAuth(ctx, h.admin, v.ID)
	if err != nil || len(logins) != 1 || logins[0].ID != "github" || !logins[0].Optional || logins[0].AuthenticateURL != "https://coder.test/external-auth/github" {
		t.Fatalf("logins %+v, %v", logins, err)
	}
	rs, err := h.TemplateVersionResources(ctx, h.admin, v.ID)
	if err != nil || len(rs) != 3 || slices.IndexFunc(rs, func(r codersdk.WorkspaceResource) bool { return len(r.Agents) == 1 }) < 0 {
		t.Fatalf("resources %+v, %v", rs, err)
	}
	if row, err := h.store.VersionByID(ctx, v.ID); err != nil || row.TemplateVersion.ModuleFilesID == nil || row.TemplateVersion.WorkspaceTags["zone"] != `"a"` {
		t.Fatalf("row %+v, %v", row, err)
	}
}

func TestVariablesOfTheVersionBefore(t *testing.T) {
	h := newHouse(t)
	ctx := t.Context()
	variables := func(size string) *provisionerd.UpdateJobRequest {
		return &provisionerd.UpdateJobRequest{TemplateVariables: []*provisioner.TemplateVariable{
			{Name: "region", Required: true}, {Name: "size", DefaultValue: size}, {Name: "zone", DefaultValue: "a"},
		}}
	}
	v := h.create(t, func(r *codersdk.CreateTemplateVersionRequest) {
		r.UserVariableValues = []codersdk.VariableValue{{Name: "region", Value: "eu"}, {Name: "zone", Value: "b"}}
	})
	h.importing(t, variables("1"), nil)
	tpl := h.templateOf(t, "tpl", v)

	v2 := h.create(t, func(r *codersdk.CreateTemplateVersionRequest) {
		r.TemplateID = tpl.ID
		r.UserVariableValues = []codersdk.VariableValue{{Name: "zone", Value: "c"}}
	})
	resp := h.importing(t, variables("2"), nil)
	got := map[string]string{}
	for _, v := range resp.VariableValues {
		got[v.Name] = v.Value
	}
	if want := map[string]string{"region": "eu", "zone": "c"}; !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	vars, err := h.TemplateVersionVariables(ctx, h.admin, v2.ID)
	if err != nil || vars[1].Value != "2" {
		t.Fatalf("a default that nobody touched follows the source: %+v, %v", vars, err)
	}
}

func TestMissingVariables(t *testing.T) {
	h := newHouse(t)
	ctx := t.Context()
	v := h.create(t, nil)
	job := h.acquire(t)
	if _, err := h.queue.Update(ctx, h.worker, job.Fence, &provisionerd.UpdateJobRequest{JobId: job.JobId, TemplateVariables: []*provisioner.TemplateVariable{
		{Name: "region", Required: true}, {Name: "zone", Required: true},
	}}); err != nil {
		t.Fatal(err)
	}
	if err := h.queue.Fail(ctx, h.worker, job.Fence, &provisionerd.FailedJob{JobId: job.JobId, Error: "exit status 1"}); err != nil {
		t.Fatal(err)
	}
	v, err := h.TemplateVersion(ctx, h.admin, v.ID)
	if err != nil || v.Job.Status != codersdk.ProvisionerJobStatusFailed || v.Job.ErrorCode != codersdk.JobErrorCodeRequiredTemplateVariables ||
		!strings.Contains(v.Job.Error, "required template variables need values: region, zone") {
		t.Fatalf("job %+v, %v", v.Job, err)
	}
	if vars, err := h.TemplateVersionVariables(ctx, h.admin, v.ID); err != nil || len(vars) != 2 || !vars[0].Required {
		t.Fatalf("what is missing can be read: %+v, %v", vars, err)
	}
	_, err = h.CreateTemplate(ctx, h.admin, h.org, codersdk.CreateTemplateRequest{Name: "x", TemplateVersionID: v.ID})
	wants(t, err, codersdk.CodeInvalid, "failed")
}

// A result that breaks the rules fails the import and leaves nothing of itself.
func TestImportRefusesBadResults(t *testing.T) {
	h := newHouse(t)
	for name, tt := range map[string]struct {
		result *provisionerd.CompletedJob_TemplateImport
		words  string
	}{
		"duplicate parameter": {&provisionerd.CompletedJob_TemplateImport{RichParameters: []*provisioner.RichParameter{{Name: "a", Type: "string"}, {Name: "a", Type: "string"}}}, `named "a"`},
		"pattern":             {&provisionerd.CompletedJob_TemplateImport{RichParameters: []*provisioner.RichParameter{{Name: "a", Type: "string", ValidationRegex: "("}}}, "validation regex of the parameter"},
		"ephemeral":           {&provisionerd.CompletedJob_TemplateImport{RichParameters: []*provisioner.RichParameter{{Name: "a", Type: "string", Ephemeral: true, Required: true}}}, "requires a default"},
		"two agents":          {&provisionerd.CompletedJob_TemplateImport{StartResources: []*provisioner.Resource{{Name: "vm", Type: "t", Agents: []*provisioner.Agent{agent("x"), agent("x")}}}}, "agent"},
	} {
		t.Run(name, func(t *testing.T) {
			v := h.create(t, nil)
			h.importing(t, nil, tt.result)
			v, err := h.TemplateVersion(t.Context(), h.admin, v.ID)
			if err != nil || v.Job.Status != codersdk.ProvisionerJobStatusFailed || !strings.Contains(v.Job.Error, tt.words) {
				t.Fatalf("got %q (%s), want %q", v.Job.Error, v.Job.Status, tt.words)
			}
			if rs, err := h.TemplateVersionResources(t.Context(), h.admin, v.ID); err != nil || len(rs) != 0 {
				t.Fatalf("resources of a refused result: %v, %v", rs, err)
			}
		})
	}
}

func TestBadVersions(t *testing.T) {
	h := newHouse(t)
	file := h.upload(t, "x")
	other := h.template(t, "other")
	for name, tt := range map[string]struct {
		change      func(*codersdk.CreateTemplateVersionRequest)
		code        codersdk.Code
		field, word string
	}{
		"name":             {func(r *codersdk.CreateTemplateVersionRequest) { r.Name = "a b" }, codersdk.CodeInvalid, "name", "letters"},
		"long name":        {func(r *codersdk.CreateTemplateVersionRequest) { r.Name = strings.Repeat("x", 65) }, codersdk.CodeInvalid, "name", "64"},
		"taken name":       {func(r *codersdk.CreateTemplateVersionRequest) { r.Name, r.TemplateID = "V", other.ID }, codersdk.CodeConflict, "name", "already exists"},
		"provisioner":      {func(r *codersdk.CreateTemplateVersionRequest) { r.Provisioner = "pulumi" }, codersdk.CodeInvalid, "provisioner", "pulumi"},
		"storage":          {func(r *codersdk.CreateTemplateVersionRequest) { r.StorageMethod = "hosted" }, codersdk.CodeInvalid, "storage_method", "hosted"},
		"no source":        {func(r *codersdk.CreateTemplateVersionRequest) { r.FileID = uuid.Nil }, codersdk.CodeInvalid, "file_id", "upload"},
		"two sources":      {func(r *codersdk.CreateTemplateVersionRequest) { r.ExampleID = "docker" }, codersdk.CodeInvalid, "example_id", "not both"},
		"unknown file":     {func(r *codersdk.CreateTemplateVersionRequest) { r.FileID = uuid.New() }, codersdk.CodeInvalid, "file_id", "file not found"},
		"unknown example":  {func(r *codersdk.CreateTemplateVersionRequest) { r.FileID, r.ExampleID = uuid.Nil, "../docker" }, codersdk.CodeInvalid, "example_id", "example"},
		"unknown template": {func(r *codersdk.CreateTemplateVersionRequest) { r.TemplateID = uuid.New() }, codersdk.CodeNotFound, "", ""},
		"tag":              {func(r *codersdk.CreateTemplateVersionRequest) { r.Tags = map[string]string{"": "x"} }, codersdk.CodeInvalid, "tags", "name"},
		"NUL": {func(r *codersdk.CreateTemplateVersionRequest) {
			r.UserVariableValues = []codersdk.VariableValue{{Name: "a", Value: "\x00"}}
		}, codersdk.CodeInvalid, "user_variable_values", "NUL"},
		"message": {func(r *codersdk.CreateTemplateVersionRequest) { r.Message = "\x00" }, codersdk.CodeInvalid, "message", "text"},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "taken name" {
				h.create(t, func(r *codersdk.CreateTemplateVersionRequest) { r.Name, r.TemplateID = "v", other.ID })
			}
			req := codersdk.CreateTemplateVersionRequest{FileID: file, StorageMethod: "file", Provisioner: "echo"}
			tt.change(&req)
			_, err := h.CreateTemplateVersion(t.Context(), h.admin, h.org, req)
			wants(t, err, tt.code, tt.word)
			if f := field(err); f != tt.field {
				t.Fatalf("field %q, want %q", f, tt.field)
			}
		})
	}
	_, err := h.CreateTemplateVersion(t.Context(), h.member, h.org, codersdk.CreateTemplateVersionRequest{FileID: file, Provisioner: "echo"})
	wants(t, err, codersdk.CodeForbidden, "")
}

func TestLastValueOfAVariableWins(t *testing.T) {
	h := newHouse(t)
	h.create(t, func(r *codersdk.CreateTemplateVersionRequest) {
		r.UserVariableValues = []codersdk.VariableValue{{Name: "region", Value: "first"}, {Name: "size", Value: "2"}, {Name: "region", Value: "last"}}
	})
	got := h.acquire(t).GetTemplateImport().GetUserVariableValues()
	if len(got) != 2 || got[0].Name != "region" || got[0].Value != "last" || got[1].Name != "size" {
		t.Errorf("variables of the import: %v", got)
	}
}

func TestTagsOfAVersion(t *testing.T) {
	h := newHouse(t)
	v := h.create(t, func(r *codersdk.CreateTemplateVersionRequest) { r.Tags = map[string]string{"zone": "a"} })
	if v.Job.Tags["zone"] != "a" || v.Job.Tags["scope"] != "organization" || v.MatchedProvisioners.Count != 0 {
		t.Fatalf("tags %v, matched %+v", v.Job.Tags, v.MatchedProvisioners)
	}
	v = h.create(t, func(r *codersdk.CreateTemplateVersionRequest) {
		r.Tags = map[string]string{"scope": "user", "owner": uuid.NewString()}
	})
	if v.Job.Tags["owner"] != h.admin.UserID.String() {
		t.Fatalf("the owner is whoever asks: %v", v.Job.Tags)
	}
}

func TestCancelImport(t *testing.T) {
	h := newHouse(t)
	ctx := t.Context()
	v := h.create(t, nil)
	if err := h.CancelTemplateVersion(ctx, h.member, v.ID); !codersdk.Is(err, codersdk.CodeNotFound, codersdk.CodeForbidden) {
		t.Fatalf("a member cancels: %v", err)
	}
	if err := h.CancelTemplateVersion(ctx, h.admin, v.ID); err != nil {
		t.Fatal(err)
	}
	if v, err := h.TemplateVersion(ctx, h.admin, v.ID); err != nil || v.Job.Status != codersdk.ProvisionerJobStatusCanceled {
		t.Fatalf("job %+v, %v", v.Job, err)
	}
	if err := h.CancelTemplateVersion(ctx, h.admin, v.ID); !codersdk.Is(err, codersdk.CodePrecondition) {
		t.Fatalf("twice: %v", err)
	}
}

func TestVersionsOfATemplate(t *testing.T) {
	h := newHouse(t)
	ctx := t.Context()
	tpl := h.template(t, "tpl")
	first := tpl.ActiveVersionID
	names := []string{"b", "c", "d"}
	var ids []uuid.UUID
	for _, n := range names {
		v := h.create(t, func(r *codersdk.CreateTemplateVersionRequest) { r.Name, r.TemplateID = n, tpl.ID })
		ids = append(ids, v.ID)
	}
	h.importing(t, nil, nil) // b succeeds
	job := h.acquire(t)      // c fails
	if err := h.queue.Fail(ctx, h.worker, job.Fence, &provisionerd.FailedJob{JobId: job.JobId, Error: "syntax"}); err != nil {
		t.Fatal(err)
	}
	list := func(p template.Page) (out []string) {
		t.Helper()
		vs, err := h.TemplateVersions(ctx, h.admin, tpl.ID, p)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range vs {
			if v.ID != first {
				out = append(out, v.Name)
			}
		}
		return out
	}
	if got := list(template.Page{}); !slices.Equal(got, names) {
		t.Fatalf("all: %v", got)
	}
	if got := list(template.Page{AfterID: ids[0], Limit: 1}); !slices.Equal(got, []string{"c"}) {
		t.Fatalf("a page: %v", got)
	}
	newest := slices.Clone(names)
	slices.Reverse(newest)
	if got := list(template.Page{NewestFirst: true}); !slices.Equal(got, newest) {
		t.Fatalf("the newest first: %v", got)
	}
	if got := list(template.Page{NewestFirst: true, AfterID: ids[1]}); !slices.Equal(got, newest[len(newest)-1:]) {
		t.Fatalf("a page, the newest first: %v", got)
	}
	wants(t, h.UpdateActiveTemplateVersion(ctx, h.admin, tpl.ID, codersdk.UpdateActiveTemplateVersion{ID: ids[1]}), codersdk.CodeInvalid, "failed")
	wants(t, h.UpdateActiveTemplateVersion(ctx, h.admin, tpl.ID, codersdk.UpdateActiveTemplateVersion{ID: ids[2]}), codersdk.CodeInvalid, "pending")
	wants(t, h.UpdateActiveTemplateVersion(ctx, h.admin, tpl.ID, codersdk.UpdateActiveTemplateVersion{ID: uuid.New()}), codersdk.CodeInvalid, "version not found")
	if err := h.UpdateActiveTemplateVersion(ctx, h.admin, tpl.ID, codersdk.UpdateActiveTemplateVersion{ID: ids[0]}); err != nil {
		t.Fatal(err)
	}
	wants(t, h.ArchiveTemplateVersion(ctx, h.admin, ids[0], true), codersdk.CodeInvalid, "active")
	if got, err := h.ArchiveTemplateVersions(ctx, h.admin, tpl.ID, false); err != nil || !slices.Equal(got, ids[1:2]) {
		t.Fatalf("failed ones: %v, %v", got, err)
	}
	if got := list(template.Page{}); !slices.Equal(got, []string{"b", "d"}) {
		t.Fatalf("without archived: %v", got)
	}
	if got := list(template.Page{IncludeArchived: true}); !slices.Equal(got, names) {
		t.Fatalf("with archived: %v", got)
	}
	w := h.workspace(t, h.member, tpl, first)
	wants(t, h.ArchiveTemplateVersion(ctx, h.admin, first, true), codersdk.CodeInvalid, "used by a workspace")
	if got, err := h.ArchiveTemplateVersions(ctx, h.admin, tpl.ID, true); err != nil || len(got) != 0 {
		t.Fatalf("one active, one waiting, one in use: %v, %v", got, err)
	}
	h.exec(t, `UPDATE workspaces SET deleted_at = now() WHERE id = $1`, w)
	if err := h.ArchiveTemplateVersion(ctx, h.admin, first, true); err != nil {
		t.Fatal(err)
	}
	wants(t, h.UpdateActiveTemplateVersion(ctx, h.admin, tpl.ID, codersdk.UpdateActiveTemplateVersion{ID: first}), codersdk.CodeInvalid, "archived")
	if err := h.ArchiveTemplateVersion(ctx, h.admin, first, false); err != nil {
		t.Fatal(err)
	}
	if v, err := h.PreviousTemplateVersion(ctx, h.admin, h.org, "tpl", "c"); err != nil || v.Name != "b" {
		t.Fatalf("previous of c: %v, %v", v.Name, err)
	}
	v, err := h.TemplateVersion(ctx, h.admin, first)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.PreviousTemplateVersion(ctx, h.admin, h.org, "tpl", v.Name); !codersdk.Is(err, codersdk.CodeNotFound) {
		t.Fatalf("previous of the first: %v", err)
	}
	message := "better"
	if v, err := h.UpdateTemplateVersion(ctx, h.admin, ids[0], codersdk.PatchTemplateVersionRequest{Name: "b2", Message: &message}); err != nil || v.Name != "b2" || v.Message != "better" {
		t.Fatalf("renamed: %+v, %v", v, err)
	}
	_, err = h.UpdateTemplateVersion(ctx, h.admin, ids[0], codersdk.PatchTemplateVersionRequest{Name: "D"})
	wants(t, err, codersdk.CodeConflict, "already exists")
	_, err = h.UpdateTemplateVersion(ctx, h.admin, ids[0], codersdk.PatchTemplateVersionRequest{Name: "-"})
	wants(t, err, codersdk.CodeInvalid, "letters")
	if v, err := h.TemplateVersionByName(ctx, h.member, tpl.ID, "B2"); err != nil || v.ID != ids[0] {
		t.Fatalf("by name, as a member: %v, %v", v.ID, err)
	}
	if _, err := h.TemplateVersion(ctx, h.outside, ids[0]); !codersdk.Is(err, codersdk.CodeNotFound) {
		t.Fatalf("a stranger reads: %v", err)
	}
}

func TestDryRun(t *testing.T) {
	h := newHouse(t)
	ctx := t.Context()
	v := h.create(t, func(r *codersdk.CreateTemplateVersionRequest) {
		r.UserVariableValues = []codersdk.VariableValue{{Name: "region", Value: "eu"}}
	})
	if _, err := h.CreateTemplateVersionDryRun(ctx, h.admin, v.ID, codersdk.CreateTemplateVersionDryRunRequest{}); err == nil {
		t.Fatal("a dry run before the import")
	}
	h.importing(t, &provisionerd.UpdateJobRequest{TemplateVariables: []*provisioner.TemplateVariable{{Name: "region", Required: true}}},
		&provisionerd.CompletedJob_TemplateImport{RichParameters: []*provisioner.RichParameter{{Name: "a", Type: "bool", Required: true}}})
	h.templateOf(t, "tpl", v)
	_, err := h.CreateTemplateVersionDryRun(ctx, h.member, v.ID, codersdk.CreateTemplateVersionDryRunRequest{})
	wants(t, err, codersdk.CodeInvalid, `"a"`)
	req := codersdk.CreateTemplateVersionDryRunRequest{WorkspaceName: "try", RichParameterValues: []codersdk.WorkspaceBuildParameter{{Name: "a", Value: "true"}}}
	if _, err := h.CreateTemplateVersionDryRun(ctx, h.outside, v.ID, req); !codersdk.Is(err, codersdk.CodeNotFound) {
		t.Fatalf("a stranger plans: %v", err)
	}
	job, err := h.CreateTemplateVersionDryRun(ctx, h.member, v.ID, req)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.TemplateVersionDryRunResources(ctx, h.member, v.ID, job.ID); !codersdk.Is(err, codersdk.CodePrecondition) {
		t.Fatalf("resources before the end: %v", err)
	}
	if m, err := h.TemplateVersionDryRunMatched(ctx, h.member, v.ID, job.ID); err != nil || m.Count != 1 {
		t.Fatalf("matched %+v, %v", m, err)
	}
	a := h.acquire(t)
	run := a.GetTemplateDryRun()
	if run == nil || run.Metadata.WorkspaceName != "try" || run.Metadata.WorkspaceOwner != "bob" || run.RichParameterValues[0].Value != "true" || run.VariableValues[0].Value != "eu" {
		t.Fatalf("acquired %+v", run)
	}
	err = h.queue.Complete(ctx, h.worker, a.Fence, &provisionerd.CompletedJob{JobId: a.JobId, Type: &provisionerd.CompletedJob_TemplateDryRun_{TemplateDryRun: &provisionerd.CompletedJob_TemplateDryRun{
		Resources: []*provisioner.Resource{{Name: "vm", Type: "t"}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	if rs, err := h.TemplateVersionDryRunResources(ctx, h.member, v.ID, job.ID); err != nil || len(rs) != 1 {
		t.Fatalf("resources %v, %v", rs, err)
	}
	if _, err := h.TemplateVersionDryRun(ctx, h.user(t, "cy", true), v.ID, job.ID); !codersdk.Is(err, codersdk.CodeNotFound) {
		t.Fatalf("another's dry run: %v", err)
	}
	if _, err := h.TemplateVersionDryRun(ctx, h.admin, v.ID, v.Job.ID); !codersdk.Is(err, codersdk.CodeNotFound) {
		t.Fatalf("an import is no dry run: %v", err)
	}
	job, err = h.CreateTemplateVersionDryRun(ctx, h.member, v.ID, req)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.CancelTemplateVersionDryRun(ctx, h.member, v.ID, job.ID); err != nil {
		t.Fatal(err)
	}
}

// Modules that were uploaded before the result are kept as those inside of it
// are; broken ones are left out and the import succeeds without them.
func TestModules(t *testing.T) {
	h := newHouse(t)
	ctx := t.Context()
	good, bad := testtar.Of(t, map[string]string{".terraform/modules/modules.json": "{}"}), testtar.Of(t, map[string]string{"../out": "x"})
	sum := sha256.Sum256(good)
	for name, tt := range map[string]struct {
		result *provisionerd.CompletedJob_TemplateImport
		upload []byte
		kept   bool
	}{
		"inside":         {result: &provisionerd.CompletedJob_TemplateImport{ModuleFiles: good, ModuleFilesHash: sum[:]}, kept: true},
		"uploaded":       {result: &provisionerd.CompletedJob_TemplateImport{ModuleFilesHash: sum[:]}, upload: good, kept: true},
		"broken":         {result: &provisionerd.CompletedJob_TemplateImport{ModuleFiles: bad}},
		"none":           {result: &provisionerd.CompletedJob_TemplateImport{}},
		"never uploaded": {result: &provisionerd.CompletedJob_TemplateImport{ModuleFilesHash: make([]byte, 32)}},
	} {
		t.Run(name, func(t *testing.T) {
			v := h.create(t, nil)
			job := h.acquire(t)
			if tt.upload != nil {
				if err := h.queue.SaveModuleFiles(ctx, h.worker, v.Job.ID, job.Fence, tt.upload); err != nil {
					t.Fatal(err)
				}
			}
			err := h.queue.Complete(ctx, h.worker, job.Fence, &provisionerd.CompletedJob{JobId: job.JobId, Type: &provisionerd.CompletedJob_TemplateImport_{TemplateImport: tt.result}})
			if err != nil {
				t.Fatal(err)
			}
			row, err := h.store.VersionByID(ctx, v.ID)
			if err != nil || row.JobStatus != "succeeded" || (row.TemplateVersion.ModuleFilesID != nil) != tt.kept {
				t.Fatalf("%s, kept %v, %v", row.JobStatus, row.TemplateVersion.ModuleFilesID, err)
			}
		})
	}
}
