package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// CoderWorkspaceSpec is what a workspace is made of and whether it should run.
// Once it is made, only running can be changed. (OP-21)
type CoderWorkspaceSpec struct {
	// Organization that the workspace is in, as the first part of its name says.
	// +optional
	Organization string `json:"organization,omitempty"`
	// TemplateName is the template that the workspace is made from, of its
	// organization.
	// +optional
	TemplateName string `json:"templateName,omitempty"`
	// TemplateVersionID is the version of the template; its active version
	// otherwise.
	// +optional
	TemplateVersionID string `json:"templateVersionID,omitempty"`
	// Running says whether the workspace should run. A new workspace always
	// starts. When a start fails it is false again, and true when a stop fails, so
	// that asking again tries again.
	// +optional
	Running *bool `json:"running,omitempty"`
	// TTLMillis is after how many milliseconds of running the workspace stops by
	// itself; never, or when its template says, otherwise.
	// +optional
	TTLMillis *int64 `json:"ttlMillis,omitempty"`
	// AutostartSchedule is when the workspace starts by itself, such as
	// "CRON_TZ=Europe/Lisbon 30 7 * * 1-5".
	// +optional
	AutostartSchedule *string `json:"autostartSchedule,omitempty"`
}

// CoderWorkspaceStatus is how a workspace does.
type CoderWorkspaceStatus struct {
	// ID of the workspace at the control plane.
	// +optional
	ID string `json:"id,omitempty"`
	// OwnerName is the user whose workspace it is.
	// +optional
	OwnerName string `json:"ownerName,omitempty"`
	// OrganizationName is the organization that it is in.
	// +optional
	OrganizationName string `json:"organizationName,omitempty"`
	// TemplateName is the template that it is made from.
	// +optional
	TemplateName string `json:"templateName,omitempty"`
	// LatestBuildID is the newest start, stop or deletion.
	// +optional
	LatestBuildID string `json:"latestBuildID,omitempty"`
	// LatestBuildStatus is what the workspace is doing: pending, starting,
	// running, stopping, stopped, failed, canceling, canceled, deleting or deleted.
	// +optional
	LatestBuildStatus string `json:"latestBuildStatus,omitempty"`
	// AutoShutdown is when the workspace stops by itself.
	// +optional
	AutoShutdown *metav1.Time `json:"autoShutdown,omitempty"`
	// LastUsedAt is when somebody used it last.
	// +optional
	LastUsedAt *metav1.Time `json:"lastUsedAt,omitempty"`
}

// CoderWorkspace is a workspace; its name is <organization>.<user>.<workspace>.
// +kubebuilder:object:root=true
type CoderWorkspace struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what is wanted.
	// +optional
	Spec CoderWorkspaceSpec `json:"spec,omitempty"`
	// Status is what is.
	// +optional
	Status CoderWorkspaceStatus `json:"status,omitempty"`
}

// CoderWorkspaceList is several of them.
// +kubebuilder:object:root=true
type CoderWorkspaceList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// Items of the list.
	Items []CoderWorkspace `json:"items"`
}
