package tools

import (
	"context"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/mcp/toolkit"
)

// operateTools are the tools that create, start, stop and delete workspaces.
var operateTools = []Tool{
	toolkit.New(toolkit.Spec{
		Name: "coder_create_workspace", Title: "Create a workspace",
		Description: "Create a workspace from a template. coder_template_version_parameters lists the parameters. " +
			"The build takes minutes: coder_get_workspace shows its status.",
		Effect: toolkit.Additive,
		Scopes: []codersdk.APIKeyScope{"template:read", "template:use", "workspace:create"},
	}, createWorkspace),
	toolkit.New(toolkit.Spec{
		Name: "coder_start_workspace", Title: "Start a workspace",
		Description: "Start a stopped workspace. Parameters that are not given keep their values.",
		Effect:      toolkit.Additive,
		Scopes:      []codersdk.APIKeyScope{"template:read", "template:use", "workspace:read", "workspace:start"},
	}, startWorkspace),
	toolkit.New(toolkit.Spec{
		Name: "coder_stop_workspace", Title: "Stop a workspace",
		Description: "Stop a running workspace. Its processes end; data on persistent volumes stays.",
		Effect:      toolkit.Destructive,
		Scopes:      []codersdk.APIKeyScope{"workspace:read", "workspace:stop"},
	}, stopWorkspace),
	toolkit.New(toolkit.Spec{
		Name: "coder_delete_workspace", Title: "Delete a workspace",
		Description: "Delete a workspace with all its data. This cannot be undone.",
		Effect:      toolkit.Destructive,
		Scopes:      []codersdk.APIKeyScope{"workspace:delete", "workspace:read"},
	}, deleteWorkspace),
	toolkit.New(toolkit.Spec{
		Name: "coder_create_workspace_build", Title: "Start, stop, update or delete a workspace",
		Description: "Create a build of a workspace: start, stop or delete it, or start it with another template version or other parameters. " +
			"A delete cannot be undone.",
		Effect: toolkit.Destructive,
		Scopes: []codersdk.APIKeyScope{
			"template:read", "template:use", "workspace:delete", "workspace:read", "workspace:start", "workspace:stop",
		},
	}, createWorkspaceBuild),
	toolkit.New(toolkit.Spec{
		Name: "coder_cancel_workspace_build", Title: "Cancel the build of a workspace",
		Description: "Cancel the build of a workspace that is pending or running. Resources that are created so far can remain.",
		Effect:      toolkit.Destructive,
		Scopes:      []codersdk.APIKeyScope{"workspace:read", "workspace:update"},
	}, cancelWorkspaceBuild),
	toolkit.New(toolkit.Spec{
		Name: "coder_list_workspace_builds", Title: "List the builds of a workspace",
		Description: "List the builds of a workspace, the newest first.",
		Scopes:      []codersdk.APIKeyScope{"workspace:read"},
	}, listWorkspaceBuilds),
}

// parameters are the values of a template's parameters, by name.
type parameters map[string]string

func (p parameters) values() (out []codersdk.WorkspaceBuildParameter) {
	for _, name := range slices.Sorted(maps.Keys(p)) {
		out = append(out, codersdk.WorkspaceBuildParameter{Name: name, Value: p[name]})
	}
	return out
}

type createWorkspaceInput struct {
	Name              string     `json:"name" jsonschema:"Name of the new workspace" min:"1" max:"32"`
	Owner             string     `json:"user,omitempty" jsonschema:"Owner of the new workspace: a username, or me" max:"64" default:"me"`
	Template          string     `json:"template,omitempty" jsonschema:"Template as name or ID. Required without template_version_id" max:"64"`
	Organization      string     `json:"organization,omitempty" jsonschema:"Organization of the template, for a name that several have" max:"64"`
	TemplateVersionID string     `json:"template_version_id,omitempty" jsonschema:"ID of the template version (default: the active version)" max:"36"`
	Preset            string     `json:"preset_id,omitempty" jsonschema:"ID of a preset of the template version" max:"36"`
	Parameters        parameters `json:"rich_parameters,omitempty" jsonschema:"Values of the template's parameters, by name" itemmax:"8192"`
}

func createWorkspace(ctx context.Context, c *Caller, in createWorkspaceInput) (workspaceView, error) {
	req := codersdk.CreateWorkspaceRequest{Name: in.Name, RichParameterValues: in.Parameters.values()}
	var err error
	if req.TemplateVersionID, err = optionalID("template_version_id", in.TemplateVersionID); err != nil {
		return workspaceView{}, err
	}
	preset, err := optionalID("preset_id", in.Preset)
	if err != nil {
		return workspaceView{}, err
	}
	if preset != uuid.Nil {
		req.TemplateVersionPresetID = &preset
	}
	switch {
	case req.TemplateVersionID != uuid.Nil:
	case in.Template == "":
		return workspaceView{}, codersdk.Invalid("template", "is required without template_version_id")
	default:
		t, err := findTemplate(ctx, c, in.Template, in.Organization)
		if err != nil {
			return workspaceView{}, err
		}
		req.TemplateID = t.ID
	}
	w, err := c.Client.CreateWorkspace(ctx, in.Owner, req)
	return viewOneWorkspace(w), err
}

// optionalID parses an ID that can be "".
func optionalID(field, text string) (uuid.UUID, error) {
	if text == "" {
		return uuid.Nil, nil
	}
	return parseID(field, text)
}

func parseID(field, text string) (uuid.UUID, error) {
	id, err := uuid.Parse(text)
	if err != nil {
		return id, codersdk.Invalid(field, "%.64q is not a UUID", text)
	}
	return id, nil
}

// build creates a build of the workspace that ref names.
func build(ctx context.Context, c *Caller, ref string, req codersdk.CreateWorkspaceBuildRequest) (buildView, error) {
	t, err := findWorkspace(ctx, c, ref)
	if err != nil {
		return buildView{}, err
	}
	b, err := c.Client.CreateWorkspaceBuild(ctx, t.workspace.ID, req)
	return viewBuild(b), err
}

type startWorkspaceInput struct {
	inWorkspace
	Parameters parameters `json:"rich_parameters,omitempty" jsonschema:"Parameters to change, by name" itemmax:"8192"`
}

func startWorkspace(ctx context.Context, c *Caller, in startWorkspaceInput) (buildView, error) {
	return build(ctx, c, in.Workspace, codersdk.CreateWorkspaceBuildRequest{
		Transition: codersdk.WorkspaceTransitionStart, RichParameterValues: in.Parameters.values(),
	})
}

func stopWorkspace(ctx context.Context, c *Caller, in inWorkspace) (buildView, error) {
	return build(ctx, c, in.Workspace, codersdk.CreateWorkspaceBuildRequest{Transition: codersdk.WorkspaceTransitionStop})
}

func deleteWorkspace(ctx context.Context, c *Caller, in inWorkspace) (buildView, error) {
	return build(ctx, c, in.Workspace, codersdk.CreateWorkspaceBuildRequest{Transition: codersdk.WorkspaceTransitionDelete})
}

type createBuildInput struct {
	inWorkspace
	Transition        string     `json:"transition" jsonschema:"Effect of the build" enum:"start,stop,delete"`
	TemplateVersionID string     `json:"template_version_id,omitempty" jsonschema:"ID of the template version to start (default: unchanged)" max:"36"`
	Parameters        parameters `json:"rich_parameters,omitempty" jsonschema:"Parameters to change, by name" itemmax:"8192"`
}

func createWorkspaceBuild(ctx context.Context, c *Caller, in createBuildInput) (buildView, error) {
	version, err := optionalID("template_version_id", in.TemplateVersionID)
	if err != nil {
		return buildView{}, err
	}
	return build(ctx, c, in.Workspace, codersdk.CreateWorkspaceBuildRequest{
		Transition: codersdk.WorkspaceTransition(in.Transition), TemplateVersionID: version, RichParameterValues: in.Parameters.values(),
	})
}

func cancelWorkspaceBuild(ctx context.Context, c *Caller, in inWorkspace) (string, error) {
	t, err := findWorkspace(ctx, c, in.Workspace)
	if err != nil {
		return "", err
	}
	if err := c.Client.CancelWorkspaceBuild(ctx, t.workspace.LatestBuild.ID, nil); err != nil {
		return "", err
	}
	return "The build is being canceled.", nil
}

type listBuildsInput struct {
	inWorkspace
	page
}

func listWorkspaceBuilds(ctx context.Context, c *Caller, in listBuildsInput) ([]buildView, error) {
	t, err := findWorkspace(ctx, c, in.Workspace)
	if err != nil {
		return nil, err
	}
	builds, err := c.Client.WorkspaceBuilds(ctx, t.workspace.ID, in.query(""))
	out := make([]buildView, len(builds))
	for i, b := range builds {
		out[i] = viewBuild(b)
	}
	return out, err
}
