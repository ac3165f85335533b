package codersdk

import (
	"context"
	"net/url"

	"github.com/google/uuid"
)

// Templates calls GET /templates.
func (c *Client) Templates(ctx context.Context, q url.Values) ([]Template, error) {
	return all[Template](ctx, c, "/templates", q)
}

// OrganizationTemplates calls GET /organizations/{organization}/templates.
func (c *Client) OrganizationTemplates(ctx context.Context, organization string) ([]Template, error) {
	return all[Template](ctx, c, "/organizations/"+url.PathEscape(organization)+"/templates", nil)
}

// TemplateByName calls GET /organizations/{organization}/templates/{name}.
func (c *Client) TemplateByName(ctx context.Context, organization string, name string) (out Template, err error) {
	err = c.do(ctx, "GET", "/organizations/"+url.PathEscape(organization)+"/templates/"+url.PathEscape(name), nil, nil, &out)
	return out, err
}

// Template calls GET /templates/{id}.
func (c *Client) Template(ctx context.Context, id uuid.UUID) (out Template, err error) {
	err = c.do(ctx, "GET", "/templates/"+id.String(), nil, nil, &out)
	return out, err
}

// CreateTemplate calls POST /organizations/{organization}/templates.
func (c *Client) CreateTemplate(ctx context.Context, organization string, req CreateTemplateRequest) (out Template, err error) {
	err = c.do(ctx, "POST", "/organizations/"+url.PathEscape(organization)+"/templates", nil, req, &out)
	return out, err
}

// UpdateTemplate calls PATCH /templates/{id}.
func (c *Client) UpdateTemplate(ctx context.Context, id uuid.UUID, req UpdateTemplateMeta) (out Template, err error) {
	err = c.do(ctx, "PATCH", "/templates/"+id.String(), nil, req, &out)
	return out, err
}

// DeleteTemplate calls DELETE /templates/{id}.
func (c *Client) DeleteTemplate(ctx context.Context, id uuid.UUID) error {
	return c.do(ctx, "DELETE", "/templates/"+id.String(), nil, nil, nil)
}

// TemplateExamples calls GET /templates/examples.
func (c *Client) TemplateExamples(ctx context.Context) (out []TemplateExample, err error) {
	err = c.do(ctx, "GET", "/templates/examples", nil, nil, &out)
	return out, err
}

// UpdateActiveTemplateVersion calls PATCH /templates/{id}/versions.
func (c *Client) UpdateActiveTemplateVersion(ctx context.Context, id uuid.UUID, req UpdateActiveTemplateVersion) error {
	return c.do(ctx, "PATCH", "/templates/"+id.String()+"/versions", nil, req, nil)
}

// TemplateVersions calls GET /templates/{id}/versions.
func (c *Client) TemplateVersions(ctx context.Context, id uuid.UUID, q url.Values) (out []TemplateVersion, err error) {
	err = c.do(ctx, "GET", "/templates/"+id.String()+"/versions", q, nil, &out)
	return out, err
}

// TemplateVersionByName calls GET /templates/{id}/versions/{name}.
func (c *Client) TemplateVersionByName(ctx context.Context, id uuid.UUID, name string) (out TemplateVersion, err error) {
	err = c.do(ctx, "GET", "/templates/"+id.String()+"/versions/"+url.PathEscape(name), nil, nil, &out)
	return out, err
}

// ArchiveTemplateVersions calls POST /templates/{id}/versions/archive.
func (c *Client) ArchiveTemplateVersions(ctx context.Context, id uuid.UUID, req ArchiveTemplateVersionsRequest) error {
	return c.do(ctx, "POST", "/templates/"+id.String()+"/versions/archive", nil, req, nil)
}

// CreateTemplateVersion calls POST /organizations/{organization}/templateversions.
func (c *Client) CreateTemplateVersion(ctx context.Context, organization string, req CreateTemplateVersionRequest) (out TemplateVersion, err error) {
	err = c.do(ctx, "POST", "/organizations/"+url.PathEscape(organization)+"/templateversions", nil, req, &out)
	return out, err
}

// TemplateVersion calls GET /templateversions/{id}.
func (c *Client) TemplateVersion(ctx context.Context, id uuid.UUID) (out TemplateVersion, err error) {
	err = c.do(ctx, "GET", "/templateversions/"+id.String(), nil, nil, &out)
	return out, err
}

// UpdateTemplateVersion calls PATCH /templateversions/{id}.
func (c *Client) UpdateTemplateVersion(ctx context.Context, id uuid.UUID, req PatchTemplateVersionRequest) (out TemplateVersion, err error) {
	err = c.do(ctx, "PATCH", "/templateversions/"+id.String(), nil, req, &out)
	return out, err
}

// CancelTemplateVersion calls PATCH /templateversions/{id}/cancel.
func (c *Client) CancelTemplateVersion(ctx context.Context, id uuid.UUID) error {
	return c.do(ctx, "PATCH", "/templateversions/"+id.String()+"/cancel", nil, nil, nil)
}

// ArchiveTemplateVersion calls POST /templateversions/{id}/archive.
func (c *Client) ArchiveTemplateVersion(ctx context.Context, id uuid.UUID) error {
	return c.do(ctx, "POST", "/templateversions/"+id.String()+"/archive", nil, nil, nil)
}

// UnarchiveTemplateVersion calls POST /templateversions/{id}/unarchive.
func (c *Client) UnarchiveTemplateVersion(ctx context.Context, id uuid.UUID) error {
	return c.do(ctx, "POST", "/templateversions/"+id.String()+"/unarchive", nil, nil, nil)
}

// TemplateVersionLogs calls GET /templateversions/{id}/logs.
func (c *Client) TemplateVersionLogs(ctx context.Context, id uuid.UUID, q url.Values) (out []ProvisionerJobLog, err error) {
	err = c.do(ctx, "GET", "/templateversions/"+id.String()+"/logs", q, nil, &out)
	return out, err
}

// TemplateVersionResources calls GET /templateversions/{id}/resources.
func (c *Client) TemplateVersionResources(ctx context.Context, id uuid.UUID) (out []WorkspaceResource, err error) {
	err = c.do(ctx, "GET", "/templateversions/"+id.String()+"/resources", nil, nil, &out)
	return out, err
}

// TemplateVersionParameters calls GET /templateversions/{id}/rich-parameters.
func (c *Client) TemplateVersionParameters(ctx context.Context, id uuid.UUID) (out []TemplateVersionParameter, err error) {
	err = c.do(ctx, "GET", "/templateversions/"+id.String()+"/rich-parameters", nil, nil, &out)
	return out, err
}

// PreviewParameters calls POST /templateversions/{id}/dynamic-parameters/evaluate.
func (c *Client) PreviewParameters(ctx context.Context, id uuid.UUID, req DynamicParametersRequest) (out DynamicParametersResponse, err error) {
	err = c.do(ctx, "POST", "/templateversions/"+id.String()+"/dynamic-parameters/evaluate", nil, req, &out)
	return out, err
}

// TemplateVersionVariables calls GET /templateversions/{id}/variables.
func (c *Client) TemplateVersionVariables(ctx context.Context, id uuid.UUID) (out []TemplateVersionVariable, err error) {
	err = c.do(ctx, "GET", "/templateversions/"+id.String()+"/variables", nil, nil, &out)
	return out, err
}

// TemplateVersionPresets calls GET /templateversions/{id}/presets.
func (c *Client) TemplateVersionPresets(ctx context.Context, id uuid.UUID) (out []Preset, err error) {
	err = c.do(ctx, "GET", "/templateversions/"+id.String()+"/presets", nil, nil, &out)
	return out, err
}

// TemplateVersionExternalAuth calls GET /templateversions/{id}/external-auth.
func (c *Client) TemplateVersionExternalAuth(ctx context.Context, id uuid.UUID) (out []TemplateVersionExternalAuth, err error) {
	err = c.do(ctx, "GET", "/templateversions/"+id.String()+"/external-auth", nil, nil, &out)
	return out, err
}

// CreateTemplateVersionDryRun calls POST /templateversions/{id}/dry-run.
func (c *Client) CreateTemplateVersionDryRun(ctx context.Context, id uuid.UUID, req CreateTemplateVersionDryRunRequest) (out ProvisionerJob, err error) {
	err = c.do(ctx, "POST", "/templateversions/"+id.String()+"/dry-run", nil, req, &out)
	return out, err
}

// TemplateVersionDryRun calls GET /templateversions/{id}/dry-run/{job}.
func (c *Client) TemplateVersionDryRun(ctx context.Context, id uuid.UUID, job uuid.UUID) (out ProvisionerJob, err error) {
	err = c.do(ctx, "GET", "/templateversions/"+id.String()+"/dry-run/"+job.String(), nil, nil, &out)
	return out, err
}

// TemplateVersionDryRunLogs calls GET /templateversions/{id}/dry-run/{job}/logs.
func (c *Client) TemplateVersionDryRunLogs(ctx context.Context, id uuid.UUID, job uuid.UUID, q url.Values) (out []ProvisionerJobLog, err error) {
	err = c.do(ctx, "GET", "/templateversions/"+id.String()+"/dry-run/"+job.String()+"/logs", q, nil, &out)
	return out, err
}

// TemplateVersionDryRunResources calls GET /templateversions/{id}/dry-run/{job}/resources.
func (c *Client) TemplateVersionDryRunResources(ctx context.Context, id uuid.UUID, job uuid.UUID) (out []WorkspaceResource, err error) {
	err = c.do(ctx, "GET", "/templateversions/"+id.String()+"/dry-run/"+job.String()+"/resources", nil, nil, &out)
	return out, err
}

// CancelTemplateVersionDryRun calls PATCH /templateversions/{id}/dry-run/{job}/cancel.
func (c *Client) CancelTemplateVersionDryRun(ctx context.Context, id uuid.UUID, job uuid.UUID) error {
	return c.do(ctx, "PATCH", "/templateversions/"+id.String()+"/dry-run/"+job.String()+"/cancel", nil, nil, nil)
}

// TemplateACL calls GET /templates/{id}/acl.
func (c *Client) TemplateACL(ctx context.Context, id uuid.UUID) (out TemplateACL, err error) {
	err = c.do(ctx, "GET", "/templates/"+id.String()+"/acl", nil, nil, &out)
	return out, err
}

// UpdateTemplateACL calls PATCH /templates/{id}/acl.
func (c *Client) UpdateTemplateACL(ctx context.Context, id uuid.UUID, req UpdateTemplateACL) error {
	return c.do(ctx, "PATCH", "/templates/"+id.String()+"/acl", nil, req, nil)
}
