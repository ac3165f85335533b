package mcphttp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/seed-2a7f8fe7/coder/internal/mcp/toolkit"
)

// importTimeout is how long the import of a template's files may take.
const importTimeout = 15 * time.Minute

const instructions = `These tools read and change Coder in a Kubernetes cluster, with the rights of the caller's token.
A control plane is a deployment of Coder in a namespace. Workspaces and templates are objects in the namespace of their control plane.
A change returns before its build ends; read the object again until its status shows the result.`

type tool = toolkit.Tool[*caller]

// all are the tools. Those for workspaces and templates have the names of the
// tools of the control plane with the same effect.
var all = slices.Concat([]tool{
	toolkit.New(toolkit.Spec{
		Name: "coder_get_authenticated_user", Title: "Get the authenticated user", Effect: toolkit.ReadOnly,
		Description: "Return the name and the groups that the cluster knows the caller by.",
	}, authenticatedUser),
	listTool(controlPlanes, "List control planes"), getTool(controlPlanes, "Get a control plane"),
	listTool(pools, "List provisioner pools"), getTool(pools, "Get a provisioner pool"),
	toolkit.New(toolkit.Spec{
		Name: "coder_scale_provisioner_pool", Title: "Scale a provisioner pool", Effect: toolkit.Destructive, Idempotent: true,
		Description: "Set the number of provisioners of a pool without autoscaling. Provisioners that are removed finish their builds first.",
	}, scalePool),
	listTool(proxies, "List workspace proxies"), getTool(proxies, "Get a workspace proxy"),
	listTool(templates, "List templates"), getTool(templates, "Get a template"),
	toolkit.New(toolkit.Spec{
		Name: "coder_create_template", Title: "Create a template", Effect: toolkit.Additive, Timeout: importTimeout,
		Description: "Create a template from Terraform files. Returns when the files are imported.",
	}, createTemplate),
	toolkit.New(toolkit.Spec{
		Name: "coder_create_template_version", Title: "Create a template version", Effect: toolkit.Destructive, Idempotent: true, Timeout: importTimeout,
		Description: "Replace the Terraform files of a template. The import of the files creates a version, which becomes the active one.",
	}, createVersion),
	toolkit.New(toolkit.Spec{
		Name: "coder_set_template_running", Title: "Deprecate or restore a template", Effect: toolkit.Destructive, Idempotent: true,
		Description: "Set whether new workspaces can be created from a template. A template that is not running is deprecated; its workspaces stay.",
	}, setTemplateRunning),
	toolkit.New(toolkit.Spec{
		Name: "coder_update_template_active_version", Title: "Set the active version of a template", Effect: toolkit.Destructive, Idempotent: true,
		Description: "Set the version that new and updated workspaces of a template use.",
	}, setActiveVersion),
	toolkit.New(toolkit.Spec{
		Name: "coder_delete_template", Title: "Delete a template", Effect: toolkit.Destructive, Idempotent: true,
		Description: "Delete a template that has no workspaces.",
	}, deleteTemplate),
	listTool(workspaces, "List workspaces"), getTool(workspaces, "Get a workspace"),
	toolkit.New(toolkit.Spec{
		Name: "coder_create_workspace", Title: "Create a workspace", Effect: toolkit.Additive,
		Description: "Create and start a workspace from the active version of a template, or from another version of it.",
	}, createWorkspace),
	toolkit.New(toolkit.Spec{
		Name: "coder_create_workspace_build", Title: "Start, stop or delete a workspace", Effect: toolkit.Destructive, Idempotent: true,
		Description: "Start, stop or delete a workspace. Deleting destroys its data.",
	}, buildWorkspace),
	toolkit.New(toolkit.Spec{
		Name: "coder_list_events", Title: "List events", Effect: toolkit.ReadOnly,
		Description: "List the Kubernetes events about an object, such as a control plane, a pool or a pod of theirs, or of a namespace, newest first. " +
			"They expire after about an hour.",
	}, listEvents),
	healthTool,
}, podTools)

type nothing struct{}

type userOutput struct {
	Name   string   `json:"name"`
	Groups []string `json:"groups"`
}

func authenticatedUser(_ context.Context, c *caller, _ nothing) (userOutput, error) {
	return userOutput{c.user.Username, c.user.Groups}, nil
}

// setSpec sets fields of an object's spec.
func (c *caller) setSpec(ctx context.Context, k kind, of named, spec map[string]any) (object, error) {
	patch, err := json.Marshal(map[string]any{"spec": spec})
	if err != nil {
		return object{}, err
	}
	u, err := c.of(k, of.Namespace).Patch(ctx, of.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return object{}, explain(err)
	}
	return objectOf(u), nil
}

// create creates an object. Its organization is the first part of its name.
func (c *caller) create(ctx context.Context, k kind, of named, spec map[string]any) (object, error) {
	organization, _, _ := strings.Cut(of.Name, ".")
	spec["organization"] = organization
	u := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	u.SetGroupVersionKind(k.resource.GroupVersion().WithKind(k.kind))
	u.SetName(of.Name)
	u, err := c.of(k, of.Namespace).Create(ctx, u, metav1.CreateOptions{})
	if err != nil {
		return object{}, explainImport(err)
	}
	return objectOf(u), nil
}

func (c *caller) delete(ctx context.Context, k kind, of named) (string, error) {
	if err := c.of(k, of.Namespace).Delete(ctx, of.Name, metav1.DeleteOptions{}); err != nil {
		return "", explain(err)
	}
	return fmt.Sprintf("The deletion of %s began; the object exists until it is done.", of.Name), nil
}

type scaleInput struct {
	named
	Replicas int64 `json:"replicas" jsonschema:"Number of provisioners" min:"0" max:"1000"`
}

func scalePool(ctx context.Context, c *caller, in scaleInput) (object, error) {
	pool, err := c.of(pools, in.Namespace).Get(ctx, in.Name, metav1.GetOptions{})
	if err != nil {
		return object{}, explain(err)
	}
	if _, scaled, _ := unstructured.NestedMap(pool.Object, "spec", "autoscaling"); scaled { //nolint:errcheck // another type is refused by the API
		return object{}, fmt.Errorf("%s has autoscaling, which sets its number of provisioners; change spec.autoscaling instead", in.Name)
	}
	return c.setSpec(ctx, pools, in.named, map[string]any{"replicas": in.Replicas})
}

type createTemplateInput struct {
	named
	Files       map[string]string `json:"files" jsonschema:"Content of the files, by path such as main.tf" min:"1" max:"200" itemmax:"262144"`
	DisplayName string            `json:"display_name,omitempty" jsonschema:"Name for people" max:"64"`
	Description string            `json:"description,omitempty" jsonschema:"One sentence" max:"128"`
	Icon        string            `json:"icon,omitempty" jsonschema:"URL or path of a picture" max:"1024"`
}

func createTemplate(ctx context.Context, c *caller, in createTemplateInput) (object, error) {
	files := make(map[string]any, len(in.Files))
	for path, content := range in.Files {
		files[path] = content
	}
	out, err := c.create(ctx, templates, in.named, map[string]any{
		"files": files, "displayName": in.DisplayName, "description": in.Description, "icon": in.Icon,
	})
	out.Spec = nil // the files are known to the caller
	return out, err
}

type createVersionInput struct {
	named
	Files map[string]string `json:"files" jsonschema:"Content of the files, by path such as main.tf" min:"1" max:"200" itemmax:"262144"`
	Keep  bool              `json:"keep_other_files,omitempty" jsonschema:"Keep the template's files that are not in files; otherwise they are deleted"`
}

func createVersion(ctx context.Context, c *caller, in createVersionInput) (object, error) {
	kind, change := types.MergePatchType, any(map[string]any{"spec": map[string]any{"files": in.Files}})
	if !in.Keep {
		kind, change = types.JSONPatchType, []map[string]any{{"op": "add", "path": "/spec/files", "value": in.Files}}
	}
	patch, err := json.Marshal(change)
	if err != nil {
		return object{}, err
	}
	u, err := c.of(templates, in.Namespace).Patch(ctx, in.Name, kind, patch, metav1.PatchOptions{})
	if err != nil {
		return object{}, explainImport(err)
	}
	out := objectOf(u)
	out.Spec = map[string]any{"versionID": versionOf(u)} // the files are known to the caller
	return out, nil
}

func versionOf(u *unstructured.Unstructured) string {
	id, _, _ := unstructured.NestedString(u.Object, "spec", "versionID") //nolint:errcheck // another type does not exist
	return id
}

type runningInput struct {
	named
	Running bool `json:"running" jsonschema:"false deprecates the template"`
}

func setTemplateRunning(ctx context.Context, c *caller, in runningInput) (object, error) {
	out, err := c.setSpec(ctx, templates, in.named, map[string]any{"running": in.Running})
	out.Spec = map[string]any{"running": in.Running} // without the files
	return out, err
}

type activeVersionInput struct {
	named
	VersionID string `json:"version_id" jsonschema:"ID of a version of the template" min:"36" max:"36"`
}

func setActiveVersion(ctx context.Context, c *caller, in activeVersionInput) (object, error) {
	out, err := c.setSpec(ctx, templates, in.named, map[string]any{"versionID": in.VersionID})
	out.Spec = nil // it contains all files
	return out, err
}

func deleteTemplate(ctx context.Context, c *caller, in named) (string, error) {
	return c.delete(ctx, templates, in)
}

type createWorkspaceInput struct {
	named
	Template  string `json:"template" jsonschema:"Name of the template, without its organization" min:"1" max:"64"`
	VersionID string `json:"version_id,omitempty" jsonschema:"ID of a version of the template; its active version if absent" max:"36"`
	Autostart string `json:"autostart_schedule,omitempty" jsonschema:"Such as CRON_TZ=Europe/Lisbon 30 7 * * 1-5" max:"256"`
	TTLMillis int64  `json:"ttl_ms,omitempty" jsonschema:"Milliseconds until the workspace stops; 0 leaves it to the template" min:"0" max:"2592000000"`
}

func createWorkspace(ctx context.Context, c *caller, in createWorkspaceInput) (object, error) {
	spec := map[string]any{"templateName": in.Template, "running": true}
	if in.VersionID != "" {
		spec["templateVersionID"] = in.VersionID
	}
	if in.Autostart != "" {
		spec["autostartSchedule"] = in.Autostart
	}
	if in.TTLMillis > 0 {
		spec["ttlMillis"] = in.TTLMillis
	}
	return c.create(ctx, workspaces, in.named, spec)
}

type buildInput struct {
	named
	Transition string `json:"transition" jsonschema:"What to do" enum:"start,stop,delete"`
}

func buildWorkspace(ctx context.Context, c *caller, in buildInput) (any, error) {
	if in.Transition == "delete" {
		return c.delete(ctx, workspaces, in.named)
	}
	return c.setSpec(ctx, workspaces, in.named, map[string]any{"running": in.Transition == "start"})
}
