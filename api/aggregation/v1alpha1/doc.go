// Package v1alpha1 is the aggregated API of Kubernetes with the group
// aggregation.coder.com. It shows the workspaces and templates of a control plane
// as objects in the namespace of its CoderControlPlane. The cluster stores none of
// them: the aggregated API server translates requests to the control plane's own
// API. (OP-20)
//
// +kubebuilder:object:generate=true
// +k8s:openapi-gen=true
// +k8s:openapi-model-package=com.coder.aggregation.v1alpha1
// +groupName=aggregation.coder.com
package v1alpha1

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the API group.
const GroupName = "aggregation.coder.com"

// GroupVersion is the group and its version.
func GroupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: GroupName, Version: "v1alpha1"}
}

// AddToScheme lets a scheme know the kinds of a version of the group.
func AddToScheme(s *runtime.Scheme, gv schema.GroupVersion) {
	s.AddKnownTypes(gv, &CoderWorkspace{}, &CoderWorkspaceList{}, &CoderTemplate{}, &CoderTemplateList{})
}
