package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CoderProvisionerSpec is a pool of provisioners that share one key.
// +kubebuilder:validation:XValidation:rule="!has(self.autoscaling) || !has(self.autoscaling.minReplicas) || self.autoscaling.minReplicas <= self.autoscaling.maxReplicas",message="autoscaling.minReplicas must not be more than autoscaling.maxReplicas"
type CoderProvisionerSpec struct {
	// ControlPlaneRef names the control plane, in the same namespace.
	ControlPlaneRef ControlPlaneRef `json:"controlPlaneRef"`
	// OrganizationName is the organization whose builds are run.
	// +kubebuilder:default=default
	// +kubebuilder:validation:MaxLength=128
	// +optional
	OrganizationName string `json:"organizationName,omitempty"`
	// Key is the provisioner key and where it is kept.
	// +optional
	Key ProvisionerKeySpec `json:"key,omitempty"`
	// Replicas is how many provisioners run; autoscaling takes its place.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
	// Tags of the key, and so of the provisioners.
	// +kubebuilder:validation:MaxProperties=64
	// +optional
	Tags map[string]string `json:"tags,omitempty"`
	// Image to run; the control plane's otherwise.
	// +optional
	Image string `json:"image,omitempty"`
	// TerminationGracePeriodSeconds is how long a running build may take when its
	// pod is ended.
	// +kubebuilder:default=600
	// +kubebuilder:validation:Minimum=0
	// +optional
	TerminationGracePeriodSeconds *int64 `json:"terminationGracePeriodSeconds,omitempty"`

	ContainerOptions `json:",inline"`
	// PodOptions are an addition.
	PodOptions `json:",inline"`

	// PodAnnotations of the pods; an addition.
	// +optional
	PodAnnotations map[string]string `json:"podAnnotations,omitempty"`
	// PodLabels of the pods; an addition.
	// +optional
	PodLabels map[string]string `json:"podLabels,omitempty"`
	// PriorityClassName of the pods; an addition.
	// +optional
	PriorityClassName string `json:"priorityClassName,omitempty"`
	// ServiceAccount that the provisioners run as; an addition.
	// +optional
	ServiceAccount ServiceAccountSpec `json:"serviceAccount,omitempty"`
	// RBAC is what templates may do to the cluster; an addition.
	// +optional
	RBAC RBACSpec `json:"rbac,omitempty"`
	// WorkspaceNamespaces are namespaces in which templates may make workspaces,
	// beside the resource's own; an addition.
	// +kubebuilder:validation:MaxItems=100
	// +listType=set
	// +optional
	WorkspaceNamespaces []string `json:"workspaceNamespaces,omitempty"`
	// Concurrency is how many builds one provisioner runs at once; an addition.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	// +optional
	Concurrency *int32 `json:"concurrency,omitempty"`
	// Autoscaling lets the number of provisioners follow the queue; an addition.
	// +optional
	Autoscaling *AutoscalingSpec `json:"autoscaling,omitempty"`
	// PodDisruptionBudget makes one; an addition.
	// +optional
	PodDisruptionBudget *DisruptionSpec `json:"podDisruptionBudget,omitempty"`
}

// ControlPlaneRef names a CoderControlPlane.
type ControlPlaneRef struct {
	// Name of the control plane.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// ProvisionerKeySpec is the key of a pool.
type ProvisionerKeySpec struct {
	// Name of the key at the server; the resource's name otherwise.
	// +kubebuilder:validation:MaxLength=128
	// +optional
	Name string `json:"name,omitempty"`
	// SecretName is the Secret that holds it; <name>-provisioner-key otherwise.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	SecretName string `json:"secretName,omitempty"`
	// SecretKey is the key within the Secret.
	// +kubebuilder:default=key
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[-._a-zA-Z0-9]+$`
	// +optional
	SecretKey string `json:"secretKey,omitempty"`
}

// AutoscalingSpec lets the number of provisioners follow the server's queue.
type AutoscalingSpec struct {
	// MinReplicas is the least; with 0, the first build after a quiet time waits
	// for a pod.
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	// +optional
	MinReplicas *int32 `json:"minReplicas,omitempty"`
	// MaxReplicas is the most.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	MaxReplicas int32 `json:"maxReplicas"`
	// TargetPendingPerSlot is how many builds may wait for each slot; 1 adds a
	// slot for each build that waits.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +optional
	TargetPendingPerSlot int32 `json:"targetPendingPerSlot,omitempty"`
	// ScaleDownStabilization is how long fewer must have been enough before pods
	// are taken away.
	// +kubebuilder:default="5m"
	// +optional
	ScaleDownStabilization *metav1.Duration `json:"scaleDownStabilization,omitempty"`
	// Schedule raises the least at certain hours.
	// +kubebuilder:validation:MaxItems=32
	// +optional
	Schedule []ScheduleHint `json:"schedule,omitempty"`
}

// ScheduleHint raises the least number of provisioners for a while.
type ScheduleHint struct {
	// Start is a cron expression of five fields, such as "30 8 * * 1-5", with
	// CRON_TZ= before it for a time zone.
	// +kubebuilder:validation:MinLength=9
	// +kubebuilder:validation:MaxLength=128
	Start string `json:"start"`
	// Duration for which it holds.
	Duration metav1.Duration `json:"duration"`
	// MinReplicas for that time.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	MinReplicas int32 `json:"minReplicas"`
}

// DisruptionSpec is a PodDisruptionBudget.
type DisruptionSpec struct {
	// MaxUnavailable is how many pods may be ended at once on purpose.
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
	// ConditionRBACReady says whether templates have their rights; an addition.
	ConditionRBACReady = "RBACReady"
	// ConditionProvisionersConnected says whether the server sees the pool's
	// provisioners; an addition.
	ConditionProvisionersConnected = "ProvisionersConnected"
	// ConditionScaled says what the autoscaling does and why; an addition.
	ConditionScaled = "Scaled"
)

// Finalizers.
const (
	FinalizerProvisionerKey = "coder.com/provisioner-key-cleanup"
	FinalizerWorkspaceRBAC  = "coder.com/workspace-rbac-cleanup"
	FinalizerWorkspaceProxy = "coder.com/workspace-proxy-cleanup"
)

// CoderProvisionerStatus is how a pool does.
type CoderProvisionerStatus struct {
	// ObservedGeneration is the newest specification that was acted upon.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// ReadyReplicas is how many pods are ready.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas,omitempty"`
	// Phase is Ready when everything holds, Pending otherwise.
	// +kubebuilder:validation:Enum=Pending;Ready
	// +optional
	Phase string `json:"phase,omitempty"`
	// Conditions say what holds and what does not, and why.
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
	// ProvisionerKeyID of the key in use.
	// +optional
	ProvisionerKeyID string `json:"provisionerKeyID,omitempty"`
	// ProvisionerKeyName of the key in use.
	// +optional
	ProvisionerKeyName string `json:"provisionerKeyName,omitempty"`
	// TagsHash of the key's tags.
	// +optional
	TagsHash string `json:"tagsHash,omitempty"`
	// ControlPlaneRefName is the control plane that the key is of.
	// +optional
	ControlPlaneRefName string `json:"controlPlaneRefName,omitempty"`
	// ControlPlaneURL is where it was.
	// +optional
	ControlPlaneURL string `json:"controlPlaneURL,omitempty"`
	// SecretRef is where the key is kept.
	// +optional
	SecretRef *SecretKeySelector `json:"secretRef,omitempty"`
	// RetiringKeys were replaced, and are deleted when no pod has them any more;
	// an addition.
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	// +optional
	RetiringKeys []RetiringKey `json:"retiringKeys,omitempty"`
	// WorkspaceNamespaces that have a Role of this resource; an addition.
	// +listType=atomic
	// +optional
	WorkspaceNamespaces []string `json:"workspaceNamespaces,omitempty"`

	// Replicas is how many pods there should be; an addition.
	// +optional
	Replicas int32 `json:"replicas,omitempty"`
	// Selector of the pods, for kubectl scale and autoscalers; an addition.
	// +optional
	Selector string `json:"selector,omitempty"`
	// Daemons is what the server sees of the pool; an addition.
	// +optional
	Daemons *DaemonsStatus `json:"daemons,omitempty"`
	// Queue is what waits at the server for provisioners with these tags; an addition.
	// +optional
	Queue *QueueStatus `json:"queue,omitempty"`
	// LastFailure is the newest failed build of the pool; an addition.
	// +optional
	LastFailure *BuildFailure `json:"lastFailure,omitempty"`
	// FewerSince is since when fewer pods would do; an addition.
	// +optional
	FewerSince *metav1.Time `json:"fewerSince,omitempty"`
}

// RetiringKey is a key that was replaced.
type RetiringKey struct {
	// ID of the key.
	ID string `json:"id"`
	// Name of the key.
	Name string `json:"name"`
	// OrganizationID of the key.
	OrganizationID string `json:"organizationID"`
	// ControlPlaneURL of the server that has the key.
	// +optional
	ControlPlaneURL string `json:"controlPlaneURL,omitempty"`
}

// DaemonsStatus is what the server sees of a pool.
type DaemonsStatus struct {
	// Connected is how many are there.
	Connected int32 `json:"connected"`
	// Slots is how many builds they can run at once.
	Slots int32 `json:"slots"`
	// SlotsBusy is how many of those run one.
	SlotsBusy int32 `json:"slotsBusy"`
	// Versions of the program, oldest first.
	// +listType=atomic
	// +optional
	Versions []string `json:"versions,omitempty"`
}

// QueueStatus is what waits for a pool.
type QueueStatus struct {
	// Pending is how many jobs wait.
	Pending int32 `json:"pending"`
	// OldestWait is how long the oldest has waited, to the second.
	// +optional
	OldestWait string `json:"oldestWait,omitempty"`
	// RecommendedSlots is how many slots the server would have.
	RecommendedSlots int32 `json:"recommendedSlots"`
}

// BuildFailure is a job that failed.
type BuildFailure struct {
	// JobID of the job.
	JobID string `json:"jobID"`
	// Time when it ended.
	Time metav1.Time `json:"time"`
	// Message says why.
	// +optional
	Message string `json:"message,omitempty"`
}

// CoderProvisioner is a pool of provisioners.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Replicas",type=integer,JSONPath=`.status.readyReplicas`
// +kubebuilder:printcolumn:name="Connected",type=integer,JSONPath=`.status.daemons.connected`
// +kubebuilder:printcolumn:name="Busy",type=integer,JSONPath=`.status.daemons.slotsBusy`
// +kubebuilder:printcolumn:name="Pending",type=integer,JSONPath=`.status.queue.pending`
// +kubebuilder:printcolumn:name="Oldest",type=string,JSONPath=`.status.queue.oldestWait`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.daemons.versions`,priority=1
// +kubebuilder:printcolumn:name="Last failure",type=date,JSONPath=`.status.lastFailure.time`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type CoderProvisioner struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what is wanted.
	Spec CoderProvisionerSpec `json:"spec"`
	// Status is what is.
	// +optional
	Status CoderProvisionerStatus `json:"status,omitempty"`
}

// CoderProvisionerList is a list of them.
// +kubebuilder:object:root=true
type CoderProvisionerList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []CoderProvisioner `json:"items"`
}

// StatusConditions are the conditions of the status.
func (p *CoderProvisioner) StatusConditions() *[]metav1.Condition { return &p.Status.Conditions }

// Observe notes that the specification was acted upon.
func (p *CoderProvisioner) Observe() { p.Status.ObservedGeneration = p.Generation }
