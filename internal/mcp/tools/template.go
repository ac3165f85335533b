package tools

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/mcp/toolkit"
)

// templateTools are the tools on templates.
var templateTools = []Tool{
	toolkit.New(toolkit.Spec{
		Name: "coder_list_templates", Title: "List templates",
		Description: "List the templates that workspaces can be created from.",
		Scopes:      []codersdk.APIKeyScope{"template:read"},
	}, listTemplates),
	toolkit.New(toolkit.Spec{
		Name: "coder_get_template", Title: "Get a template",
		Description: "Get a template.",
		Scopes:      []codersdk.APIKeyScope{"template:read"},
	}, getTemplate),
	toolkit.New(toolkit.Spec{
		Name: "coder_create_template", Title: "Create a template",
		Description: "Create a template from a template version whose import succeeded.",
		Effect:      toolkit.Additive,
		Scopes:      []codersdk.APIKeyScope{"template:create"},
	}, createTemplate),
	toolkit.New(toolkit.Spec{
		Name: "coder_delete_template", Title: "Delete a template",
		Description: "Delete a template that no workspace uses. This cannot be undone.",
		Effect:      toolkit.Destructive,
		Scopes:      []codersdk.APIKeyScope{"template:delete", "template:read"},
	}, deleteTemplate),
}

// templateView is a template, as a tool shows it.
type templateView struct {
	ID                 uuid.UUID `json:"id"`
	Name               string    `json:"name"`
	DisplayName        string    `json:"display_name,omitempty"`
	Description        string    `json:"description,omitempty"`
	Organization       string    `json:"organization"`
	ActiveVersionID    uuid.UUID `json:"active_version_id"`
	ActiveUsers        int       `json:"active_users"`
	DeprecationMessage string    `json:"deprecation_message,omitempty"`
	UpdatedAt          time.Time `json:"updated_at"`
}

func viewTemplate(t codersdk.Template) templateView {
	return templateView{
		ID: t.ID, Name: t.Name, DisplayName: t.DisplayName, Description: toolkit.Truncate(t.Description, 1000), Organization: t.OrganizationName,
		ActiveVersionID: t.ActiveVersionID, ActiveUsers: max(0, t.ActiveUserCount), DeprecationMessage: t.DeprecationMessage, UpdatedAt: t.UpdatedAt,
	}
}

// findTemplate returns the template that ref names, which is a name or an ID.
func findTemplate(ctx context.Context, c *Caller, ref, organization string) (codersdk.Template, error) {
	if id, err := uuid.Parse(ref); err == nil {
		return c.Client.Template(ctx, id)
	}
	if organization != "" {
		return c.Client.TemplateByName(ctx, organization, ref)
	}
	all, err := c.Client.Templates(ctx, page{Limit: 100}.query("exact_name:"+ref))
	switch {
	case err != nil:
		return codersdk.Template{}, err
	case len(all) == 0:
		return codersdk.Template{}, codersdk.Errorf(codersdk.CodeNotFound, "Template %.64q not found", ref)
	case len(all) > 1:
		return codersdk.Template{}, codersdk.Invalid("template", "several organizations have a template %.64q; set organization too", ref)
	}
	return all[0], nil
}

type listTemplatesInput struct {
	Query string `json:"query,omitempty" jsonschema:"Search such as: name:docker deprecated:false" max:"1000"`
	page
}

func listTemplates(ctx context.Context, c *Caller, in listTemplatesInput) ([]templateView, error) {
	all, err := c.Client.Templates(ctx, in.query(in.Query))
	out := make([]templateView, len(all))
	for i, t := range all {
		out[i] = viewTemplate(t)
	}
	return out, err
}

// inTemplate names a template.
type inTemplate struct {
	Template     string `json:"template" jsonschema:"Template as name or ID" min:"1" max:"64"`
	Organization string `json:"organization,omitempty" jsonschema:"Organization of the template, for a name that several have" max:"64"`
}

func getTemplate(ctx context.Context, c *Caller, in inTemplate) (templateView, error) {
	t, err := findTemplate(ctx, c, in.Template, in.Organization)
	return viewTemplate(t), err
}

// inOrganization names an organization.
type inOrganization struct {
	Organization string `json:"organization,omitempty" jsonschema:"Organization as name or ID" max:"64" default:"default"`
}

type createTemplateInput struct {
	Name        string `json:"name" jsonschema:"Name of the new template" min:"1" max:"32"`
	DisplayName string `json:"display_name,omitempty" jsonschema:"Name in the dashboard" max:"64"`
	Description string `json:"description,omitempty" jsonschema:"One sentence about the template" max:"127"`
	Icon        string `json:"icon,omitempty" jsonschema:"URL or path of an icon" max:"256"`
	inVersion
	inOrganization
}

func createTemplate(ctx context.Context, c *Caller, in createTemplateInput) (templateView, error) {
	version, err := parseID("template_version_id", in.TemplateVersionID)
	if err != nil {
		return templateView{}, err
	}
	t, err := c.Client.CreateTemplate(ctx, in.Organization, codersdk.CreateTemplateRequest{
		Name: in.Name, DisplayName: in.DisplayName, Description: in.Description, Icon: in.Icon, TemplateVersionID: version,
	})
	return viewTemplate(t), err
}

func deleteTemplate(ctx context.Context, c *Caller, in inTemplate) (string, error) {
	t, err := findTemplate(ctx, c, in.Template, in.Organization)
	if err != nil {
		return "", err
	}
	if err := c.Client.DeleteTemplate(ctx, t.ID); err != nil {
		return "", err
	}
	return "The template is deleted.", nil
}
