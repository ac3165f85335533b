package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CoderWorkspaceProxySpec is a proxy near its users.
// +kubebuilder:validation:XValidation:rule="has(self.proxySessionTokenSecretRef) || has(self.bootstrap)",message="give the proxy's token in proxySessionTokenSecretRef, or say in bootstrap how to make one"
type CoderWorkspaceProxySpec struct {
	// Image to run.
	// +kubebuilder:default="ghcr.io/coder/coder:latest"
	// +optional
	Image string `json:"image,omitempty"`
	// Replicas of the proxy.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
	// Service in front of them.
	// +kubebuilder:default={}
	// +optional
	Service ServiceSpec `json:"service,omitempty"`
	// PrimaryAccessURL is where the server is.
	// +optional
	PrimaryAccessURL string `json:"primaryAccessURL,omitempty"`
	// ProxySessionTokenSecretRef is the proxy's token.
	// +optional
	ProxySessionTokenSecretRef *SecretKeySelector `json:"proxySessionTokenSecretRef,omitempty"`
	// Bootstrap registers the proxy.
	// +optional
	Bootstrap *ProxyBootstrapSpec `json:"bootstrap,omitempty"`
	// DERPOnly lets the proxy relay connections only.
	// +optional
	DERPOnly bool `json:"derpOnly,omitempty"`

	ContainerOptions `json:",inline"`
	// PodOptions are an addition.
	PodOptions `json:",inline"`
}

// ProxyBootstrapSpec registers a proxy at the server.
type ProxyBootstrapSpec struct {
	// CoderURL is where the server is.
	// +kubebuilder:validation:MinLength=1
	CoderURL string `json:"coderURL"`
	// CredentialsSecretRef is a token that may make proxies.
	CredentialsSecretRef SecretKeySelector `json:"credentialsSecretRef"`
	// ProxyName is its name at the server; the resource's otherwise.
	// +kubebuilder:validation:MaxLength=128
	// +optional
	ProxyName string `json:"proxyName,omitempty"`
	// DisplayName is its name for people.
	// +optional
	DisplayName string `json:"displayName,omitempty"`
	// Icon of the proxy.
	// +optional
	Icon string `json:"icon,omitempty"`
	// GeneratedTokenSecretName is where its token is kept; <name>-proxy-token
	// otherwise.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	GeneratedTokenSecretName string `json:"generatedTokenSecretName,omitempty"`
}

// Conditions of a CoderWorkspaceProxy; they are an addition.
const (
	ConditionRegistered      = "Registered"
	ConditionProxyTokenReady = "ProxyTokenReady"
)

// CoderWorkspaceProxyStatus is how a proxy does.
type CoderWorkspaceProxyStatus struct {
	// ObservedGeneration is the newest specification that was acted upon.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// ReadyReplicas is how many pods are ready.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas,omitempty"`
	// Registered says whether the server knows the proxy.
	// +optional
	Registered bool `json:"registered,omitempty"`
	// ProxyTokenSecretRef is where its token is kept.
	// +optional
	ProxyTokenSecretRef *SecretKeySelector `json:"proxyTokenSecretRef,omitempty"`
	// Phase is Ready when a replica is ready, Pending otherwise.
	// +kubebuilder:validation:Enum=Pending;Ready
	// +optional
	Phase string `json:"phase,omitempty"`
	// Conditions say what holds and what does not, and why.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// ProxyID at the server; an addition.
	// +optional
	ProxyID string `json:"proxyID,omitempty"`
}

// CoderWorkspaceProxy is a proxy near its users.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Replicas",type=integer,JSONPath=`.status.readyReplicas`
// +kubebuilder:printcolumn:name="Registered",type=boolean,JSONPath=`.status.registered`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type CoderWorkspaceProxy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what is wanted.
	Spec CoderWorkspaceProxySpec `json:"spec"`
	// Status is what is.
	// +optional
	Status CoderWorkspaceProxyStatus `json:"status,omitempty"`
}

// CoderWorkspaceProxyList is a list of them.
// +kubebuilder:object:root=true
type CoderWorkspaceProxyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []CoderWorkspaceProxy `json:"items"`
}

// StatusConditions are the conditions of the status.
func (p *CoderWorkspaceProxy) StatusConditions() *[]metav1.Condition { return &p.Status.Conditions }

// Observe notes that the specification was acted upon.
func (p *CoderWorkspaceProxy) Observe() { p.Status.ObservedGeneration = p.Generation }
