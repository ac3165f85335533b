// Package examples contains the starter templates of the program, for
// `coder templates init` and for versions that are created by example_id. Each is a
// directory below templates, named by its id. The front matter of its README.md has
// the name, description, icon and tags.
//
// The directories below modules are parts that can be added to a starter template: each is
// one file of Terraform that refers to coder_agent.main, coder_workspace.me and
// coder_workspace_owner.me.
package examples

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

//go:embed all:templates all:modules
var files embed.FS

// List returns the starter templates, ordered by id.
func List() ([]codersdk.TemplateExample, error) { return list("templates") }

// Modules returns the modules, ordered by id.
func Modules() ([]codersdk.TemplateExample, error) { return list("modules") }

// list returns the descriptions in the directories below root, ordered by id.
func list(root string) ([]codersdk.TemplateExample, error) {
	dirs, err := fs.ReadDir(files, root)
	if err != nil {
		return nil, err
	}
	out := make([]codersdk.TemplateExample, 0, len(dirs))
	for _, d := range dirs {
		if !d.IsDir() {
			continue
		}
		readme, err := fs.ReadFile(files, root+"/"+d.Name()+"/README.md")
		if err != nil {
			return nil, fmt.Errorf("%s/%s: %w", root, d.Name(), err)
		}
		e, err := describe(d.Name(), readme)
		if err != nil {
			return nil, fmt.Errorf("%s/%s: %w", root, d.Name(), err)
		}
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b codersdk.TemplateExample) int { return strings.Compare(a.ID, b.ID) })
	return out, nil
}

// ModuleSource returns the file of a module, and whether the id exists.
func ModuleSource(id string) (string, bool) {
	if id == "" || strings.ContainsAny(id, "/\\.") {
		return "", false
	}
	b, err := fs.ReadFile(files, "modules/"+id+"/main.tf")
	return string(b), err == nil
}

// Source returns the files of a starter template, and whether the id exists.
func Source(id string) (fs.FS, bool) {
	if id == "" || strings.ContainsAny(id, "/\\.") {
		return nil, false
	}
	sub, err := fs.Sub(files, "templates/"+id)
	if err != nil {
		return nil, false
	}
	if _, err := fs.Stat(sub, "main.tf"); err != nil {
		return nil, false
	}
	return sub, true
}

// describe parses the front matter of a README and returns the rest.
func describe(id string, readme []byte) (codersdk.TemplateExample, error) {
	e := codersdk.TemplateExample{ID: id, Name: id, Tags: []string{}}
	readme = bytes.ReplaceAll(readme, []byte("\r\n"), []byte("\n"))
	matter, body, ok := bytes.Cut(bytes.TrimPrefix(readme, []byte("---\n")), []byte("\n---\n"))
	if !ok || !bytes.HasPrefix(readme, []byte("---\n")) {
		return e, fmt.Errorf("README.md has no front matter between --- lines")
	}
	var meta struct {
		DisplayName string   `yaml:"display_name"`
		Description string   `yaml:"description"`
		Icon        string   `yaml:"icon"`
		Tags        []string `yaml:"tags"`
	}
	if err := yaml.Unmarshal(matter, &meta); err != nil {
		return e, fmt.Errorf("front matter of README.md: %w", err)
	}
	e.Description, e.Icon, e.Markdown = meta.Description, meta.Icon, strings.TrimSpace(string(body))
	if meta.DisplayName != "" {
		e.Name = meta.DisplayName
	}
	if meta.Tags != nil {
		e.Tags = meta.Tags
	}
	return e, nil
}
