package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// CoderTemplateSpec is a template's files and how it shows.
type CoderTemplateSpec struct {
	// Organization that the template is in, as the first part of its name says.
	// +optional
	Organization string `json:"organization,omitempty"`
	// VersionID is the active version. Another one of the template's versions may
	// be put there; files make a new one.
	// +optional
	VersionID string `json:"versionID,omitempty"`
	// DisplayName of the template.
	// +optional
	DisplayName string `json:"displayName,omitempty"`
	// Description of the template.
	// +optional
	Description string `json:"description,omitempty"`
	// Icon is the URL or path of a picture.
	// +optional
	Icon string `json:"icon,omitempty"`
	// Files of the active version, by their paths; lists leave them out. Changed
	// files are uploaded, imported as a new version, and made the active one.
	// +optional
	Files map[string]string `json:"files,omitempty"`
	// Running says whether new workspaces may be made from the template: false
	// deprecates it.
	// +optional
	Running *bool `json:"running,omitempty"`
}

// CoderTemplateStatus is how a template does.
type CoderTemplateStatus struct {
	// ID of the template at the control plane.
	// +optional
	ID string `json:"id,omitempty"`
	// OrganizationName is the organization that it is in.
	// +optional
	OrganizationName string `json:"organizationName,omitempty"`
	// ActiveVersionID is the version that workspaces are made from.
	// +optional
	ActiveVersionID string `json:"activeVersionID,omitempty"`
	// Deprecated says that no new workspaces may be made from it.
	// +optional
	Deprecated bool `json:"deprecated,omitempty"`
	// UpdatedAt is when it was changed last.
	// +optional
	UpdatedAt *metav1.Time `json:"updatedAt,omitempty"`
}

// CoderTemplate is a template; its name is <organization>.<template>.
// +kubebuilder:object:root=true
type CoderTemplate struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what is wanted.
	// +optional
	Spec CoderTemplateSpec `json:"spec,omitempty"`
	// Status is what is.
	// +optional
	Status CoderTemplateStatus `json:"status,omitempty"`
}

// CoderTemplateList is several of them.
// +kubebuilder:object:root=true
type CoderTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// Items of the list.
	Items []CoderTemplate `json:"items"`
}
