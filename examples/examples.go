// Package examples holds the starter templates that come with the program:
// what `coder templates init` writes and what a version can be made from by
// example_id. Each is a directory below templates, named by its id, with a
// README.md whose front matter tells its name, description, icon and tags.
package examples

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/seed-2a7f8fe7/coder"
)

//go:embed all:templates
var files embed.FS

// List gives the starter templates, by id.
func List() ([]coder.TemplateExample, error) {
	dirs, err := fs.ReadDir(files, "templates")
	if err != nil {
		return nil, err
	}
	out := make([]coder.TemplateExample, 0, len(dirs))
	for _, d := range dirs {
		if !d.IsDir() {
			continue
		}
		readme, err := fs.ReadFile(files, "templates/"+d.Name()+"/README.md")
		if err != nil {
			return nil, fmt.Errorf("starter template %s: %w", d.Name(), err)
		}
		e, err := describe(d.Name(), readme)
		if err != nil {
			return nil, fmt.Errorf("starter template %s: %w", d.Name(), err)
		}
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b coder.TemplateExample) int { return strings.Compare(a.ID, b.ID) })
	return out, nil
}

// Source gives the files of a starter template, and whether there is one of that id.
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

// describe reads the front matter of a README and what follows it.
func describe(id string, readme []byte) (coder.TemplateExample, error) {
	e := coder.TemplateExample{ID: id, Name: id, Tags: []string{}}
	readme = bytes.ReplaceAll(readme, []byte("\r\n"), []byte("\n"))
	matter, body, ok := bytes.Cut(bytes.TrimPrefix(readme, []byte("---\n")), []byte("\n---\n"))
	if !ok || !bytes.HasPrefix(readme, []byte("---\n")) {
		return e, fmt.Errorf("README.md has no front matter between lines of ---")
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
