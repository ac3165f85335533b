package tools

import (
	"archive/tar"
	"bytes"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/mcp/toolkit"
)

// versionTools are the tools on versions of templates.
var versionTools = []Tool{
	toolkit.New(toolkit.Spec{
		Name: "coder_list_template_versions", Title: "List the versions of a template",
		Description: "List the versions of a template, the newest first.",
		Scopes:      []codersdk.APIKeyScope{"template:read"},
	}, listTemplateVersions),
	toolkit.New(toolkit.Spec{
		Name: "coder_template_version_parameters", Title: "List the parameters of a template version",
		Description: "List the parameters and presets with which a workspace of a template version is created.",
		Scopes:      []codersdk.APIKeyScope{"template:read"},
	}, templateVersionParameters),
	toolkit.New(toolkit.Spec{
		Name: "coder_upload_tar_file", Title: "Upload the files of a template",
		Description: "Upload the Terraform files of a template as one archive. coder_create_template_version uses the returned file_id.",
		Effect:      toolkit.Additive,
		Scopes:      []codersdk.APIKeyScope{"file:create"},
	}, uploadTarFile),
	toolkit.New(toolkit.Spec{
		Name: "coder_create_template_version", Title: "Create a template version",
		Description: "Import uploaded files as a version of a template, or as the first version of a new one. " +
			"The import takes a minute: coder_get_template_version_logs shows its log.",
		Effect: toolkit.Additive,
		Scopes: []codersdk.APIKeyScope{"template:create", "template:update"},
	}, createTemplateVersion),
	toolkit.New(toolkit.Spec{
		Name: "coder_update_template_active_version", Title: "Set the active version of a template",
		Description: "Set the version that new workspaces of a template use. Existing workspaces change when they are updated.",
		Effect:      toolkit.Destructive, Idempotent: true,
		Scopes: []codersdk.APIKeyScope{"template:read", "template:update"},
	}, updateTemplateActiveVersion),
}

// inVersion names a version.
type inVersion struct {
	TemplateVersionID string `json:"template_version_id" jsonschema:"ID of the template version" min:"36" max:"36"`
}

// versionView is a version of a template, as a tool shows it.
type versionView struct {
	ID        uuid.UUID                     `json:"id"`
	Name      string                        `json:"name"`
	Message   string                        `json:"message,omitempty"`
	Status    codersdk.ProvisionerJobStatus `json:"job_status"`
	Error     string                        `json:"error,omitempty"`
	Warning   string                        `json:"warning,omitempty"`
	Archived  bool                          `json:"archived,omitempty"`
	CreatedBy string                        `json:"created_by"`
	CreatedAt time.Time                     `json:"created_at"`
}

func viewVersion(v codersdk.TemplateVersion) versionView {
	return versionView{
		ID: v.ID, Name: v.Name, Message: toolkit.Truncate(v.Message, 500), Status: v.Job.Status, Error: toolkit.Truncate(v.Job.Error, 2000),
		Warning: v.ProvisionerWarning, Archived: v.Archived, CreatedBy: v.CreatedBy.Username, CreatedAt: v.CreatedAt,
	}
}

type listVersionsInput struct {
	inTemplate
	page
}

func listTemplateVersions(ctx context.Context, c *Caller, in listVersionsInput) ([]versionView, error) {
	t, err := findTemplate(ctx, c, in.Template, in.Organization)
	if err != nil {
		return nil, err
	}
	q := in.query("")
	q.Set("newest_first", "true")
	all, err := c.Client.TemplateVersions(ctx, t.ID, q)
	out := make([]versionView, len(all))
	for i, v := range all {
		out[i] = viewVersion(v)
	}
	return out, err
}

// parameterView is a parameter of a template version, as a tool shows it.
type parameterView struct {
	Name        string       `json:"name"`
	Description string       `json:"description,omitempty"`
	Type        string       `json:"type"`
	Default     string       `json:"default,omitempty"`
	Required    bool         `json:"required,omitempty"`
	Mutable     bool         `json:"mutable"`
	Ephemeral   bool         `json:"ephemeral,omitempty"`
	Options     []optionView `json:"options,omitempty"`
	Regex       string       `json:"regex,omitempty"`
	Min         *int32       `json:"min,omitempty"`
	Max         *int32       `json:"max,omitempty"`
}

type optionView struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type presetView struct {
	ID         uuid.UUID         `json:"id"`
	Name       string            `json:"name"`
	Default    bool              `json:"default,omitempty"`
	Parameters map[string]string `json:"parameters,omitempty"`
}

type parametersOutput struct {
	Parameters []parameterView `json:"parameters"`
	Presets    []presetView    `json:"presets,omitempty"`
}

func templateVersionParameters(ctx context.Context, c *Caller, in inVersion) (out parametersOutput, err error) {
	id, err := parseID("template_version_id", in.TemplateVersionID)
	if err != nil {
		return out, err
	}
	all, err := c.Client.TemplateVersionParameters(ctx, id)
	if err != nil {
		return out, err
	}
	out.Parameters = []parameterView{}
	for _, p := range all {
		v := parameterView{
			Name: p.Name, Description: toolkit.Truncate(p.DescriptionPlaintext, 500), Type: p.Type, Default: p.DefaultValue,
			Required: p.Required, Mutable: p.Mutable, Ephemeral: p.Ephemeral, Regex: p.ValidationRegex, Min: p.ValidationMin, Max: p.ValidationMax,
		}
		for _, o := range p.Options {
			v.Options = append(v.Options, optionView{Name: o.Name, Value: o.Value})
		}
		out.Parameters = append(out.Parameters, v)
	}
	presets, err := c.Client.TemplateVersionPresets(ctx, id)
	for _, p := range presets {
		v := presetView{ID: p.ID, Name: p.Name, Default: p.Default, Parameters: map[string]string{}}
		for _, value := range p.Parameters {
			v.Parameters[value.Name] = value.Value
		}
		out.Presets = append(out.Presets, v)
	}
	return out, err
}

type uploadInput struct {
	Files map[string]string `json:"files" jsonschema:"Content of the files, by path such as main.tf" min:"1" max:"200" itemmax:"262144"`
}

type uploadOutput struct {
	FileID string `json:"file_id"`
}

func uploadTarFile(ctx context.Context, c *Caller, in uploadInput) (uploadOutput, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(in.Files)) {
		content := in.Files[name]
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(content))}); err != nil {
			return uploadOutput{}, codersdk.Invalid("files", "%.64q cannot be the path of a file: %s", name, err)
		}
		if _, err := w.Write([]byte(content)); err != nil {
			return uploadOutput{}, err
		}
	}
	if err := w.Close(); err != nil {
		return uploadOutput{}, err
	}
	got, err := c.Client.Upload(ctx, "application/x-tar", &b)
	return uploadOutput{FileID: got.Hash}, err
}

type createVersionInput struct {
	FileID     string            `json:"file_id" jsonschema:"ID that coder_upload_tar_file returned" min:"36" max:"36"`
	TemplateID string            `json:"template_id,omitempty" jsonschema:"ID of the template; absent for a new template" max:"36"`
	Name       string            `json:"name,omitempty" jsonschema:"Name of the version (default: random)" max:"64"`
	Message    string            `json:"message,omitempty" jsonschema:"What changed" max:"1000"`
	Tags       map[string]string `json:"tags,omitempty" jsonschema:"Tags of the provisioner to use, by name" max:"20"`
	inOrganization
}

func createTemplateVersion(ctx context.Context, c *Caller, in createVersionInput) (versionView, error) {
	file, err := parseID("file_id", in.FileID)
	if err != nil {
		return versionView{}, err
	}
	template, err := optionalID("template_id", in.TemplateID)
	if err != nil {
		return versionView{}, err
	}
	v, err := c.Client.CreateTemplateVersion(ctx, in.Organization, codersdk.CreateTemplateVersionRequest{
		FileID: file, TemplateID: template, Name: in.Name, Message: in.Message, Tags: in.Tags,
		Provisioner: "terraform", StorageMethod: codersdk.ProvisionerStorageMethodFile,
	})
	return viewVersion(v), err
}

type activeVersionInput struct {
	inTemplate
	inVersion
}

func updateTemplateActiveVersion(ctx context.Context, c *Caller, in activeVersionInput) (string, error) {
	version, err := parseID("template_version_id", in.TemplateVersionID)
	if err != nil {
		return "", err
	}
	t, err := findTemplate(ctx, c, in.Template, in.Organization)
	if err != nil {
		return "", err
	}
	if err := c.Client.UpdateActiveTemplateVersion(ctx, t.ID, codersdk.UpdateActiveTemplateVersion{ID: version}); err != nil {
		return "", err
	}
	return "The version is active.", nil
}
