package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// CoderWorkspaceSpec is the template of a workspace and whether it should run. After
// the workspace is created, only running can change. (OP-21)
type CoderWorkspaceSpec struct {
	// Organization of the workspace; it equals the first part of the name.
	// +optional
	Organization string `json:"organization,omitempty"`
	// TemplateName is the name of the template, which is in the same
	// organization.
	// +optional
	TemplateName string `json:"templateName,omitempty"`
	// TemplateVersionID is the version of the template. The default is its active
	// version.
	// +optional
	TemplateVersionID string `json:"templateVersionID,omitempty"`
	// Running reports whether the workspace should run. A new workspace always
	// starts. After a failed start it is false again, and after a failed stop it is
	// true again, so that setting it retries the build.
	// +optional
	Running *bool `json:"running,omitempty"`
	// TTLMillis is the time in milliseconds after which a running workspace stops
	// automatically. The default is that of the template, or never.
	// +optional
	TTLMillis *int64 `json:"ttlMillis,omitempty"`
	// AutostartSchedule is the schedule of automatic starts, such as
	// "CRON_TZ=Europe/Lisbon 30 7 * * 1-5".
	// +optional
	AutostartSchedule *string `json:"autostartSchedule,omitempty"`
}

// CoderWorkspaceStatus is the observed state of a workspace.
type CoderWorkspaceStatus struct {
	// ID of the workspace in the control plane.
	// +optional
	ID string `json:"id,omitempty"`
	// OwnerName is the username of the owner.
	// +optional
	OwnerName string `json:"ownerName,omitempty"`
	// OrganizationName is the name of the workspace's organization.
	// +optional
	OrganizationName string `json:"organizationName,omitempty"`
	// TemplateName is the name of the workspace's template.
	// +optional
	TemplateName string `json:"templateName,omitempty"`
	// LatestBuildID is the ID of the newest build: a start, stop or deletion.
	// +optional
	LatestBuildID string `json:"latestBuildID,omitempty"`
	// LatestBuildStatus is the status of the newest build: pending, starting,
	// running, stopping, stopped, failed, canceling, canceled, deleting or deleted.
	// +optional
	LatestBuildStatus string `json:"latestBuildStatus,omitempty"`
	// LatestBuildError is why the newest build failed. Addition to Coder's resources.
	// +optional
	LatestBuildError string `json:"latestBuildError,omitempty"`
	// AutoShutdown is the time at which the workspace stops automatically.
	// +optional
	AutoShutdown *metav1.Time `json:"autoShutdown,omitempty"`
	// LastUsedAt is the time of the last use.
	// +optional
	LastUsedAt *metav1.Time `json:"lastUsedAt,omitempty"`
}

// CoderWorkspace is a workspace; its name is <organization>.<user>.<workspace>.
// +kubebuilder:object:root=true
type CoderWorkspace struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the desired state.
	// +optional
	Spec CoderWorkspaceSpec `json:"spec,omitempty"`
	// Status is the observed state.
	// +optional
	Status CoderWorkspaceStatus `json:"status,omitempty"`
}

// CoderWorkspaceList is a list of workspaces.
// +kubebuilder:object:root=true
type CoderWorkspaceList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// Items of the list.
	Items []CoderWorkspace `json:"items"`
}
