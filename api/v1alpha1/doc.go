// Package v1alpha1 contains the custom resources of the group coder.com: a control
// plane, a pool of provisioners and a workspace proxy, as users write them
// and as the operator reports on them. Fields and defaults are those that
// manifests of Coder's operator use, so one written for it applies unchanged;
// fields that only this operator has are marked as additions.
//
// +kubebuilder:object:generate=true
// +groupName=coder.com
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Group and Version of the API.
const (
	Group   = "coder.com"
	Version = "v1alpha1"
)

// GroupVersion returns the group and version of the API.
func GroupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: Group, Version: Version}
}

// AddToScheme registers the kinds of this package in a scheme.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion(),
		&CoderControlPlane{}, &CoderControlPlaneList{},
		&CoderProvisioner{}, &CoderProvisionerList{},
		&CoderWorkspaceProxy{}, &CoderWorkspaceProxyList{},
	)
	metav1.AddToGroupVersion(s, GroupVersion())
	return nil
}
