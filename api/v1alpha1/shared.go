package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
)

// ServiceSpec is how a Service is made.
type ServiceSpec struct {
	// Type of the Service.
	// +kubebuilder:default=ClusterIP
	// +kubebuilder:validation:Enum=ClusterIP;NodePort;LoadBalancer
	// +optional
	Type corev1.ServiceType `json:"type,omitempty"`
	// Port at which the Service answers HTTP.
	// +kubebuilder:default=80
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +optional
	Port int32 `json:"port,omitempty"`
	// Annotations of the Service.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// SecretKeySelector names one key of a Secret in the same namespace.
type SecretKeySelector struct {
	// Name of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// Key within the Secret.
	// +optional
	Key string `json:"key,omitempty"`
}

// ProbeSpec is an HTTP probe of /healthz.
type ProbeSpec struct {
	// Enabled says whether there is one.
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
	// SuccessThreshold is how many must pass in a row.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +optional
	SuccessThreshold *int32 `json:"successThreshold,omitempty"`
	// FailureThreshold is how many must fail in a row.
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=1
	// +optional
	FailureThreshold *int32 `json:"failureThreshold,omitempty"`
}

// PodOptions are fields of a pod that are taken over as they are.
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
	// +optional
	Volumes []corev1.Volume `json:"volumes,omitempty"`
	// VolumeMounts added to the container.
	// +optional
	VolumeMounts []corev1.VolumeMount `json:"volumeMounts,omitempty"`
	// EnvFrom adds variables from config maps and secrets.
	// +kubebuilder:validation:XValidation:rule="self.all(e, !(has(e.configMapRef) && has(e.secretRef)))",message="an entry names a config map or a secret, not both"
	// +kubebuilder:validation:MaxItems=64
	// +optional
	EnvFrom []corev1.EnvFromSource `json:"envFrom,omitempty"`
}

// ContainerOptions are what all kinds say about their container.
type ContainerOptions struct {
	// ExtraArgs are appended to the command line.
	// +optional
	ExtraArgs []string `json:"extraArgs,omitempty"`
	// ExtraEnv are variables added to the container; one of the operator's own
	// name takes its place.
	// +optional
	ExtraEnv []corev1.EnvVar `json:"extraEnv,omitempty"`
	// ImagePullSecrets with which the image is fetched.
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

// ServiceAccountSpec is the account that pods run as.
type ServiceAccountSpec struct {
	// DisableCreate makes the operator use an account that is there.
	// +kubebuilder:default=false
	// +optional
	DisableCreate bool `json:"disableCreate,omitempty"`
	// Name of the account; a name of the resource's otherwise.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Name string `json:"name,omitempty"`
	// Annotations of the account.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
	// Labels of the account.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
}
