package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CoderWorkspaceProxySpec is the desired state of a workspace proxy.
// +kubebuilder:validation:XValidation:rule="has(self.proxySessionTokenSecretRef) || has(self.bootstrap)",message="set proxySessionTokenSecretRef to the proxy's token, or bootstrap to create one"
type CoderWorkspaceProxySpec struct {
	// Image to run. The default is this project's name, under which no image is
	// published yet: build one with `make image` and name it here.
	// +kubebuilder:default="ghcr.io/seed-2a7f8fe7/coder:latest"
	// +optional
	Image string `json:"image,omitempty"`
	// Replicas is the number of proxy pods.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
	// Service in front of the pods.
	// +kubebuilder:default={}
	// +optional
	Service ServiceSpec `json:"service,omitempty"`
	// PrimaryAccessURL is the access URL of the server.
	// +optional
	PrimaryAccessURL string `json:"primaryAccessURL,omitempty"`
	// ProxySessionTokenSecretRef refers to the proxy's token.
	// +optional
	ProxySessionTokenSecretRef *SecretKeySelector `json:"proxySessionTokenSecretRef,omitempty"`
	// Bootstrap registers the proxy at the server.
	// +optional
	Bootstrap *ProxyBootstrapSpec `json:"bootstrap,omitempty"`
	// DERPOnly limits the proxy to relaying connections.
	// +optional
	DERPOnly bool `json:"derpOnly,omitempty"`

	ContainerOptions `json:",inline"`
	// PodOptions are an addition to Coder's resource.
	PodOptions `json:",inline"`
}

// ProxyBootstrapSpec registers a proxy at the server.
type ProxyBootstrapSpec struct {
	// CoderURL is the URL of the server.
	// +kubebuilder:validation:MinLength=1
	CoderURL string `json:"coderURL"`
	// CredentialsSecretRef refers to a token that may create workspace proxies.
	CredentialsSecretRef SecretKeySelector `json:"credentialsSecretRef"`
	// ProxyName is the name of the proxy at the server; the default is the
	// resource's name.
	// +kubebuilder:validation:MaxLength=128
	// +optional
	ProxyName string `json:"proxyName,omitempty"`
	// DisplayName of the proxy.
	// +optional
	DisplayName string `json:"displayName,omitempty"`
	// Icon of the proxy.
	// +optional
	Icon string `json:"icon,omitempty"`
	// GeneratedTokenSecretName is the Secret that stores the proxy's token; the
	// default is <name>-proxy-token.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	// +optional
	GeneratedTokenSecretName string `json:"generatedTokenSecretName,omitempty"`
}

// Conditions of a CoderWorkspaceProxy. Addition to Coder's resource.
const (
	ConditionRegistered      = "Registered"
	ConditionProxyTokenReady = "ProxyTokenReady"
)

// CoderWorkspaceProxyStatus is the observed state of a proxy.
type CoderWorkspaceProxyStatus struct {
	// ObservedGeneration is the newest generation that the operator acted on.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// ReadyReplicas is the number of ready pods.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas,omitempty"`
	// Registered reports whether the proxy is registered at the server.
	// +optional
	Registered bool `json:"registered,omitempty"`
	// ProxyTokenSecretRef refers to the proxy's token.
	// +optional
	ProxyTokenSecretRef *SecretKeySelector `json:"proxyTokenSecretRef,omitempty"`
	// Phase is Ready when at least one replica is ready, otherwise Pending.
	// +kubebuilder:validation:Enum=Pending;Ready
	// +optional
	Phase string `json:"phase,omitempty"`
	// Conditions of the resource, each with a reason and a message.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// ProxyID is the id of the proxy at the server. Addition to Coder's
	// resource.
	// +optional
	ProxyID string `json:"proxyID,omitempty"`
}

// CoderWorkspaceProxy is a workspace proxy.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Replicas",type=integer,JSONPath=`.status.readyReplicas`
// +kubebuilder:printcolumn:name="Registered",type=boolean,JSONPath=`.status.registered`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
type CoderWorkspaceProxy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the desired state.
	Spec CoderWorkspaceProxySpec `json:"spec"`
	// Status is the observed state.
	// +optional
	Status CoderWorkspaceProxyStatus `json:"status,omitempty"`
}

// CoderWorkspaceProxyList is a list of CoderWorkspaceProxies.
// +kubebuilder:object:root=true
type CoderWorkspaceProxyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []CoderWorkspaceProxy `json:"items"`
}

// StatusConditions returns the conditions of the status.
func (p *CoderWorkspaceProxy) StatusConditions() *[]metav1.Condition { return &p.Status.Conditions }

// Settled reports whether all that the current generation asks for is in place.
// The phase is Ready as soon as one pod is, also an older one.
func (p *CoderWorkspaceProxy) Settled() bool {
	return p.Status.Phase == PhaseReady && p.Status.ObservedGeneration == p.Generation &&
		meta.IsStatusConditionTrue(p.Status.Conditions, ConditionDeploymentReady)
}

// Observe records that the operator acted on the current generation.
func (p *CoderWorkspaceProxy) Observe() { p.Status.ObservedGeneration = p.Generation }
