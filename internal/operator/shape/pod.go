package shape

import (
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
)

// Entry point of the image.
const Command = "/opt/coder"

// user is whom the image runs as.
const user = 1000

// Pod is what one of our pods is made of.
type Pod struct {
	Image   string
	Args    []string
	Env     []corev1.EnvVar
	Ports   []corev1.ContainerPort
	Account string
	// Container and Options are taken from the specification.
	Container v1alpha1.ContainerOptions
	Options   v1alpha1.PodOptions
	Readiness *corev1.Probe
	Liveness  *corev1.Probe
	Grace     *int64
	Priority  string
	// Volumes and Mounts are the operator's own, before the specification's.
	Volumes []corev1.Volume
	Mounts  []corev1.VolumeMount
}

// Template gives the pod, hardened so that the restricted Pod Security Standard
// admits it unless the specification says otherwise.
func (p Pod) Template(meta metav1.ObjectMeta) corev1.PodTemplateSpec {
	c := corev1.Container{
		Name: "coder", Image: p.Image, Command: []string{Command}, Args: append(p.Args, p.Container.ExtraArgs...),
		Env: Environment(p.Env, p.Container.ExtraEnv), EnvFrom: p.Options.EnvFrom, Ports: p.Ports,
		ReadinessProbe: p.Readiness, LivenessProbe: p.Liveness,
		VolumeMounts:    append(p.Mounts, p.Options.VolumeMounts...),
		SecurityContext: p.Options.SecurityContext,
	}
	if p.Container.Resources != nil {
		c.Resources = *p.Container.Resources
	}
	if c.SecurityContext == nil {
		c.SecurityContext = containerSecurity()
	}
	security := p.Options.PodSecurityContext
	if security == nil {
		security = &corev1.PodSecurityContext{FSGroup: new(int64(user))}
	}
	return corev1.PodTemplateSpec{ObjectMeta: meta, Spec: corev1.PodSpec{
		Containers: []corev1.Container{c}, ServiceAccountName: p.Account, ImagePullSecrets: p.Container.ImagePullSecrets,
		NodeSelector: p.Options.NodeSelector, Tolerations: p.Options.Tolerations, Affinity: p.Options.Affinity,
		TopologySpreadConstraints: p.Options.TopologySpreadConstraints, SecurityContext: security,
		Volumes: append(p.Volumes, p.Options.Volumes...), TerminationGracePeriodSeconds: p.Grace,
		PriorityClassName: p.Priority,
	}}
}

func containerSecurity() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		RunAsNonRoot: new(true), RunAsUser: new(int64(user)), RunAsGroup: new(int64(user)),
		AllowPrivilegeEscalation: new(false),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		SeccompProfile:           &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
}

// Probe gives the probe of /healthz at a named port, nil when it is off. on is
// what holds when the specification says nothing.
func Probe(s v1alpha1.ProbeSpec, port string, on bool) *corev1.Probe {
	if s.Enabled != nil {
		on = *s.Enabled
	}
	if !on {
		return nil
	}
	or := func(p *int32, d int32) int32 {
		if p == nil {
			return d
		}
		return *p
	}
	return &corev1.Probe{
		ProbeHandler:        corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/healthz", Port: intstr.FromString(port), Scheme: corev1.URISchemeHTTP}},
		InitialDelaySeconds: s.InitialDelaySeconds, PeriodSeconds: or(s.PeriodSeconds, 10), TimeoutSeconds: or(s.TimeoutSeconds, 1),
		SuccessThreshold: or(s.SuccessThreshold, 1), FailureThreshold: or(s.FailureThreshold, 3),
	}
}

// Disruption gives the budget of an owner's pods.
func Disruption(o Owner, name string, labels, selector map[string]string, s v1alpha1.DisruptionSpec) *policyv1.PodDisruptionBudget {
	unavailable := int32(1)
	if s.MaxUnavailable != nil {
		unavailable = *s.MaxUnavailable
	}
	most := intstr.FromInt32(unavailable)
	return &policyv1.PodDisruptionBudget{
		TypeMeta:   metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"},
		ObjectMeta: o.Meta(name, labels),
		Spec:       policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &most, Selector: &metav1.LabelSelector{MatchLabels: selector}},
	}
}
