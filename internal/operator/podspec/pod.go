package podspec

import (
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
)

// Entry point of the image.
const Command = "/opt/coder"

// user is the user id of the image.
const user = 1000

// Pod holds the parts of a pod.
type Pod struct {
	Image string
	Args  []string
	Env   []corev1.EnvVar
	// Defaults are sources of variables that those of the specification
	// replace, even sources.
	Defaults []corev1.EnvFromSource
	Ports    []corev1.ContainerPort
	Account  string
	// Container and Options come from the specification.
	Container v1alpha1.ContainerOptions
	Options   v1alpha1.PodOptions
	Readiness *corev1.Probe
	Liveness  *corev1.Probe
	Grace     *int64
	Priority  string
	// Volumes and Mounts are the operator's own, before those of the
	// specification.
	Volumes []corev1.Volume
	Mounts  []corev1.VolumeMount
}

// Template returns the pod template. It meets the restricted Pod Security
// Standard unless the specification overrides it.
func (p Pod) Template(meta metav1.ObjectMeta) corev1.PodTemplateSpec {
	c := corev1.Container{
		Name: "coder", Image: p.Image, Command: []string{Command}, Args: append(p.Args, p.Container.ExtraArgs...),
		Env: Environment(p.Env, p.Container.ExtraEnv), EnvFrom: append(p.Defaults, p.Options.EnvFrom...), Ports: p.Ports,
		ReadinessProbe: p.Readiness, LivenessProbe: p.Liveness,
		VolumeMounts:    lastOf(append(p.Mounts, p.Options.VolumeMounts...), func(m corev1.VolumeMount) string { return m.MountPath }),
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
		Containers: []corev1.Container{c}, ServiceAccountName: p.Account, ImagePullSecrets: Unique(p.Container.ImagePullSecrets),
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

// Probe returns a probe of /healthz at a named port, or nil if it is disabled.
// on is the default without a specification.
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

// Disruption returns the PodDisruptionBudget of an owner's pods.
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
