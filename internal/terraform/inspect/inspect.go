// Package inspect finds the problems of a template's source that are visible without
// running Terraform: syntax errors, duplicate declarations and references to nothing. It
// also lists the blocks of the source, formats files, and reads and sets the defaults of
// variables.
//
// Every finding must be an error for Terraform too, so the package reports nothing that it
// is not sure of: sources with JSON or override files are not checked for references, and
// providers, functions and the attributes of resources are left to the import.
package inspect

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/rule/templatesource"
	"github.com/seed-2a7f8fe7/coder/internal/terraform/sourcetree"
)

// maxDiagnostics bounds the problems that are reported.
const maxDiagnostics = 200

// Source is the parsed source of a template.
type Source struct {
	bodies      map[string]*hclsyntax.Body // by path
	diagnostics []templatesource.TemplateDiagnostic
	broken      bool // a file of the root module has a syntax error
	foreign     bool // JSON or override files declare more
}

// Parse parses the Terraform files of a source. Other files are ignored.
func Parse(files []templatesource.TemplateFile) *Source {
	s := &Source{bodies: map[string]*hclsyntax.Body{}}
	for _, f := range files {
		name := path.Clean(f.Path)
		s.foreign = s.foreign || sourcetree.Foreign(name)
		if !strings.HasSuffix(name, ".tf") {
			continue
		}
		if sourcetree.TooDeep([]byte(f.Content)) {
			s.broken = true
			s.diagnostics = append(s.diagnostics, templatesource.TemplateDiagnostic{
				Severity: codersdk.DiagnosticSeverityError, Summary: "Nesting is too deep", Path: name, Line: 1, Column: 1, EndLine: 1, EndColumn: 1,
			})
			continue
		}
		file, diags := hclsyntax.ParseConfig([]byte(f.Content), name, hcl.InitialPos)
		for _, d := range diags {
			s.add(d)
		}
		root := !strings.Contains(name, "/")
		s.broken = s.broken || diags.HasErrors() && root
		if body, ok := file.Body.(*hclsyntax.Body); ok && root {
			s.bodies[name] = body
		}
	}
	return s
}

// add records a problem.
func (s *Source) add(d *hcl.Diagnostic) {
	severity := codersdk.DiagnosticSeverityError
	if d.Severity == hcl.DiagWarning {
		severity = codersdk.DiagnosticSeverityWarning
	}
	at := hcl.Range{Start: hcl.InitialPos, End: hcl.InitialPos}
	if d.Subject != nil {
		at = *d.Subject
	}
	s.diagnostics = append(s.diagnostics, templatesource.TemplateDiagnostic{
		Severity: severity, Summary: d.Summary, Detail: d.Detail, Path: at.Filename,
		Line: at.Start.Line, Column: at.Start.Column, EndLine: at.End.Line, EndColumn: at.End.Column,
	})
}

// fail records an error at a place.
func (s *Source) fail(at hcl.Range, summary, detail string) {
	s.add(&hcl.Diagnostic{Severity: hcl.DiagError, Summary: summary, Detail: detail, Subject: &at})
}

// Check returns the problems of the source, by file and line, at most 200.
func (s *Source) Check() []templatesource.TemplateDiagnostic {
	if !s.broken && !s.foreign {
		s.checkReferences()
	}
	slices.SortStableFunc(s.diagnostics, func(a, b templatesource.TemplateDiagnostic) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return s.diagnostics[:min(len(s.diagnostics), maxDiagnostics)]
}

// paths returns the parsed files in order.
func (s *Source) paths() []string {
	out := make([]string, 0, len(s.bodies))
	for name := range s.bodies {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// Blocks returns the blocks of the root module, by file and line.
func (s *Source) Blocks() []templatesource.TemplateBlock {
	out := []templatesource.TemplateBlock{}
	for _, name := range s.paths() {
		for _, b := range s.bodies[name].Blocks {
			out = append(out, templatesource.TemplateBlock{
				Type: b.Type, Labels: append([]string{}, b.Labels...), Path: name, Line: b.DefRange().Start.Line,
			})
		}
	}
	return out
}

// Format returns a file in the format of "terraform fmt". The second result is false if the
// file has syntax errors; it is returned unchanged then.
func Format(content string) (string, bool) {
	if sourcetree.TooDeep([]byte(content)) {
		return content, false
	}
	if _, diags := hclsyntax.ParseConfig([]byte(content), "main.tf", hcl.InitialPos); diags.HasErrors() {
		return content, false
	}
	return string(hclwrite.Format([]byte(content))), true
}
