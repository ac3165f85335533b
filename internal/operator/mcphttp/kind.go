package mcphttp

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	aggregation "github.com/seed-2a7f8fe7/coder/api/aggregation/v1alpha1"
	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
	"github.com/seed-2a7f8fe7/coder/internal/mcp/toolkit"
)

// kind is a kind of object that tools read.
type kind struct {
	name     string // in the names of tools, such as workspace
	plural   string
	noun     string // in descriptions
	resource schema.GroupVersionResource
	kind     string
}

// The kinds. Workspaces and templates are served by the aggregated API server.
var (
	workspaces = kind{"workspace", "workspaces", "workspace, named <organization>.<owner>.<workspace>",
		aggregation.GroupVersion().WithResource("coderworkspaces"), "CoderWorkspace"}
	templates = kind{"template", "templates", "template, named <organization>.<template>",
		aggregation.GroupVersion().WithResource("codertemplates"), "CoderTemplate"}
	controlPlanes = kind{"control_plane", "control_planes", "control plane (a deployment of coder server)",
		v1alpha1.GroupVersion().WithResource("codercontrolplanes"), "CoderControlPlane"}
	pools = kind{"provisioner_pool", "provisioner_pools", "pool of provisioners",
		v1alpha1.GroupVersion().WithResource("coderprovisioners"), "CoderProvisioner"}
	proxies = kind{"workspace_proxy", "workspace_proxies", "workspace proxy",
		v1alpha1.GroupVersion().WithResource("coderworkspaceproxies"), "CoderWorkspaceProxy"}
)

// of returns the objects of a kind in a namespace; "" means all namespaces.
func (c *caller) of(k kind, namespace string) dynamic.ResourceInterface {
	if namespace == "" {
		return c.objects.Resource(k.resource)
	}
	return c.objects.Resource(k.resource).Namespace(namespace)
}

// object is an object as tools return it: without what only Kubernetes uses.
type object struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Created   string `json:"created,omitempty"`
	Deleting  bool   `json:"deleting,omitempty"`
	Spec      any    `json:"spec,omitempty"`
	Status    any    `json:"status,omitempty"`
}

func objectOf(u *unstructured.Unstructured) object {
	o := object{
		Namespace: u.GetNamespace(), Name: u.GetName(), Deleting: u.GetDeletionTimestamp() != nil, Spec: u.Object["spec"], Status: u.Object["status"],
	}
	if t := u.GetCreationTimestamp(); !t.IsZero() {
		o.Created = t.UTC().Format(time.RFC3339)
	}
	return o
}

type listInput struct {
	Namespace string `json:"namespace,omitempty" jsonschema:"Namespace; all namespaces if absent" max:"63"`
	Limit     int64  `json:"limit,omitempty" jsonschema:"Maximum number of objects" min:"1" max:"100" default:"50"`
	Continue  string `json:"continue,omitempty" jsonschema:"The value of the previous page, for the next page" max:"4096"`
}

type listOutput struct {
	Items    []object `json:"items"`
	Continue string   `json:"continue,omitempty"` // absent on the last page
}

// listTool returns the tool that lists objects of a kind.
func listTool(k kind, title string) tool {
	return toolkit.New(toolkit.Spec{
		Name: "coder_list_" + k.plural, Title: title, Effect: toolkit.ReadOnly,
		Description: "List objects of the kind " + k.kind + ". Each is a " + k.noun + ".",
	}, func(ctx context.Context, c *caller, in listInput) (listOutput, error) {
		list, err := c.of(k, in.Namespace).List(ctx, metav1.ListOptions{Limit: in.Limit, Continue: in.Continue})
		if err != nil {
			return listOutput{}, explain(err)
		}
		out := listOutput{Items: make([]object, 0, len(list.Items)), Continue: list.GetContinue()}
		for i := range list.Items {
			out.Items = append(out.Items, objectOf(&list.Items[i]))
		}
		return out, nil
	})
}

// named is the input of tools for one object.
type named struct {
	Namespace string `json:"namespace" jsonschema:"Namespace of the object" min:"1" max:"63"`
	Name      string `json:"name" jsonschema:"Name of the object" min:"1" max:"253"`
}

// getTool returns the tool that reads an object of a kind.
func getTool(k kind, title string) tool {
	return toolkit.New(toolkit.Spec{
		Name: "coder_get_" + k.name, Title: title, Effect: toolkit.ReadOnly,
		Description: "Read the spec and the status of an object of the kind " + k.kind + ": a " + k.noun + ".",
	}, func(ctx context.Context, c *caller, in named) (object, error) {
		u, err := c.of(k, in.Namespace).Get(ctx, in.Name, metav1.GetOptions{})
		if err != nil {
			return object{}, explain(err)
		}
		return objectOf(u), nil
	})
}

// explain returns the error of the Kubernetes API for the model.
func explain(err error) error {
	switch {
	case apierrors.IsUnauthorized(err):
		return errors.New("the token is no longer valid; connect again with another one")
	case apierrors.IsServiceUnavailable(err):
		return fmt.Errorf("the API of this object is not available now; 'kubectl get apiservices' shows the reason: %w", err)
	}
	return err
}

// explainImport returns the error of a request that imports files.
func explainImport(err error) error {
	if apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) {
		return fmt.Errorf("the cluster ended the request at its time limit, but the import continues; read the template until its version changes: %w", err)
	}
	return explain(err)
}
