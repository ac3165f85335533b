package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// CoderTemplateSpec is the files of a template and how users see it.
type CoderTemplateSpec struct {
	// Organization of the template; it equals the first part of the name.
	// +optional
	Organization string `json:"organization,omitempty"`
	// VersionID is the ID of the active version. Set it to activate another version
	// of the template. Changed files create a version.
	// +optional
	VersionID string `json:"versionID,omitempty"`
	// DisplayName is the template's name in the dashboard.
	// +optional
	DisplayName string `json:"displayName,omitempty"`
	// Description of the template.
	// +optional
	Description string `json:"description,omitempty"`
	// Icon is the URL or path of a picture.
	// +optional
	Icon string `json:"icon,omitempty"`
	// Files of the active version, by path; lists omit them. Changed files are
	// uploaded and imported as a version, which becomes the active one.
	// +optional
	Files map[string]string `json:"files,omitempty"`
	// Running reports whether the template can be used for new workspaces; false
	// deprecates it.
	// +optional
	Running *bool `json:"running,omitempty"`
}

// CoderTemplateStatus is the observed state of a template.
type CoderTemplateStatus struct {
	// ID of the template in the control plane.
	// +optional
	ID string `json:"id,omitempty"`
	// OrganizationName is the name of the template's organization.
	// +optional
	OrganizationName string `json:"organizationName,omitempty"`
	// ActiveVersionID is the ID of the version that new workspaces use.
	// +optional
	ActiveVersionID string `json:"activeVersionID,omitempty"`
	// Deprecated reports that the template cannot be used for new workspaces.
	// +optional
	Deprecated bool `json:"deprecated,omitempty"`
	// UpdatedAt is the time of the last change.
	// +optional
	UpdatedAt *metav1.Time `json:"updatedAt,omitempty"`
}

// CoderTemplate is a template; its name is <organization>.<template>.
// +kubebuilder:object:root=true
type CoderTemplate struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the desired state.
	// +optional
	Spec CoderTemplateSpec `json:"spec,omitempty"`
	// Status is the observed state.
	// +optional
	Status CoderTemplateStatus `json:"status,omitempty"`
}

// CoderTemplateList is a list of templates.
// +kubebuilder:object:root=true
type CoderTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// Items of the list.
	Items []CoderTemplate `json:"items"`
}
