// Package controlplane keeps servers as their CoderControlPlanes say: the
// Deployment, the Service before it, how it is reached from outside, and what
// templates may do. It speaks to the server by its API alone: the server is
// started with a token that the operator made, and lets it in as an account of
// its own.
package controlplane

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
	"github.com/seed-2a7f8fe7/coder/internal/operator/shape"
)

// Kind of the resource.
const Kind = "CoderControlPlane"

const component = "coder-control-plane"

// Ports of the container.
const (
	portHTTP  = 8080
	portHTTPS = 8443
)

// annotationToken rolls the pods when the operator's token changes, which servers
// take as they start.
const annotationToken = "checksum/operator-token"

// TokenKey is the key of the operator's token in its Secret.
const TokenKey = "token"

func labelsOf(c *v1alpha1.CoderControlPlane) map[string]string {
	return shape.Labels(component, c.Name)
}

// Name gives the name of Deployment and Service.
func Name(c *v1alpha1.CoderControlPlane) string { return shape.Name("", c.Name) }

// RightsName gives the name of Role and RoleBinding.
func RightsName(c *v1alpha1.CoderControlPlane) string {
	return shape.Name("", c.Name+"-workspace-perms")
}

// URL gives the server's URL within the cluster.
func URL(c *v1alpha1.CoderControlPlane) string {
	scheme, port := "http", servicePort(c)
	if len(c.Spec.TLS.SecretNames) > 0 {
		scheme, port = "https", 443
	}
	return fmt.Sprintf("%s://%s.%s.svc.cluster.local:%d", scheme, Name(c), c.Namespace, port)
}

func servicePort(c *v1alpha1.CoderControlPlane) int32 {
	if c.Spec.Service.Port != 0 {
		return c.Spec.Service.Port
	}
	return 80
}

// TokenSecretName is the Secret with the operator's token.
func TokenSecretName(c *v1alpha1.CoderControlPlane) string {
	if n := c.Spec.OperatorAccess.GeneratedTokenSecretName; n != "" {
		return n
	}
	return shape.Name("", c.Name+"-operator-token")
}

// TokenSecret gives the Secret with the operator's token.
func TokenSecret(c *v1alpha1.CoderControlPlane, token string) *corev1.Secret {
	return &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: shape.OwnerOf(Kind, c).Meta(TokenSecretName(c), labelsOf(c)),
		Type:       corev1.SecretTypeOpaque,
		Data:       map[string][]byte{TokenKey: []byte(token)},
	}
}

// Namespaces gives the other namespaces in which templates may make workspaces.
func Namespaces(c *v1alpha1.CoderControlPlane) []string {
	out := slices.DeleteFunc(slices.Clone(c.Spec.RBAC.WorkspaceNamespaces), func(n string) bool { return n == c.Namespace })
	slices.Sort(out)
	return slices.Compact(out)
}

// Rights gives account, roles and bindings.
func Rights(c *v1alpha1.CoderControlPlane) []client.Object {
	o := shape.OwnerOf(Kind, c)
	name, account := shape.Account(o, Name(c), labelsOf(c), c.Spec.ServiceAccount)
	var out []client.Object
	if account != nil {
		out = append(out, account)
	}
	return append(out, shape.Rights(o, RightsName(c), name, labelsOf(c), shape.Rules(c.Spec.RBAC.RBACSpec), Namespaces(c))...)
}

// Objects gives everything that a server is made of but the Secret with the
// operator's token, with which it is started unless token is "".
func Objects(c *v1alpha1.CoderControlPlane, token string) []client.Object {
	out := append(Rights(c), Service(c), Deployment(c, token))
	if b := c.Spec.PodDisruptionBudget; b != nil {
		out = append(out, Budget(c, *b))
	}
	if e := c.Spec.Expose; e != nil && e.Ingress != nil {
		out = append(out, Ingress(c, *e.Ingress))
	}
	if e := c.Spec.Expose; e != nil && e.Gateway != nil {
		out = append(out, Route(c, *e.Gateway))
	}
	return out
}

// Service gives the Service before the server.
func Service(c *v1alpha1.CoderControlPlane) *corev1.Service {
	s := &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: shape.OwnerOf(Kind, c).Meta(Name(c), labelsOf(c)),
		Spec: corev1.ServiceSpec{
			Type: c.Spec.Service.Type, Selector: shape.Selector(component, c.Name),
			Ports: []corev1.ServicePort{{Name: "http", Port: servicePort(c), TargetPort: intstr.FromString("http"), Protocol: corev1.ProtocolTCP}},
		},
	}
	if len(c.Spec.TLS.SecretNames) > 0 {
		s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: "https", Port: 443, TargetPort: intstr.FromString("https"), Protocol: corev1.ProtocolTCP})
	}
	s.Annotations = c.Spec.Service.Annotations
	return s
}

// Deployment gives the server. It is started with the operator's token, and anew
// when that is another; "" is none.
func Deployment(c *v1alpha1.CoderControlPlane, token string) *appsv1.Deployment {
	o, selector := shape.OwnerOf(Kind, c), shape.Selector(component, c.Name)
	account, _ := shape.Account(o, Name(c), labelsOf(c), c.Spec.ServiceAccount)
	pod := shape.Pod{
		Image: c.Spec.Image, Args: []string{"server", fmt.Sprintf("--http-address=0.0.0.0:%d", portHTTP)}, Account: account,
		Env: environment(c, token != ""), Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: portHTTP, Protocol: corev1.ProtocolTCP}},
		Container: c.Spec.ContainerOptions, Options: c.Spec.PodOptions,
		Readiness: shape.Probe(c.Spec.ReadinessProbe, "http", true), Liveness: shape.Probe(c.Spec.LivenessProbe, "http", false),
	}
	if len(c.Spec.TLS.SecretNames) > 0 {
		pod.Ports = append(pod.Ports, corev1.ContainerPort{Name: "https", ContainerPort: portHTTPS, Protocol: corev1.ProtocolTCP})
	}
	pod.Volumes, pod.Mounts = files(c)
	meta := metav1.ObjectMeta{Labels: labelsOf(c)}
	if token != "" {
		meta.Annotations = map[string]string{annotationToken: checksum(token)}
	}
	replicas := int32(1)
	if c.Spec.Replicas != nil {
		replicas = *c.Spec.Replicas
	}
	// One new pod before an old one goes: the first migrates the database while
	// the others wait for its lock, and no moment is without a server.
	none, one := intstr.FromInt32(0), intstr.FromInt32(1)
	return &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: o.Meta(Name(c), labelsOf(c)),
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: selector},
			Strategy: appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{MaxUnavailable: &none, MaxSurge: &one}},
			Template: pod.Template(meta),
		},
	}
}

// environment gives the variables that the operator sets.
// checksum names a secret without telling it.
func checksum(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

func environment(c *v1alpha1.CoderControlPlane, token bool) []corev1.EnvVar {
	env := []corev1.EnvVar{
		shape.FromField("KUBE_POD_IP", "status.podIP"),
		{Name: "CODER_DERP_SERVER_RELAY_URL", Value: fmt.Sprintf("http://$(KUBE_POD_IP):%d", portHTTP)},
	}
	if c.Spec.EnvUseClusterAccessURL == nil || *c.Spec.EnvUseClusterAccessURL {
		env = append(env, corev1.EnvVar{Name: "CODER_ACCESS_URL", Value: URL(c)})
	}
	if n := len(c.Spec.TLS.SecretNames); n > 0 {
		certs, keys := make([]string, n), make([]string, n)
		for i, s := range c.Spec.TLS.SecretNames {
			certs[i], keys[i] = tlsDir(s)+"/tls.crt", tlsDir(s)+"/tls.key"
		}
		env = append(env,
			corev1.EnvVar{Name: "CODER_TLS_ENABLE", Value: "true"},
			corev1.EnvVar{Name: "CODER_TLS_ADDRESS", Value: fmt.Sprintf("0.0.0.0:%d", portHTTPS)},
			corev1.EnvVar{Name: "CODER_TLS_CERT_FILE", Value: strings.Join(certs, ",")},
			corev1.EnvVar{Name: "CODER_TLS_KEY_FILE", Value: strings.Join(keys, ",")},
		)
	}
	if p := c.Spec.Postgres; p != nil {
		switch {
		case p.SecretRef != nil:
			key := p.SecretRef.Key
			if key == "" {
				key = "url"
			}
			env = append(env, shape.FromSecret("CODER_PG_CONNECTION_URL", p.SecretRef.Name, key))
		case p.ClusterRef != nil:
			env = append(env, shape.FromSecret("CODER_PG_CONNECTION_URL", p.ClusterRef.Name+"-app", "uri"))
		}
	}
	if token {
		env = append(env, shape.FromSecret("CODER_OPERATOR_TOKEN", TokenSecretName(c), TokenKey))
	}
	return env
}

func tlsDir(secret string) string { return "/etc/ssl/certs/coder/" + secret }

// files gives the volumes of certificates.
func files(c *v1alpha1.CoderControlPlane) (volumes []corev1.Volume, mounts []corev1.VolumeMount) {
	for _, s := range c.Spec.TLS.SecretNames {
		name := shape.Name("tls", s)
		volumes = append(volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: s}}})
		mounts = append(mounts, corev1.VolumeMount{Name: name, MountPath: tlsDir(s), ReadOnly: true})
	}
	trust := shape.Certificates(c.Spec.Certs.Secrets)
	return append(volumes, trust.Volumes...), append(mounts, trust.Mounts...)
}

// Budget gives the disruption budget of the server.
func Budget(c *v1alpha1.CoderControlPlane, s v1alpha1.DisruptionSpec) *policyv1.PodDisruptionBudget {
	return shape.Disruption(shape.OwnerOf(Kind, c), Name(c), labelsOf(c), shape.Selector(component, c.Name), s)
}

// Ingress gives the Ingress of a server.
func Ingress(c *v1alpha1.CoderControlPlane, s v1alpha1.IngressSpec) *networkingv1.Ingress {
	path := networkingv1.PathTypePrefix
	rule := func(host string) networkingv1.IngressRule {
		return networkingv1.IngressRule{Host: host, IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{
			Paths: []networkingv1.HTTPIngressPath{{Path: "/", PathType: &path, Backend: networkingv1.IngressBackend{
				Service: &networkingv1.IngressServiceBackend{Name: Name(c), Port: networkingv1.ServiceBackendPort{Name: "http"}},
			}}},
		}}}
	}
	i := &networkingv1.Ingress{
		TypeMeta:   metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "Ingress"},
		ObjectMeta: shape.OwnerOf(Kind, c).Meta(Name(c), labelsOf(c)),
		Spec:       networkingv1.IngressSpec{IngressClassName: s.ClassName, Rules: []networkingv1.IngressRule{rule(s.Host)}},
	}
	i.Annotations = s.Annotations
	if s.WildcardHost != "" {
		i.Spec.Rules = append(i.Spec.Rules, rule(s.WildcardHost))
	}
	if t := s.TLS; t != nil {
		if t.SecretName != "" {
			i.Spec.TLS = append(i.Spec.TLS, networkingv1.IngressTLS{Hosts: []string{s.Host}, SecretName: t.SecretName})
		}
		if t.WildcardSecretName != "" && s.WildcardHost != "" {
			i.Spec.TLS = append(i.Spec.TLS, networkingv1.IngressTLS{Hosts: []string{s.WildcardHost}, SecretName: t.WildcardSecretName})
		}
	}
	return i
}
