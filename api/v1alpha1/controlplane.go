package v1alpha1

import (
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CoderControlPlaneSpec is a server and how it is reached.
type CoderControlPlaneSpec struct {
	// Image to run.
	// +kubebuilder:default="ghcr.io/coder/coder:latest"
	// +optional
	Image string `json:"image,omitempty"`
	// Replicas of the server, which share one PostgreSQL.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
	// Service in front of them.
	// +kubebuilder:default={}
	// +optional
	Service ServiceSpec `json:"service,omitempty"`

	ContainerOptions `json:",inline"`
	PodOptions       `json:",inline"`

	// OperatorAccess is how the operator speaks to the server.
	// +optional
	OperatorAccess OperatorAccessSpec `json:"operatorAccess,omitempty"`
	// LicenseSecretRef is accepted: nothing needs a license here.
	// +optional
	LicenseSecretRef *LicenseSecretRef `json:"licenseSecretRef,omitempty"`
	// ServiceAccount that the server runs as.
	// +optional
	ServiceAccount ServiceAccountSpec `json:"serviceAccount,omitempty"`
	// RBAC is what templates of built-in provisioners may do to the cluster.
	// +optional
	RBAC ControlPlaneRBACSpec `json:"rbac,omitempty"`
	// TLS lets the server answer HTTPS itself.
	// +optional
	TLS TLSSpec `json:"tls,omitempty"`
	// ReadinessProbe is on unless disabled.
	// +kubebuilder:default={enabled: true}
	// +optional
	ReadinessProbe ProbeSpec `json:"readinessProbe,omitempty"`
	// LivenessProbe is off unless enabled.
	// +kubebuilder:default={enabled: false}
	// +optional
	LivenessProbe ProbeSpec `json:"livenessProbe,omitempty"`
	// EnvUseClusterAccessURL sets CODER_ACCESS_URL to the URL within the cluster
	// when nothing else sets it.
	// +kubebuilder:default=true
	// +optional
	EnvUseClusterAccessURL *bool `json:"envUseClusterAccessURL,omitempty"`
	// Expose is how people reach the server from outside.
	// +optional
	Expose *ExposeSpec `json:"expose,omitempty"`
	// Certs are authorities that the server trusts beside the system's.
	// +optional
	Certs CertsSpec `json:"certs,omitempty"`
	// Postgres takes the database's URL from elsewhere; an addition.
	// +optional
	Postgres *PostgresSpec `json:"postgres,omitempty"`
	// PodDisruptionBudget makes one; an addition.
	// +optional
	PodDisruptionBudget *DisruptionSpec `json:"podDisruptionBudget,omitempty"`
}

// OperatorAccessSpec is how the operator speaks to the server.
type OperatorAccessSpec struct {
	// Disabled keeps the operator from speaking to the server.
	// +kubebuilder:default=false
	// +optional
	Disabled bool `json:"disabled,omitempty"`
	// GeneratedTokenSecretName is the Secret with the operator's token;
	// <name>-operator-token otherwise.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	GeneratedTokenSecretName string `json:"generatedTokenSecretName,omitempty"`
}

// LicenseSecretRef names a Secret with a license.
type LicenseSecretRef struct {
	// Name of the Secret.
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
	// Key within the Secret.
	// +kubebuilder:default=license
	// +optional
	Key string `json:"key,omitempty"`
}

// RBACSpec is what templates may do to the cluster.
type RBACSpec struct {
	// WorkspacePerms lets templates make pods and volume claims.
	// +kubebuilder:default=true
	// +optional
	WorkspacePerms *bool `json:"workspacePerms,omitempty"`
	// EnableDeployments lets templates make deployments too.
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
	// WorkspaceNamespaces have the same Role, beside the resource's own namespace.
	// +kubebuilder:validation:MaxItems=100
	// +listType=set
	// +optional
	WorkspaceNamespaces []string `json:"workspaceNamespaces,omitempty"`
}

// TLSSpec lets the server answer HTTPS at port 8443.
type TLSSpec struct {
	// SecretNames are Secrets of type kubernetes.io/tls.
	// +optional
	SecretNames []string `json:"secretNames,omitempty"`
}

// CertsSpec are authorities to trust.
type CertsSpec struct {
	// Secrets that hold their certificates.
	// +optional
	Secrets []CertSecret `json:"secrets,omitempty"`
}

// CertSecret is one file of certificates.
type CertSecret struct {
	// Name of the Secret.
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
	// Key within the Secret.
	// +kubebuilder:validation:MinLength=1
	Key string `json:"key"`
}

// ExposeSpec is an Ingress or an HTTPRoute.
// +kubebuilder:validation:XValidation:rule="!(has(self.ingress) && has(self.gateway))",message="expose by an ingress or by a gateway, not by both"
type ExposeSpec struct {
	// Ingress makes an Ingress.
	// +optional
	Ingress *IngressSpec `json:"ingress,omitempty"`
	// Gateway makes an HTTPRoute.
	// +optional
	Gateway *GatewaySpec `json:"gateway,omitempty"`
}

// IngressSpec is an Ingress.
type IngressSpec struct {
	// ClassName of the Ingress.
	// +optional
	ClassName *string `json:"className,omitempty"`
	// Host of the dashboard.
	// +kubebuilder:validation:MinLength=1
	Host string `json:"host"`
	// WildcardHost of apps, such as *.apps.example.com.
	// +optional
	WildcardHost string `json:"wildcardHost,omitempty"`
	// Annotations of the Ingress.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
	// TLS of the Ingress.
	// +optional
	TLS *IngressTLSSpec `json:"tls,omitempty"`
}

// IngressTLSSpec is the certificates of an Ingress.
type IngressTLSSpec struct {
	// SecretName for the host.
	// +optional
	SecretName string `json:"secretName,omitempty"`
	// WildcardSecretName for the wildcard host.
	// +optional
	WildcardSecretName string `json:"wildcardSecretName,omitempty"`
}

// GatewaySpec is an HTTPRoute.
type GatewaySpec struct {
	// Host of the dashboard.
	// +kubebuilder:validation:MinLength=1
	Host string `json:"host"`
	// WildcardHost of apps, such as *.apps.example.com.
	// +optional
	WildcardHost string `json:"wildcardHost,omitempty"`
	// ParentRefs are the gateways.
	// +kubebuilder:validation:MinItems=1
	ParentRefs []GatewayParentRef `json:"parentRefs"`
}

// GatewayParentRef names a gateway.
type GatewayParentRef struct {
	// Name of the gateway.
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
	// Namespace of the gateway; the resource's own otherwise.
	// +optional
	Namespace *string `json:"namespace,omitempty"`
	// SectionName is one listener of it.
	// +optional
	SectionName *string `json:"sectionName,omitempty"`
}

// PostgresSpec is where the database's URL comes from.
// +kubebuilder:validation:XValidation:rule="has(self.secretRef) != has(self.clusterRef)",message="name a secret or a cluster, one of them"
type PostgresSpec struct {
	// SecretRef is a Secret with the URL.
	// +optional
	SecretRef *SecretKeySelector `json:"secretRef,omitempty"`
	// ClusterRef is a Cluster of CloudNativePG in the same namespace, whose
	// Secret <name>-app has the URL as uri.
	// +optional
	ClusterRef *ClusterRef `json:"clusterRef,omitempty"`
}

// ClusterRef names a Cluster of CloudNativePG.
type ClusterRef struct {
	// Name of the Cluster.
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
}

// ConditionLicenseApplied, and the conditions that are additions.
const (
	ConditionLicenseApplied = "LicenseApplied"
	ConditionAvailable      = "Available"
)

// CoderControlPlaneStatus is how a control plane does.
type CoderControlPlaneStatus struct {
	// ObservedGeneration is the newest specification that was acted upon.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// ReadyReplicas is how many pods are ready.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas,omitempty"`
	// URL of the server within the cluster.
	// +optional
	URL string `json:"url,omitempty"`
	// OperatorTokenSecretRef is the Secret with the operator's token.
	// +optional
	OperatorTokenSecretRef *SecretKeySelector `json:"operatorTokenSecretRef,omitempty"`
	// OperatorAccessReady says whether the server takes that token.
	// +optional
	OperatorAccessReady bool `json:"operatorAccessReady,omitempty"`
	// LicenseLastApplied is when a license was taken over.
	// +optional
	LicenseLastApplied *metav1.Time `json:"licenseLastApplied,omitempty"`
	// LicenseLastAppliedHash is the SHA-256 of it.
	// +optional
	LicenseLastAppliedHash string `json:"licenseLastAppliedHash,omitempty"`
	// LicenseTier of the server.
	// +kubebuilder:validation:Enum=none;trial;enterprise;premium;unknown
	// +optional
	LicenseTier string `json:"licenseTier,omitempty"`
	// EntitlementsLastChecked is when they were read.
	// +optional
	EntitlementsLastChecked *metav1.Time `json:"entitlementsLastChecked,omitempty"`
	// ExternalProvisionerDaemonsEntitlement as the server says it.
	// +optional
	ExternalProvisionerDaemonsEntitlement string `json:"externalProvisionerDaemonsEntitlement,omitempty"`
	// Phase is Ready when a replica is ready, Pending otherwise.
	// +kubebuilder:validation:Enum=Pending;Ready
	// +optional
	Phase string `json:"phase,omitempty"`
	// Conditions say what holds and what does not, and why.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Version of the server; an addition.
	// +optional
	Version string `json:"version,omitempty"`
	// WorkspaceNamespaces that have a Role of this resource; an addition.
	// +listType=atomic
	// +optional
	WorkspaceNamespaces []string `json:"workspaceNamespaces,omitempty"`
}

// CoderControlPlane is a server.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Replicas",type=integer,JSONPath=`.status.readyReplicas`
// +kubebuilder:printcolumn:name="URL",type=string,JSONPath=`.status.url`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.version`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type CoderControlPlane struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what is wanted.
	// +optional
	Spec CoderControlPlaneSpec `json:"spec,omitempty"`
	// Status is what is.
	// +optional
	Status CoderControlPlaneStatus `json:"status,omitempty"`
}

// CoderControlPlaneList is a list of them.
// +kubebuilder:object:root=true
type CoderControlPlaneList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []CoderControlPlane `json:"items"`
}

// StatusConditions are the conditions of the status.
func (c *CoderControlPlane) StatusConditions() *[]metav1.Condition { return &c.Status.Conditions }

// Observe notes that the specification was acted upon.
func (c *CoderControlPlane) Observe() { c.Status.ObservedGeneration = c.Generation }
