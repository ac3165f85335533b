// Package controlplane reconciles CoderControlPlanes: the server's Deployment
// and Service, its exposure outside the cluster, and the permissions of
// templates. It talks to the server through its API only. The operator creates
// a token and starts the server with it; the server then accepts the operator
// as an account of its own.
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
	"github.com/seed-2a7f8fe7/coder/internal/operator/podspec"
)

// Kind of the resource.
const Kind = "CoderControlPlane"

const component = podspec.NameControlPlane

// Ports of the container.
const (
	portHTTP  = 8080
	portHTTPS = 8443
)

// annotationToken rolls the pods when the operator's token changes, because
// servers read it at their start; annotationDefaults does so for the default
// variables.
const (
	annotationToken    = "checksum/operator-token"
	annotationDefaults = "checksum/defaults"
)

// variableAccessURL is the URL at which users reach the server.
const variableAccessURL = "CODER_ACCESS_URL"

// TokenKey is the key of the operator's token in its Secret.
const TokenKey = "token"

func labelsOf(c *v1alpha1.CoderControlPlane) map[string]string {
	return podspec.Labels(component, c.Name)
}

// Name returns the name of the Deployment and the Service.
func Name(c *v1alpha1.CoderControlPlane) string { return podspec.Name("", c.Name) }

// RightsName returns the name of the Role and the RoleBinding.
func RightsName(c *v1alpha1.CoderControlPlane) string {
	return podspec.Name("", c.Name+"-workspace-perms")
}

// URL returns the server's URL in the cluster, with its port.
func URL(c *v1alpha1.CoderControlPlane) string {
	scheme, port := "http", servicePort(c)
	if len(c.Spec.TLS.SecretNames) > 0 {
		scheme, port = "https", portTLS
	}
	return fmt.Sprintf("%s://%s.%s.svc.cluster.local:%d", scheme, Name(c), c.Namespace, port)
}

// accessURL returns the default of CODER_ACCESS_URL: URL without the port that
// the scheme implies, which browsers and Git leave out, too.
func accessURL(c *v1alpha1.CoderControlPlane) string {
	if len(c.Spec.TLS.SecretNames) > 0 {
		return strings.TrimSuffix(URL(c), ":443")
	}
	return strings.TrimSuffix(URL(c), ":80")
}

// portTLS is the port of the Service for HTTPS.
const portTLS = 443

// backend returns the name and number of the port of the Service that serves
// clients outside the cluster. A Service whose port is 443 has no port for
// HTTP if the server terminates HTTPS.
func backend(c *v1alpha1.CoderControlPlane) (name string, port int32) {
	if len(c.Spec.TLS.SecretNames) > 0 && servicePort(c) == portTLS {
		return "https", portTLS
	}
	return "http", servicePort(c)
}

func servicePort(c *v1alpha1.CoderControlPlane) int32 {
	if c.Spec.Service.Port != 0 {
		return c.Spec.Service.Port
	}
	return 80
}

// TokenSecretName returns the name of the Secret with the operator's token.
func TokenSecretName(c *v1alpha1.CoderControlPlane) string {
	if n := c.Spec.OperatorAccess.GeneratedTokenSecretName; n != "" {
		return n
	}
	return podspec.Name("", c.Name+"-operator-token")
}

// TokenSecret returns the Secret with the operator's token.
func TokenSecret(c *v1alpha1.CoderControlPlane, token string) *corev1.Secret {
	return &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: podspec.OwnerOf(Kind, c).Meta(TokenSecretName(c), labelsOf(c)),
		Type:       corev1.SecretTypeOpaque,
		Data:       map[string][]byte{TokenKey: []byte(token)},
	}
}

// Namespaces returns the other namespaces in which templates may create
// workspaces.
func Namespaces(c *v1alpha1.CoderControlPlane) []string {
	out := slices.DeleteFunc(slices.Clone(c.Spec.RBAC.WorkspaceNamespaces), func(n string) bool { return n == c.Namespace })
	slices.Sort(out)
	return slices.Compact(out)
}

// Rights returns the ServiceAccount, Roles and RoleBindings of a server with
// these pods.
func Rights(c *v1alpha1.CoderControlPlane, g podspec.Grant, pods []corev1.Pod) []client.Object {
	o := podspec.OwnerOf(Kind, c)
	name, account := podspec.Account(o, Name(c), labelsOf(c), c.Spec.ServiceAccount)
	var out []client.Object
	if account != nil {
		out = append(out, account)
	}
	return append(out, podspec.Rights(o, RightsName(c), append([]string{name}, podspec.FormerAccounts(name, pods)...), labelsOf(c), c.Spec.RBAC.RBACSpec, g)...)
}

// Readers returns the Role and RoleBinding with which the aggregated API server,
// whose account is namespace/name, reads the Secrets of a control plane that it
// needs: the operator's token and the CA certificates.
func Readers(c *v1alpha1.CoderControlPlane, account string) []client.Object {
	secrets := append([]string{TokenSecretName(c)}, c.Spec.TLS.SecretNames...)
	for _, s := range c.Spec.Certs.Secrets {
		secrets = append(secrets, s.Name)
	}
	return podspec.Readers(podspec.OwnerOf(Kind, c), podspec.Name("", c.Name+"-aggregated-apiserver"), account, labelsOf(c), podspec.Unique(secrets))
}

// Objects returns all objects of a server except the Secret with the operator's
// token, and its Rights. The server starts with that token unless token is "".
func Objects(c *v1alpha1.CoderControlPlane, token string) []client.Object {
	var out []client.Object
	if hasDefaults(c) {
		out = append(out, Defaults(c))
	}
	out = append(out, Service(c), Deployment(c, token))
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

// Service returns the Service of the server.
func Service(c *v1alpha1.CoderControlPlane) *corev1.Service {
	s := &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: podspec.OwnerOf(Kind, c).Meta(Name(c), labelsOf(c)),
		Spec: corev1.ServiceSpec{
			Type: c.Spec.Service.Type, Selector: podspec.Selector(component, c.Name),
		},
	}
	port := func(name string, number int32) {
		s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: name, Port: number, TargetPort: intstr.FromString(name), Protocol: corev1.ProtocolTCP})
	}
	if name, number := backend(c); name == "http" {
		port(name, number)
	}
	if len(c.Spec.TLS.SecretNames) > 0 {
		port("https", portTLS)
	}
	s.Annotations = c.Spec.Service.Annotations
	return s
}

// Deployment returns the Deployment of the server. The server starts with the
// operator's token, "" for none, and restarts when the token changes.
func Deployment(c *v1alpha1.CoderControlPlane, token string) *appsv1.Deployment {
	o, selector := podspec.OwnerOf(Kind, c), podspec.Selector(component, c.Name)
	account, _ := podspec.Account(o, Name(c), labelsOf(c), c.Spec.ServiceAccount)
	pod := podspec.Pod{
		Image: c.Spec.Image, Args: []string{"server", fmt.Sprintf("--http-address=0.0.0.0:%d", portHTTP)}, Account: account,
		Env: environment(c, token != ""), Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: portHTTP, Protocol: corev1.ProtocolTCP}},
		Container: c.Spec.ContainerOptions, Options: c.Spec.PodOptions,
		Readiness: podspec.Probe(c.Spec.ReadinessProbe, "http", true), Liveness: podspec.Probe(c.Spec.LivenessProbe, "http", false),
	}
	if len(c.Spec.TLS.SecretNames) > 0 {
		pod.Ports = append(pod.Ports, corev1.ContainerPort{Name: "https", ContainerPort: portHTTPS, Protocol: corev1.ProtocolTCP})
	}
	pod.Volumes, pod.Mounts = files(c)
	annotations := map[string]string{}
	if token != "" {
		annotations[annotationToken] = checksum(token)
	}
	if hasDefaults(c) {
		pod.Defaults = []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: defaultsName(c)}}}}
		annotations[annotationDefaults] = checksum(accessURL(c))
	}
	meta := metav1.ObjectMeta{Labels: labelsOf(c), Annotations: podspec.Merge(annotations)}
	replicas := int32(1)
	if c.Spec.Replicas != nil {
		replicas = *c.Spec.Replicas
	}
	// Start a new pod before an old one stops: the first new pod migrates the
	// database while the others wait for its lock, and a server is always
	// available.
	none, one := intstr.FromInt32(0), intstr.FromInt32(1)
	return &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: o.Meta(Name(c), labelsOf(c)),
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: selector},
			Strategy: appsv1.DeploymentStrategy{
				Type:          appsv1.RollingUpdateDeploymentStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDeployment{MaxUnavailable: &none, MaxSurge: &one},
			},
			Template: pod.Template(meta),
		},
	}
}

// checksum identifies a secret without revealing it.
func checksum(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// environment returns the variables that the operator sets.
func environment(c *v1alpha1.CoderControlPlane, token bool) []corev1.EnvVar {
	env := []corev1.EnvVar{
		podspec.FromField("KUBE_POD_IP", "status.podIP"),
		{Name: "CODER_DERP_SERVER_RELAY_URL", Value: fmt.Sprintf("http://$(KUBE_POD_IP):%d", portHTTP)},
	}
	if usesClusterURL(c) && !hasDefaults(c) {
		env = append(env, corev1.EnvVar{Name: variableAccessURL, Value: accessURL(c)})
	}
	if secrets := podspec.Unique(c.Spec.TLS.SecretNames); len(secrets) > 0 {
		certs, keys := make([]string, len(secrets)), make([]string, len(secrets))
		for i, s := range secrets {
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
			env = append(env, podspec.FromSecret("CODER_PG_CONNECTION_URL", p.SecretRef.Name, key))
		case p.ClusterRef != nil:
			env = append(env, podspec.FromSecret("CODER_PG_CONNECTION_URL", p.ClusterRef.Name+"-app", "uri"))
		}
	}
	if token {
		env = append(env, podspec.FromSecret("CODER_OPERATOR_TOKEN", TokenSecretName(c), TokenKey))
	}
	return env
}

func usesClusterURL(c *v1alpha1.CoderControlPlane) bool {
	return c.Spec.EnvUseClusterAccessURL == nil || *c.Spec.EnvUseClusterAccessURL
}

// hasDefaults reports whether the default access URL is in a ConfigMap: a
// variable of the container would replace one from spec.envFrom.
func hasDefaults(c *v1alpha1.CoderControlPlane) bool {
	return usesClusterURL(c) && len(c.Spec.EnvFrom) > 0 && !podspec.Has(c.Spec.ExtraEnv, variableAccessURL)
}

func defaultsName(c *v1alpha1.CoderControlPlane) string { return podspec.Name("", c.Name+"-defaults") }

// Defaults returns the ConfigMap with variables that spec.envFrom may replace.
func Defaults(c *v1alpha1.CoderControlPlane) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: podspec.OwnerOf(Kind, c).Meta(defaultsName(c), labelsOf(c)),
		Data:       map[string]string{variableAccessURL: accessURL(c)},
	}
}

func tlsDir(secret string) string { return "/etc/ssl/certs/coder/" + secret }

// files returns the volumes of certificates.
func files(c *v1alpha1.CoderControlPlane) (volumes []corev1.Volume, mounts []corev1.VolumeMount) {
	for _, s := range podspec.Unique(c.Spec.TLS.SecretNames) {
		name := podspec.Name("tls", s)
		volumes = append(volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: s}}})
		mounts = append(mounts, corev1.VolumeMount{Name: name, MountPath: tlsDir(s), ReadOnly: true})
	}
	trust := podspec.Certificates(c.Spec.Certs.Secrets)
	return append(volumes, trust.Volumes...), append(mounts, trust.Mounts...)
}

// Budget returns the PodDisruptionBudget of the server.
func Budget(c *v1alpha1.CoderControlPlane, s v1alpha1.DisruptionSpec) *policyv1.PodDisruptionBudget {
	return podspec.Disruption(podspec.OwnerOf(Kind, c), Name(c), labelsOf(c), podspec.Selector(component, c.Name), s)
}

// Ingress returns the Ingress of the server.
func Ingress(c *v1alpha1.CoderControlPlane, s v1alpha1.IngressSpec) *networkingv1.Ingress {
	path := networkingv1.PathTypePrefix
	port, _ := backend(c)
	rule := func(host string) networkingv1.IngressRule {
		return networkingv1.IngressRule{Host: host, IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{
			Paths: []networkingv1.HTTPIngressPath{{Path: "/", PathType: &path, Backend: networkingv1.IngressBackend{
				Service: &networkingv1.IngressServiceBackend{Name: Name(c), Port: networkingv1.ServiceBackendPort{Name: port}},
			}}},
		}}}
	}
	i := &networkingv1.Ingress{
		TypeMeta:   metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "Ingress"},
		ObjectMeta: podspec.OwnerOf(Kind, c).Meta(Name(c), labelsOf(c)),
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
