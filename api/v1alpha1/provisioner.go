package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CoderProvisionerSpec is the desired state of a pool of provisioners that share one key.
// +kubebuilder:validation:XValidation:rule="!has(self.autoscaling) || !has(self.autoscaling.minReplicas) || self.autoscaling.minReplicas <= self.autoscaling.maxReplicas",message="autoscaling.minReplicas must not be more than autoscaling.maxReplicas"
type CoderProvisionerSpec struct {
	// ControlPlaneRef refers to the control plane, in the same namespace.
	ControlPlaneRef ControlPlaneRef `json:"controlPlaneRef"`
	// OrganizationName is the organization whose builds the pool runs.
	// +kubebuilder:default=default
	// +kubebuilder:validation:MaxLength=128
	// +optional
	OrganizationName string `json:"organizationName,omitempty"`
	// Key is the provisioner key of the pool and its Secret.
	// +optional
	Key ProvisionerKeySpec `json:"key,omitempty"`
	// Replicas is the number of provisioners. Autoscaling replaces it.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
	// Tags of the key, which all provisioners of the pool have.
	// +kubebuilder:validation:MaxProperties=64
	// +optional
	Tags map[string]string `json:"tags,omitempty"`
	// Image to run; the default is the control plane's image.
	// +optional
	Image string `json:"image,omitempty"`
	// TerminationGracePeriodSeconds is the time that a running build has to
	// finish when its pod is terminated.
	// +kubebuilder:default=600
	// +kubebuilder:validation:Minimum=0
	// +optional
	TerminationGracePeriodSeconds *int64 `json:"terminationGracePeriodSeconds,omitempty"`

	ContainerOptions `json:",inline"`
	// PodOptions are an addition to Coder's resource.
	PodOptions `json:",inline"`

	// PodAnnotations of the pods. Addition to Coder's resource.
	// +optional
	PodAnnotations map[string]string `json:"podAnnotations,omitempty"`
	// PodLabels of the pods. Addition to Coder's resource.
	// +optional
	PodLabels map[string]string `json:"podLabels,omitempty"`
	// PriorityClassName of the pods. Addition to Coder's resource.
	// +optional
	PriorityClassName string `json:"priorityClassName,omitempty"`
	// ServiceAccount of the pods. Addition to Coder's resource.
	// +optional
	ServiceAccount ServiceAccountSpec `json:"serviceAccount,omitempty"`
	// RBAC grants Kubernetes permissions to templates. Addition to Coder's
	// resource.
	// +optional
	RBAC RBACSpec `json:"rbac,omitempty"`
	// WorkspaceNamespaces are further namespaces in which templates may create
	// workspaces. Addition to Coder's resource.
	// +kubebuilder:validation:MaxItems=100
	// +listType=set
	// +optional
	WorkspaceNamespaces []string `json:"workspaceNamespaces,omitempty"`
	// Concurrency is the number of builds that one provisioner runs at the same
	// time. Addition to Coder's resource.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	// +optional
	Concurrency *int32 `json:"concurrency,omitempty"`
	// Autoscaling makes the number of provisioners follow the queue. Addition
	// to Coder's resource.
	// +optional
	Autoscaling *AutoscalingSpec `json:"autoscaling,omitempty"`
	// PodDisruptionBudget of the pods. Addition to Coder's resource.
	// +optional
	PodDisruptionBudget *DisruptionSpec `json:"podDisruptionBudget,omitempty"`
}

// ControlPlaneRef refers to a CoderControlPlane.
type ControlPlaneRef struct {
	// Name of the control plane.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// ProvisionerKeySpec is the provisioner key of a pool.
type ProvisionerKeySpec struct {
	// Name of the key at the server; the default is the resource's name.
	// +kubebuilder:validation:MaxLength=128
	// +optional
	Name string `json:"name,omitempty"`
	// SecretName is the Secret that stores the key; the default is
	// <name>-provisioner-key.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	// +optional
	SecretName string `json:"secretName,omitempty"`
	// SecretKey is the key in the Secret.
	// +kubebuilder:default=key
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[-._a-zA-Z0-9]+$`
	// +optional
	SecretKey string `json:"secretKey,omitempty"`
}

// AutoscalingSpec makes the number of provisioners follow the server's queue.
type AutoscalingSpec struct {
	// MinReplicas is the minimum number of provisioners. With 0, the first
	// build after an idle period waits for a pod.
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	// +optional
	MinReplicas *int32 `json:"minReplicas,omitempty"`
	// MaxReplicas is the maximum number of provisioners.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	MaxReplicas int32 `json:"maxReplicas"`
	// TargetPendingPerSlot is the number of pending builds for which one slot
	// is added; 1 adds a slot for each pending build.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +optional
	TargetPendingPerSlot int32 `json:"targetPendingPerSlot,omitempty"`
	// ScaleDownStabilization is how long fewer pods must have been sufficient
	// before pods are removed.
	// +kubebuilder:default="5m"
	// +optional
	ScaleDownStabilization *metav1.Duration `json:"scaleDownStabilization,omitempty"`
	// Schedule raises the minimum at certain times.
	// +kubebuilder:validation:MaxItems=32
	// +optional
	Schedule []ScheduleHint `json:"schedule,omitempty"`
}

// ScheduleHint raises the minimum number of provisioners for a period.
type ScheduleHint struct {
	// Start is a cron expression of five fields, such as "30 8 * * 1-5".
	// CRON_TZ= before it sets a time zone.
	// +kubebuilder:validation:MinLength=9
	// +kubebuilder:validation:MaxLength=128
	Start string `json:"start"`
	// Duration of the period.
	Duration metav1.Duration `json:"duration"`
	// MinReplicas during the period.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	MinReplicas int32 `json:"minReplicas"`
}

// DisruptionSpec configures a PodDisruptionBudget.
type DisruptionSpec struct {
	// MaxUnavailable is the number of pods that may be evicted at the same
	// time.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +optional
	MaxUnavailable *int32 `json:"maxUnavailable,omitempty"`
}

// Conditions of a CoderProvisioner.
const (
	ConditionControlPlaneReady            = "ControlPlaneReady"
	ConditionOperatorAccessReady          = "OperatorAccessReady"
	ConditionExternalProvisionersEntitled = "ExternalProvisionersEntitled"
	ConditionProvisionerKeyReady          = "ProvisionerKeyReady"
	ConditionProvisionerKeySecretReady    = "ProvisionerKeySecretReady"
	ConditionDeploymentReady              = "DeploymentReady"
	// ConditionRBACReady reports whether templates have their permissions.
	// Addition to Coder's resource.
	ConditionRBACReady = "RBACReady"
	// ConditionProvisionersConnected reports whether the server sees the pool's
	// provisioners. Addition to Coder's resource.
	ConditionProvisionersConnected = "ProvisionersConnected"
	// ConditionScaled reports what autoscaling does, and why. Addition to
	// Coder's resource.
	ConditionScaled = "Scaled"
)

// Finalizers.
const (
	FinalizerProvisionerKey = "coder.com/provisioner-key-cleanup"
	FinalizerWorkspaceRBAC  = "coder.com/workspace-rbac-cleanup"
	FinalizerWorkspaceProxy = "coder.com/workspace-proxy-cleanup"
)

// CoderProvisionerStatus is the observed state of a pool.
type CoderProvisionerStatus struct {
	// ObservedGeneration is the newest generation that the operator acted on.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// ReadyReplicas is the number of ready pods.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas,omitempty"`
	// Phase is Ready when all conditions hold, otherwise Pending.
	// +kubebuilder:validation:Enum=Pending;Ready
	// +optional
	Phase string `json:"phase,omitempty"`
	// Conditions of the resource, each with a reason and a message.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// OrganizationID of the key.
	// +optional
	OrganizationID string `json:"organizationID,omitempty"`
	// OrganizationName of the key.
	// +optional
	OrganizationName string `json:"organizationName,omitempty"`
	// ProvisionerKeyID is the id of the key in use.
	// +optional
	ProvisionerKeyID string `json:"provisionerKeyID,omitempty"`
	// ProvisionerKeyName is the name of the key in use.
	// +optional
	ProvisionerKeyName string `json:"provisionerKeyName,omitempty"`
	// TagsHash is the hash of the key's tags.
	// +optional
	TagsHash string `json:"tagsHash,omitempty"`
	// ControlPlaneRefName is the control plane that the key belongs to.
	// +optional
	ControlPlaneRefName string `json:"controlPlaneRefName,omitempty"`
	// ControlPlaneURL is the URL of that control plane when the key was
	// created.
	// +optional
	ControlPlaneURL string `json:"controlPlaneURL,omitempty"`
	// SecretRef refers to the stored key.
	// +optional
	SecretRef *SecretKeySelector `json:"secretRef,omitempty"`
	// RetiringKeys are replaced keys, which are deleted once no pod uses them.
	// Addition to Coder's resource.
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	// +optional
	RetiringKeys []RetiringKey `json:"retiringKeys,omitempty"`
	// WorkspaceNamespaces in which a Role of this resource exists. Addition to
	// Coder's resource.
	// +listType=atomic
	// +optional
	WorkspaceNamespaces []string `json:"workspaceNamespaces,omitempty"`

	// Replicas is the desired number of pods. Addition to Coder's resource.
	// +optional
	Replicas int32 `json:"replicas,omitempty"`
	// Selector of the pods, for kubectl scale and autoscalers. Addition to
	// Coder's resource.
	// +optional
	Selector string `json:"selector,omitempty"`
	// Daemons describes the pool as the server sees it. Addition to Coder's
	// resource.
	// +optional
	Daemons *DaemonsStatus `json:"daemons,omitempty"`
	// Queue describes the pending jobs for provisioners with these tags.
	// Addition to Coder's resource.
	// +optional
	Queue *QueueStatus `json:"queue,omitempty"`
	// LastFailure is the newest failed build of the pool. Addition to Coder's
	// resource.
	// +optional
	LastFailure *BuildFailure `json:"lastFailure,omitempty"`
	// FewerSince is since when fewer pods would be sufficient. Addition to
	// Coder's resource.
	// +optional
	FewerSince *metav1.Time `json:"fewerSince,omitempty"`
}

// RetiringKey is a replaced key.
type RetiringKey struct {
	// ID of the key.
	ID string `json:"id"`
	// Name of the key.
	Name string `json:"name"`
	// OrganizationID of the key.
	OrganizationID string `json:"organizationID"`
	// ControlPlaneURL is the URL of the server that has the key.
	// +optional
	ControlPlaneURL string `json:"controlPlaneURL,omitempty"`
	// ControlPlaneRefName is the control plane that has the key.
	// +optional
	ControlPlaneRefName string `json:"controlPlaneRefName,omitempty"`
}

// DaemonsStatus describes a pool as the server sees it.
type DaemonsStatus struct {
	// Connected is the number of connected provisioners.
	Connected int32 `json:"connected"`
	// Slots is the number of builds that they can run at the same time.
	Slots int32 `json:"slots"`
	// SlotsBusy is the number of slots that run a build.
	SlotsBusy int32 `json:"slotsBusy"`
	// Versions of the provisioners, oldest first.
	// +listType=atomic
	// +optional
	Versions []string `json:"versions,omitempty"`
}

// QueueStatus describes the pending jobs for a pool.
type QueueStatus struct {
	// Pending is the number of pending jobs.
	Pending int32 `json:"pending"`
	// OldestWait is how long the oldest job has waited, in whole seconds.
	// +optional
	OldestWait string `json:"oldestWait,omitempty"`
	// RecommendedSlots is the number of slots that the server recommends.
	RecommendedSlots int32 `json:"recommendedSlots"`
}

// BuildFailure is a failed job.
type BuildFailure struct {
	// JobID of the job.
	JobID string `json:"jobID"`
	// Time at which the job ended.
	Time metav1.Time `json:"time"`
	// Message is the error of the job.
	// +optional
	Message string `json:"message,omitempty"`
}

// CoderProvisioner is a pool of provisioners.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Replicas",type=integer,JSONPath=`.status.readyReplicas`
// +kubebuilder:printcolumn:name="Connected",type=integer,JSONPath=`.status.daemons.connected`
// +kubebuilder:printcolumn:name="Busy",type=integer,JSONPath=`.status.daemons.slotsBusy`
// +kubebuilder:printcolumn:name="Pending",type=integer,JSONPath=`.status.queue.pending`
// +kubebuilder:printcolumn:name="Oldest",type=string,JSONPath=`.status.queue.oldestWait`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.daemons.versions`,priority=1
// +kubebuilder:printcolumn:name="Last failure",type=date,JSONPath=`.status.lastFailure.time`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
type CoderProvisioner struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the desired state.
	Spec CoderProvisionerSpec `json:"spec"`
	// Status is the observed state.
	// +optional
	Status CoderProvisionerStatus `json:"status,omitempty"`
}

// CoderProvisionerList is a list of CoderProvisioners.
// +kubebuilder:object:root=true
type CoderProvisionerList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []CoderProvisioner `json:"items"`
}

// StatusConditions returns the conditions of the status.
func (p *CoderProvisioner) StatusConditions() *[]metav1.Condition { return &p.Status.Conditions }

// Settled reports whether the phase is Ready for the current generation.
func (p *CoderProvisioner) Settled() bool {
	return p.Status.Phase == PhaseReady && p.Status.ObservedGeneration == p.Generation
}

// Observe records that the operator acted on the current generation.
func (p *CoderProvisioner) Observe() { p.Status.ObservedGeneration = p.Generation }
