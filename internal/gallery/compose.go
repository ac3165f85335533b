package gallery

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/examples"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/rule/templatesource"
	"github.com/seed-2a7f8fe7/coder/internal/terraform/inspect"
)

// windows is the tag of starter templates without a POSIX shell.
const windows = "windows"

// Modules lists the modules that can be added to starter templates.
func (s *Service) Modules(_ context.Context, actor access.Subject) ([]templatesource.TemplateModule, error) {
	if err := signedIn(actor); err != nil {
		return nil, err
	}
	list, err := examples.Modules()
	if err != nil {
		return nil, err
	}
	out := make([]templatesource.TemplateModule, 0, len(list))
	for _, e := range list {
		text, _ := examples.ModuleSource(e.ID)
		m := templatesource.TemplateModule{
			ID: e.ID, Name: e.Name, Description: e.Description, Icon: e.Icon, Tags: e.Tags, Settings: []templatesource.TemplateModuleSetting{},
		}
		for _, v := range inspect.Parse(singleFile(text)).Variables() {
			m.Settings = append(m.Settings, templatesource.TemplateModuleSetting{
				Name: v.Name, Type: v.Type, Description: v.Description, Default: v.DefaultValue,
			})
		}
		out = append(out, m)
	}
	return out, nil
}

func singleFile(text string) []templatesource.TemplateFile {
	return []templatesource.TemplateFile{{Path: "main.tf", Content: text}}
}

// Compose returns the source of a starter template with modules. Each module is a file of
// its own, in which the settings are the defaults of variables. The error is
// codersdk.CodeInvalid for unknown names, for values that do not fit, and for modules of a
// starter template for Windows: they need a POSIX shell.
func (s *Service) Compose(_ context.Context, actor access.Subject, req templatesource.ComposeTemplateRequest) (templatesource.ComposedTemplate, error) {
	out := templatesource.ComposedTemplate{Files: []templatesource.TemplateFile{}}
	if err := signedIn(actor); err != nil {
		return out, err
	}
	list, err := examples.List()
	if err != nil {
		return out, err
	}
	at := slices.IndexFunc(list, func(e codersdk.TemplateExample) bool { return e.ID == req.ExampleID })
	source, ok := examples.Source(req.ExampleID)
	if at < 0 || !ok {
		return out, codersdk.Invalid("example_id", "example %.64q not found; GET /templates/examples lists the examples", req.ExampleID)
	}
	if len(req.Modules) > 0 && slices.Contains(list[at].Tags, windows) {
		return out, codersdk.Invalid("modules", "modules need a POSIX shell, which workspaces of %s do not have", list[at].Name)
	}
	if out.Files, err = readAll(source); err != nil {
		return out, err
	}
	out.Variables = inspect.Parse(out.Files).Variables()
	seen := map[string]bool{}
	for _, m := range req.Modules {
		text, ok := examples.ModuleSource(m.ID)
		if !ok || seen[m.ID] {
			return out, codersdk.Invalid("modules", "module %.64q is unknown or listed twice; GET /templates/modules lists the modules", m.ID)
		}
		seen[m.ID] = true
		if text, err = inspect.SetDefaults(text, m.Settings); err != nil {
			return out, err
		}
		out.Files = append(out.Files, templatesource.TemplateFile{Path: m.ID + ".tf", Content: text})
	}
	if err := describeModules(out.Files, seen); err != nil {
		return out, err
	}
	slices.SortFunc(out.Files, func(a, b templatesource.TemplateFile) int { return strings.Compare(a.Path, b.Path) })
	return out, nil
}

// readAll returns the files of a starter template, all of them texts.
func readAll(source fs.FS) ([]templatesource.TemplateFile, error) {
	var out []templatesource.TemplateFile
	err := fs.WalkDir(source, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(source, name)
		if err != nil {
			return err
		}
		out = append(out, templatesource.TemplateFile{Path: name, Content: string(b)})
		return nil
	})
	return out, err
}

// describeModules appends a list of the modules to the README.
func describeModules(files []templatesource.TemplateFile, ids map[string]bool) error {
	list, err := examples.Modules()
	if err != nil || len(ids) == 0 {
		return err
	}
	var text strings.Builder
	text.WriteString("\n## Modules\n\n")
	for _, m := range list {
		if ids[m.ID] {
			fmt.Fprintf(&text, "- `%s.tf`: %s. %s.\n", m.ID, m.Name, m.Description)
		}
	}
	for i := range files {
		if files[i].Path == "README.md" {
			files[i].Content += text.String()
		}
	}
	return nil
}
