package gallery

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/examples"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/rule/templatesource"
	"github.com/seed-2a7f8fe7/coder/internal/terraform/inspect"
)

// TestEveryComposition composes each starter template with all modules and wants a source
// without problems.
func TestEveryComposition(t *testing.T) {
	s := &Service{}
	starters, err := examples.List()
	if err != nil {
		t.Fatal(err)
	}
	modules, err := s.Modules(t.Context(), access.System())
	if err != nil || len(modules) < 5 {
		t.Fatal(modules, err)
	}
	for _, starter := range starters {
		req := templatesource.ComposeTemplateRequest{ExampleID: starter.ID}
		if !slices.Contains(starter.Tags, windows) {
			for _, m := range modules {
				add := templatesource.ComposeTemplateModule{ID: m.ID, Settings: map[string]string{}}
				for _, setting := range m.Settings {
					add.Settings[setting.Name] = setting.Default
				}
				req.Modules = append(req.Modules, add)
			}
		}
		out, err := s.Compose(t.Context(), access.System(), req)
		if err != nil {
			t.Fatalf("%s: %v", starter.ID, err)
		}
		for _, d := range inspect.Parse(out.Files).Check() {
			t.Errorf("%s: %s:%d: %s: %s", starter.ID, d.Path, d.Line, d.Summary, d.Detail)
		}
		for _, f := range out.Files {
			if !strings.HasSuffix(f.Path, ".tf") {
				continue
			}
			if text, ok := inspect.Format(f.Content); !ok || text != f.Content {
				t.Errorf("%s: %s is not formatted", starter.ID, f.Path)
			}
		}
	}
}

func TestCompose(t *testing.T) {
	s := &Service{}
	ctx, actor := context.Background(), access.System()
	out, err := s.Compose(ctx, actor, templatesource.ComposeTemplateRequest{
		ExampleID: "docker",
		Modules: []templatesource.ComposeTemplateModule{
			{ID: "dev-server", Settings: map[string]string{"dev_server_port": "8080", "dev_server_name": `A "name" ${x}`, "dev_server_subdomain": "true"}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	text := map[string]string{}
	for _, f := range out.Files {
		text[f.Path] = f.Content
	}
	module := text["dev-server.tf"]
	for _, want := range []string{"= 8080\n", `= "A \"name\" $${x}"` + "\n", "= true\n"} {
		if !strings.Contains(module, want) {
			t.Errorf("%q is missing in\n%s", want, module)
		}
	}
	if !strings.Contains(text["README.md"], "- `dev-server.tf`: Development server.") || len(out.Variables) != 1 || out.Variables[0].Name != "docker_host" {
		t.Errorf("got %s, %+v", text["README.md"], out.Variables)
	}
	for name, req := range map[string]templatesource.ComposeTemplateRequest{
		"unknown starter": {ExampleID: "../docker"},
		"unknown module":  {ExampleID: "docker", Modules: []templatesource.ComposeTemplateModule{{ID: "nothing"}}},
		"module twice":    {ExampleID: "docker", Modules: []templatesource.ComposeTemplateModule{{ID: "dotfiles"}, {ID: "dotfiles"}}},
		"windows":         {ExampleID: "aws-windows", Modules: []templatesource.ComposeTemplateModule{{ID: "dotfiles"}}},
		"unknown setting": {ExampleID: "docker", Modules: []templatesource.ComposeTemplateModule{{ID: "dev-server", Settings: map[string]string{"port": "1"}}}},
		"wrong type":      {ExampleID: "docker", Modules: []templatesource.ComposeTemplateModule{{ID: "dev-server", Settings: map[string]string{"dev_server_port": "many"}}}},
	} {
		if _, err := s.Compose(ctx, actor, req); !codersdk.Is(err, codersdk.CodeInvalid) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestAnonymous(t *testing.T) {
	s := &Service{}
	ctx, nobody := context.Background(), access.Subject{}
	if _, err := s.Modules(ctx, nobody); err == nil {
		t.Error("modules were listed")
	}
	if _, err := s.Compose(ctx, nobody, templatesource.ComposeTemplateRequest{ExampleID: "docker"}); err == nil {
		t.Error("a template was composed")
	}
	if _, err := s.Format(ctx, nobody, templatesource.FormatTemplateRequest{}); err == nil {
		t.Error("a file was formatted")
	}
	if _, err := s.Summaries(ctx, nobody, make([]uuid.UUID, maxSummaries+1)); !codersdk.Is(err, codersdk.CodeInvalid) {
		t.Errorf("got %v", err)
	}
}

func TestLocate(t *testing.T) {
	got := locate(codersdk.FriendlyDiagnostic{Severity: codersdk.DiagnosticSeverityWarning, Summary: "s", Detail: "main.tf:12: too much"})
	if got.Path != "main.tf" || got.Line != 12 || got.Detail != "too much" {
		t.Errorf("got %+v", got)
	}
	if got := locate(codersdk.FriendlyDiagnostic{Detail: "no place"}); got.Path != "" || got.Line != 0 || got.Detail != "no place" {
		t.Errorf("got %+v", got)
	}
}
