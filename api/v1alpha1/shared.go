package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
)

// ServiceSpec configures a Service.
type ServiceSpec struct {
	// Type of the Service.
	// +kubebuilder:default=ClusterIP
	// +kubebuilder:validation:Enum=ClusterIP;NodePort;LoadBalancer
	// +optional
	Type corev1.ServiceType `json:"type,omitempty"`
	// Port of the Service for HTTP.
	// +kubebuilder:default=80
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +optional
	Port int32 `json:"port,omitempty"`
	// Annotations of the Service.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// SecretKeySelector refers to one key of a Secret in the same namespace.
type SecretKeySelector struct {
	// Name of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// Key in the Secret.
	// +optional
	Key string `json:"key,omitempty"`
}

// ProbeSpec configures an HTTP probe of /healthz.
type ProbeSpec struct {
	// Enabled turns the probe on.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
	// InitialDelaySeconds before the first probe.
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	// +optional
	InitialDelaySeconds int32 `json:"initialDelaySeconds,omitempty"`
	// PeriodSeconds between probes.
	// +kubebuilder:default=10
	// +kubebuilder:validation:Minimum=1
	// +optional
	PeriodSeconds *int32 `json:"periodSeconds,omitempty"`
	// TimeoutSeconds of one probe.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +optional
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty"`
	// SuccessThreshold is the number of probes that must succeed in a row.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +optional
	SuccessThreshold *int32 `json:"successThreshold,omitempty"`
	// FailureThreshold is the number of probes that must fail in a row.
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=1
	// +optional
	FailureThreshold *int32 `json:"failureThreshold,omitempty"`
}

// PodOptions are copied to the pod template unchanged.
type PodOptions struct {
	// NodeSelector of the pods.
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// Tolerations of the pods.
	// +optional
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
	// Affinity of the pods.
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`
	// TopologySpreadConstraints of the pods.
	// +optional
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`
	// SecurityContext of the container.
	// +optional
	SecurityContext *corev1.SecurityContext `json:"securityContext,omitempty"`
	// PodSecurityContext of the pods.
	// +optional
	PodSecurityContext *corev1.PodSecurityContext `json:"podSecurityContext,omitempty"`
	// Volumes added to the pods.
	// +listType=map
	// +listMapKey=name
	// +optional
	Volumes []corev1.Volume `json:"volumes,omitempty"`
	// VolumeMounts added to the container. They replace the operator's mounts
	// at the same path.
	// +listType=map
	// +listMapKey=mountPath
	// +optional
	VolumeMounts []corev1.VolumeMount `json:"volumeMounts,omitempty"`
	// EnvFrom adds variables from ConfigMaps and Secrets.
	// +kubebuilder:validation:XValidation:rule="self.all(e, !(has(e.configMapRef) && has(e.secretRef)))",message="an entry must refer to a config map or a secret, not both"
	// +kubebuilder:validation:MaxItems=64
	// +optional
	EnvFrom []corev1.EnvFromSource `json:"envFrom,omitempty"`
}

// ContainerOptions configure the container of all kinds.
type ContainerOptions struct {
	// ExtraArgs are appended to the command line.
	// +optional
	ExtraArgs []string `json:"extraArgs,omitempty"`
	// ExtraEnv are additional environment variables. They replace variables of
	// the same name that the operator sets. The last of several entries with
	// one name has effect.
	// +optional
	ExtraEnv []corev1.EnvVar `json:"extraEnv,omitempty"`
	// ImagePullSecrets for the image.
	// +optional
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`
	// Resources of the container.
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`
}

// Phases of all kinds.
const (
	PhasePending = "Pending"
	PhaseReady   = "Ready"
)

// ConditionReady reports of every kind whether the phase is Ready for the current
// generation. Otherwise its reason and message are those of the condition that
// does not hold. Addition to Coder's resources.
const ConditionReady = "Ready"

// ServiceAccountSpec configures the ServiceAccount of the pods.
type ServiceAccountSpec struct {
	// DisableCreate makes the operator use an existing ServiceAccount.
	// +kubebuilder:default=false
	// +optional
	DisableCreate bool `json:"disableCreate,omitempty"`
	// Name of the ServiceAccount; the default is a name derived from the
	// resource's.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	// +optional
	Name string `json:"name,omitempty"`
	// Annotations of the ServiceAccount.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
	// Labels of the ServiceAccount.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
}
