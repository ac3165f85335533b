package v1alpha1

import (
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CoderControlPlaneSpec is the desired state of a server.
type CoderControlPlaneSpec struct {
	// Image to run. The default is this project's name, under which no image is
	// published yet: build one with `make image` and name it here.
	// +kubebuilder:default="ghcr.io/seed-2a7f8fe7/coder:latest"
	// +optional
	Image string `json:"image,omitempty"`
	// Replicas is the number of server pods, which share one PostgreSQL
	// database.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
	// Service in front of the pods.
	// +kubebuilder:default={}
	// +optional
	Service ServiceSpec `json:"service,omitempty"`

	ContainerOptions `json:",inline"`
	PodOptions       `json:",inline"`

	// OperatorAccess configures the operator's access to the server's API.
	// +optional
	OperatorAccess OperatorAccessSpec `json:"operatorAccess,omitempty"`
	// LicenseSecretRef is accepted and has no effect: every feature is included
	// without a license.
	// +optional
	LicenseSecretRef *LicenseSecretRef `json:"licenseSecretRef,omitempty"`
	// ServiceAccount of the server's pods.
	// +optional
	ServiceAccount ServiceAccountSpec `json:"serviceAccount,omitempty"`
	// RBAC grants Kubernetes permissions to templates that built-in
	// provisioners run.
	// +optional
	RBAC ControlPlaneRBACSpec `json:"rbac,omitempty"`
	// TLS makes the server terminate HTTPS itself.
	// +optional
	TLS TLSSpec `json:"tls,omitempty"`
	// ReadinessProbe is enabled by default.
	// +kubebuilder:default={enabled: true}
	// +optional
	ReadinessProbe ProbeSpec `json:"readinessProbe,omitempty"`
	// LivenessProbe is disabled by default.
	// +kubebuilder:default={enabled: false}
	// +optional
	LivenessProbe ProbeSpec `json:"livenessProbe,omitempty"`
	// EnvUseClusterAccessURL sets CODER_ACCESS_URL to the URL of the Service
	// unless the environment sets it.
	// +kubebuilder:default=true
	// +optional
	EnvUseClusterAccessURL *bool `json:"envUseClusterAccessURL,omitempty"`
	// Expose makes the server available outside the cluster.
	// +optional
	Expose *ExposeSpec `json:"expose,omitempty"`
	// Certs are CA certificates that the server trusts in addition to the
	// system's.
	// +optional
	Certs CertsSpec `json:"certs,omitempty"`
	// Postgres is the source of the database URL. Addition to Coder's resource.
	// +optional
	Postgres *PostgresSpec `json:"postgres,omitempty"`
	// PodDisruptionBudget of the server's pods. Addition to Coder's resource.
	// +optional
	PodDisruptionBudget *DisruptionSpec `json:"podDisruptionBudget,omitempty"`
}

// OperatorAccessSpec configures the operator's access to the server's API.
type OperatorAccessSpec struct {
	// Disabled prevents the operator from calling the server's API.
	// +kubebuilder:default=false
	// +optional
	Disabled bool `json:"disabled,omitempty"`
	// GeneratedTokenSecretName is the Secret with the operator's token; the
	// default is <name>-operator-token.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	// +optional
	GeneratedTokenSecretName string `json:"generatedTokenSecretName,omitempty"`
}

// LicenseSecretRef refers to a license in a Secret.
type LicenseSecretRef struct {
	// Name of the Secret.
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
	// Key in the Secret.
	// +kubebuilder:default=license
	// +optional
	Key string `json:"key,omitempty"`
}

// RBACSpec grants Kubernetes permissions to templates.
type RBACSpec struct {
	// WorkspacePerms lets templates manage pods and persistent volume claims.
	// +kubebuilder:default=true
	// +optional
	WorkspacePerms *bool `json:"workspacePerms,omitempty"`
	// EnableDeployments lets templates manage Deployments, too.
	// +kubebuilder:default=true
	// +optional
	EnableDeployments *bool `json:"enableDeployments,omitempty"`
	// ExtraRules are added to the Role.
	// +optional
	ExtraRules []rbacv1.PolicyRule `json:"extraRules,omitempty"`
}

// ControlPlaneRBACSpec is RBACSpec for a server.
type ControlPlaneRBACSpec struct {
	RBACSpec `json:",inline"`
	// WorkspaceNamespaces are further namespaces in which the same Role is
	// created.
	// +kubebuilder:validation:MaxItems=100
	// +listType=set
	// +optional
	WorkspaceNamespaces []string `json:"workspaceNamespaces,omitempty"`
}

// TLSSpec makes the server terminate HTTPS at port 8443.
type TLSSpec struct {
	// SecretNames are Secrets of type kubernetes.io/tls.
	// +optional
	SecretNames []string `json:"secretNames,omitempty"`
}

// CertsSpec are trusted CA certificates.
type CertsSpec struct {
	// Secrets that contain CA certificates.
	// +optional
	Secrets []CertSecret `json:"secrets,omitempty"`
}

// CertSecret refers to a file of CA certificates.
type CertSecret struct {
	// Name of the Secret.
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
	// Key in the Secret.
	// +kubebuilder:validation:MinLength=1
	Key string `json:"key"`
}

// ExposeSpec makes a server available outside the cluster, by an Ingress or an
// HTTPRoute.
// +kubebuilder:validation:XValidation:rule="!(has(self.ingress) && has(self.gateway))",message="expose by an ingress or by a gateway, not by both"
type ExposeSpec struct {
	// Ingress in front of the Service.
	// +optional
	Ingress *IngressSpec `json:"ingress,omitempty"`
	// Gateway configures an HTTPRoute.
	// +optional
	Gateway *GatewaySpec `json:"gateway,omitempty"`
}

// IngressSpec configures an Ingress.
type IngressSpec struct {
	// ClassName of the Ingress.
	// +optional
	ClassName *string `json:"className,omitempty"`
	// Host of the dashboard.
	// +kubebuilder:validation:MinLength=1
	Host string `json:"host"`
	// WildcardHost of workspace apps, such as *.apps.example.com.
	// +optional
	WildcardHost string `json:"wildcardHost,omitempty"`
	// Annotations of the Ingress.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
	// TLS of the Ingress.
	// +optional
	TLS *IngressTLSSpec `json:"tls,omitempty"`
}

// IngressTLSSpec names the certificates of an Ingress.
type IngressTLSSpec struct {
	// SecretName of the certificate for the host.
	// +optional
	SecretName string `json:"secretName,omitempty"`
	// WildcardSecretName of the certificate for the wildcard host.
	// +optional
	WildcardSecretName string `json:"wildcardSecretName,omitempty"`
}

// GatewaySpec configures an HTTPRoute.
type GatewaySpec struct {
	// Host of the dashboard.
	// +kubebuilder:validation:MinLength=1
	Host string `json:"host"`
	// WildcardHost of workspace apps, such as *.apps.example.com.
	// +optional
	WildcardHost string `json:"wildcardHost,omitempty"`
	// ParentRefs are the gateways.
	// +kubebuilder:validation:MinItems=1
	ParentRefs []GatewayParentRef `json:"parentRefs"`
}

// GatewayParentRef refers to a gateway.
type GatewayParentRef struct {
	// Name of the gateway.
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
	// Namespace of the gateway; the default is the resource's own.
	// +optional
	Namespace *string `json:"namespace,omitempty"`
	// SectionName is the listener of the gateway; the default is all listeners.
	// +optional
	SectionName *string `json:"sectionName,omitempty"`
}

// PostgresSpec is the source of the database URL.
// +kubebuilder:validation:XValidation:rule="has(self.secretRef) != has(self.clusterRef)",message="set exactly one of secretRef and clusterRef"
type PostgresSpec struct {
	// SecretRef refers to a Secret with the database URL.
	// +optional
	SecretRef *SecretKeySelector `json:"secretRef,omitempty"`
	// ClusterRef refers to a CloudNativePG Cluster in the same namespace, whose
	// Secret <name>-app contains the URL in the key uri.
	// +optional
	ClusterRef *ClusterRef `json:"clusterRef,omitempty"`
}

// ClusterRef refers to a CloudNativePG Cluster.
type ClusterRef struct {
	// Name of the Cluster.
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
}

// ConditionLicenseApplied, and the conditions that are additions to Coder's
// resource.
const (
	ConditionLicenseApplied = "LicenseApplied"
	ConditionAvailable      = "Available"
)

// CoderControlPlaneStatus is the observed state of a server.
type CoderControlPlaneStatus struct {
	// ObservedGeneration is the newest generation that the operator acted on.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// ReadyReplicas is the number of ready pods.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas,omitempty"`
	// URL of the server in the cluster.
	// +optional
	URL string `json:"url,omitempty"`
	// OperatorTokenSecretRef refers to the operator's token.
	// +optional
	OperatorTokenSecretRef *SecretKeySelector `json:"operatorTokenSecretRef,omitempty"`
	// OperatorAccessReady reports whether the server accepts the operator's
	// token.
	// +optional
	OperatorAccessReady bool `json:"operatorAccessReady,omitempty"`
	// LicenseLastApplied is when a license was last applied.
	// +optional
	LicenseLastApplied *metav1.Time `json:"licenseLastApplied,omitempty"`
	// LicenseLastAppliedHash is the SHA-256 of the last applied license.
	// +optional
	LicenseLastAppliedHash string `json:"licenseLastAppliedHash,omitempty"`
	// LicenseTier of the server.
	// +kubebuilder:validation:Enum=none;trial;enterprise;premium;unknown
	// +optional
	LicenseTier string `json:"licenseTier,omitempty"`
	// EntitlementsLastChecked is when the entitlements were last read.
	// +optional
	EntitlementsLastChecked *metav1.Time `json:"entitlementsLastChecked,omitempty"`
	// ExternalProvisionerDaemonsEntitlement as the server reports it.
	// +optional
	ExternalProvisionerDaemonsEntitlement string `json:"externalProvisionerDaemonsEntitlement,omitempty"`
	// Phase is Ready when at least one replica is ready, otherwise Pending.
	// +kubebuilder:validation:Enum=Pending;Ready
	// +optional
	Phase string `json:"phase,omitempty"`
	// Conditions of the resource, each with a reason and a message.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Version of the server. Addition to Coder's resource.
	// +optional
	Version string `json:"version,omitempty"`
	// WorkspaceNamespaces in which a Role of this resource exists. Addition to
	// Coder's resource.
	// +listType=atomic
	// +optional
	WorkspaceNamespaces []string `json:"workspaceNamespaces,omitempty"`
}

// CoderControlPlane is a Coder server.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Replicas",type=integer,JSONPath=`.status.readyReplicas`
// +kubebuilder:printcolumn:name="URL",type=string,JSONPath=`.status.url`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.version`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
type CoderControlPlane struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the desired state.
	// +optional
	Spec CoderControlPlaneSpec `json:"spec,omitempty"`
	// Status is the observed state.
	// +optional
	Status CoderControlPlaneStatus `json:"status,omitempty"`
}

// CoderControlPlaneList is a list of CoderControlPlanes.
// +kubebuilder:object:root=true
type CoderControlPlaneList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []CoderControlPlane `json:"items"`
}

// StatusConditions returns the conditions of the status.
func (c *CoderControlPlane) StatusConditions() *[]metav1.Condition { return &c.Status.Conditions }

// Settled reports whether all that the current generation asks for is in place.
// The phase is Ready as soon as one server is, also an older one.
func (c *CoderControlPlane) Settled() bool {
	s := c.Status
	return s.Phase == PhaseReady && s.ObservedGeneration == c.Generation &&
		meta.IsStatusConditionTrue(s.Conditions, ConditionDeploymentReady) &&
		(s.OperatorAccessReady || c.Spec.OperatorAccess.Disabled)
}

// Observe records that the operator acted on the current generation.
func (c *CoderControlPlane) Observe() { c.Status.ObservedGeneration = c.Generation }
