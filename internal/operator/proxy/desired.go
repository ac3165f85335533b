// Package proxy reconciles CoderWorkspaceProxies: it registers each proxy at
// its server, stores the token in a Secret, runs `coder wsproxy server` with
// it, and deregisters the proxy when the resource is deleted.
package proxy

import (
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
	"github.com/seed-2a7f8fe7/coder/internal/operator/podspec"
)

// Kind of the resource.
const Kind = "CoderWorkspaceProxy"

const (
	component = podspec.NameWorkspaceProxy
	tokenKey  = "token"
	port      = 3001
	// annotationProxy is the id of the proxy whose token a Secret holds.
	annotationProxy = "coder.com/workspace-proxy-id"
)

// Name returns the name of the Deployment and the Service.
func Name(p *v1alpha1.CoderWorkspaceProxy) string { return podspec.Name("wsproxy", p.Name) }

func labelsOf(p *v1alpha1.CoderWorkspaceProxy) map[string]string {
	return podspec.Labels(component, p.Name)
}

// TokenRef returns the Secret with the proxy's token: the specified or the
// generated one.
func TokenRef(p *v1alpha1.CoderWorkspaceProxy) v1alpha1.SecretKeySelector {
	if r := p.Spec.ProxySessionTokenSecretRef; r != nil {
		ref := *r
		if ref.Key == "" {
			ref.Key = tokenKey
		}
		return ref
	}
	name := podspec.Name("", p.Name+"-proxy-token")
	if b := p.Spec.Bootstrap; b != nil && b.GeneratedTokenSecretName != "" {
		name = b.GeneratedTokenSecretName
	}
	return v1alpha1.SecretKeySelector{Name: name, Key: tokenKey}
}

// primary returns the access URL of the proxy's server.
func primary(p *v1alpha1.CoderWorkspaceProxy) string {
	if p.Spec.PrimaryAccessURL == "" && p.Spec.Bootstrap != nil {
		return p.Spec.Bootstrap.CoderURL
	}
	return p.Spec.PrimaryAccessURL
}

// servicePort returns the port of the Service.
func servicePort(p *v1alpha1.CoderWorkspaceProxy) int32 {
	if p.Spec.Service.Port == 0 {
		return 80
	}
	return p.Spec.Service.Port
}

// inside returns the URL of the proxy in the cluster.
func inside(p *v1alpha1.CoderWorkspaceProxy) string {
	at := "http://" + Name(p) + "." + p.Namespace + ".svc"
	if n := servicePort(p); n != 80 {
		at += ":" + strconv.Itoa(int(n))
	}
	return at
}

// Secret returns the Secret of a token.
func Secret(p *v1alpha1.CoderWorkspaceProxy, id, token string) *corev1.Secret {
	ref := TokenRef(p)
	s := &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: podspec.OwnerOf(Kind, p).Meta(ref.Name, labelsOf(p)),
		Type:       corev1.SecretTypeOpaque,
		Data:       map[string][]byte{ref.Key: []byte(token)},
	}
	s.Annotations = map[string]string{annotationProxy: id}
	return s
}

// Objects returns all objects of a proxy except the Secret with its token,
// whose checksum is sum.
func Objects(p *v1alpha1.CoderWorkspaceProxy, sum string) []client.Object {
	return []client.Object{Service(p), Deployment(p, sum)}
}

// Service returns the Service of the proxy.
func Service(p *v1alpha1.CoderWorkspaceProxy) *corev1.Service {
	s := &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: podspec.OwnerOf(Kind, p).Meta(Name(p), labelsOf(p)),
		Spec: corev1.ServiceSpec{
			Type: p.Spec.Service.Type, Selector: podspec.Selector(component, p.Name),
			Ports: []corev1.ServicePort{{Name: "http", Port: servicePort(p), TargetPort: intstr.FromString("http"), Protocol: corev1.ProtocolTCP}},
		},
	}
	s.Annotations = p.Spec.Service.Annotations
	return s
}

// Deployment returns the Deployment of the proxy. sum is the checksum of its
// token.
func Deployment(p *v1alpha1.CoderWorkspaceProxy, sum string) *appsv1.Deployment {
	ref := TokenRef(p)
	args := []string{"wsproxy", "server", "--http-address=0.0.0.0:3001"}
	if p.Spec.DERPOnly {
		args = append(args, "--derp-only")
	}
	pod := podspec.Pod{
		Image: p.Spec.Image, Args: args,
		Env: []corev1.EnvVar{
			{Name: "CODER_PRIMARY_ACCESS_URL", Value: primary(p)},
			{Name: "CODER_ACCESS_URL", Value: inside(p)}, // ExtraEnv may replace it by the URL for browsers
			podspec.FromSecret("CODER_PROXY_SESSION_TOKEN", ref.Name, ref.Key),
		},
		Ports:     []corev1.ContainerPort{{Name: "http", ContainerPort: port, Protocol: corev1.ProtocolTCP}},
		Container: p.Spec.ContainerOptions, Options: p.Spec.PodOptions, Readiness: podspec.Probe(v1alpha1.ProbeSpec{}, "http", true),
	}
	replicas := int32(1)
	if p.Spec.Replicas != nil {
		replicas = *p.Spec.Replicas
	}
	return &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: podspec.OwnerOf(Kind, p).Meta(Name(p), labelsOf(p)),
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: podspec.Selector(component, p.Name)},
			Template: pod.Template(metav1.ObjectMeta{Labels: labelsOf(p), Annotations: map[string]string{"checksum/proxy-token": sum}}),
		},
	}
}
