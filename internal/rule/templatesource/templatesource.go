// Package templatesource has the API types of template sources: their composition from starter templates and
// modules, their check before an import, and what a list of templates shows.
package templatesource

import (
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// TemplateSummary is what a list of templates shows beside the settings.
type TemplateSummary struct {
	TemplateID uuid.UUID `json:"template_id"`
	// LatestImport is the import of the newest version that is not archived; nil for users
	// who cannot update the template.
	LatestImport *TemplateImport `json:"latest_import,omitempty"`
	// Workspaces is the number of workspaces, without prebuilt ones that nobody has claimed.
	Workspaces int64 `json:"workspaces"`
}

// TemplateImport is the import of a version.
type TemplateImport struct {
	VersionID   uuid.UUID                     `json:"version_id"`
	VersionName string                        `json:"version_name"`
	CreatedAt   time.Time                     `json:"created_at"`
	Status      codersdk.ProvisionerJobStatus `json:"status"`
	Error       string                        `json:"error"` // "" unless the import failed
}

// TemplateModule is a part of a template that can be added to a starter template.
type TemplateModule struct {
	ID          string                  `json:"id"`
	Name        string                  `json:"name"`
	Description string                  `json:"description"`
	Icon        string                  `json:"icon"`
	Tags        []string                `json:"tags"`
	Settings    []TemplateModuleSetting `json:"settings"`
}

// TemplateModuleSetting is a Terraform variable of a module. Type is string, number or bool.
type TemplateModuleSetting struct {
	Name        string `json:"name"`
	Type        string `json:"type"`
	Description string `json:"description"`
	Default     string `json:"default"`
}

// ComposeTemplateRequest names a starter template and the modules to add to it.
type ComposeTemplateRequest struct {
	ExampleID string                  `json:"example_id"`
	Modules   []ComposeTemplateModule `json:"modules"`
}

// ComposeTemplateModule is a module with values of its settings. A setting without a value
// keeps its default.
type ComposeTemplateModule struct {
	ID       string            `json:"id"`
	Settings map[string]string `json:"settings"`
}

// ComposedTemplate is the source of a composed template.
type ComposedTemplate struct {
	Files []TemplateFile `json:"files"`
	// Variables are the Terraform variables of the starter template.
	Variables []codersdk.TemplateVersionVariable `json:"variables"`
}

// TemplateFile is a text file of a template's source. Path is relative to its root.
type TemplateFile struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

// CheckTemplateRequest is a template's source before its import.
type CheckTemplateRequest struct {
	Files []TemplateFile `json:"files"`
	// TemplateID is the template that is edited; nil for a new one.
	TemplateID *uuid.UUID `json:"template_id,omitempty"`
	// Inputs are entered values of the form, by parameter name.
	Inputs map[string]string `json:"inputs,omitempty"`
}

// CheckedTemplate is what the server finds in a source without running Terraform.
type CheckedTemplate struct {
	Diagnostics []TemplateDiagnostic `json:"diagnostics"`
	Blocks      []TemplateBlock      `json:"blocks"`
	// Parameters are the form for new workspaces. Parameters of Terraform modules are
	// missing: only an import finds them.
	Parameters []codersdk.PreviewParameter `json:"parameters"`
}

// TemplateDiagnostic is a problem of a source. Lines and columns count from 1; a column
// counts characters. Path is "" for problems of the whole source.
type TemplateDiagnostic struct {
	Severity  codersdk.DiagnosticSeverity `json:"severity"`
	Summary   string                      `json:"summary"`
	Detail    string                      `json:"detail"`
	Path      string                      `json:"path"`
	Line      int                         `json:"line"`
	Column    int                         `json:"column"`
	EndLine   int                         `json:"end_line"`
	EndColumn int                         `json:"end_column"`
}

// TemplateBlock is a block at the top level of a file, such as a resource.
type TemplateBlock struct {
	Type   string   `json:"type"`
	Labels []string `json:"labels"`
	Path   string   `json:"path"`
	Line   int      `json:"line"` // counts from 1
}

// FormatTemplateRequest is the text of a Terraform file.
type FormatTemplateRequest struct {
	Content string `json:"content"`
}

// FormatTemplateResponse is the text in the format of "terraform fmt".
type FormatTemplateResponse struct {
	Content string `json:"content"`
}
