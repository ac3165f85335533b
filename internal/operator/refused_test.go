package operator_test

import (
	"context"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
	"github.com/seed-2a7f8fe7/coder/internal/operator/kubetest"
)

// doubled are container options in which every list has an entry twice.
func doubled() v1alpha1.ContainerOptions {
	return v1alpha1.ContainerOptions{
		ExtraEnv:         []corev1.EnvVar{{Name: "LEVEL", Value: "first"}, {Name: "OTHER", Value: "x"}, {Name: "LEVEL", Value: "last"}},
		ImagePullSecrets: []corev1.LocalObjectReference{{Name: "pull"}, {Name: "pull"}},
	}
}

// proxyWithToken creates a proxy whose token is in its specification.
func (w *town) proxyWithToken(t *testing.T, name string, options v1alpha1.ContainerOptions) *v1alpha1.CoderWorkspaceProxy {
	t.Helper()
	must(t, client.IgnoreAlreadyExists(cluster.Client.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "proxy-token", Namespace: w.ns}, StringData: map[string]string{"token": "id:secret"},
	})))
	p := &v1alpha1.CoderWorkspaceProxy{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: w.ns}}
	p.Spec.ContainerOptions = options
	p.Spec.PrimaryAccessURL = "http://coder.example.com"
	p.Spec.ProxySessionTokenSecretRef = &v1alpha1.SecretKeySelector{Name: "proxy-token"}
	must(t, cluster.Client.Create(t.Context(), p))
	return p
}

// state waits until a resource has a condition with a reason, and returns the
// resource's generations and phase.
func (w *town) state(t *testing.T, o client.Object, kind, reason string) (generation, observed int64, phase string) {
	t.Helper()
	kubetest.Until(t, wait, func(ctx context.Context) string {
		if err := cluster.Client.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return err.Error()
		}
		var conditions []metav1.Condition
		switch o := o.(type) {
		case *v1alpha1.CoderControlPlane:
			conditions, observed, phase = o.Status.Conditions, o.Status.ObservedGeneration, o.Status.Phase
		case *v1alpha1.CoderProvisioner:
			conditions, observed, phase = o.Status.Conditions, o.Status.ObservedGeneration, o.Status.Phase
		case *v1alpha1.CoderWorkspaceProxy:
			conditions, observed, phase = o.Status.Conditions, o.Status.ObservedGeneration, o.Status.Phase
		}
		generation = o.GetGeneration()
		if c := meta.FindStatusCondition(conditions, kind); c == nil || c.Reason != reason || c.ObservedGeneration != generation {
			return fmt.Sprintf("%s has no condition %s with reason %s: %+v", o.GetName(), kind, reason, conditions)
		}
		return ""
	})
	return generation, observed, phase
}

// TestDoubled sets entries twice that a pod may have twice, or that mean the
// same: they are applied, and the last one has effect.
func TestDoubled(t *testing.T) {
	w := newTown(t)
	w.node.Start = nil
	for _, name := range []string{"cert", "corp"} {
		must(t, cluster.Client.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: w.ns}, StringData: map[string]string{"tls.crt": "", "tls.key": ""}}))
	}
	cp := &v1alpha1.CoderControlPlane{ObjectMeta: metav1.ObjectMeta{Name: "main", Namespace: w.ns}}
	cp.Spec.ContainerOptions = doubled()
	cp.Spec.TLS.SecretNames = []string{"cert", "cert"}
	cp.Spec.Certs.Secrets = []v1alpha1.CertSecret{{Name: "corp", Key: "a.pem"}, {Name: "corp", Key: "b.pem"}, {Name: "corp", Key: "a.pem"}}
	cp.Spec.Service.Port = 443
	cp.Spec.Expose = &v1alpha1.ExposeSpec{Ingress: &v1alpha1.IngressSpec{Host: "coder.example.com"}}
	cp.Spec.VolumeMounts = []corev1.VolumeMount{{Name: "own", MountPath: "/etc/ssl/certs/corp.crt"}}
	cp.Spec.Volumes = []corev1.Volume{{Name: "own", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	must(t, cluster.Client.Create(t.Context(), cp))
	w.available(t, "main")
	d := &appsv1.Deployment{}
	w.get(t, "main", d)
	pod := d.Spec.Template.Spec
	env := map[string]string{}
	for _, e := range pod.Containers[0].Env {
		env[e.Name] = e.Value
	}
	if env["LEVEL"] != "last" || env["OTHER"] != "x" || env["CODER_TLS_CERT_FILE"] != "/etc/ssl/certs/coder/cert/tls.crt" {
		t.Errorf("the variables are %v", env)
	}
	if len(pod.ImagePullSecrets) != 1 {
		t.Errorf("the pull secrets are %v", pod.ImagePullSecrets)
	}
	mounts := map[string]string{}
	for _, m := range pod.Containers[0].VolumeMounts {
		mounts[m.MountPath] = m.Name + " " + m.SubPath
	}
	if mounts["/etc/ssl/certs/corp.crt"] != "own " || mounts["/etc/ssl/certs/corp_b.pem.crt"] != "ca-cert-corp b.pem" || len(mounts) != 3 {
		t.Errorf("the mounts are %v", mounts)
	}
	service := &corev1.Service{}
	w.get(t, "main", service)
	if p := service.Spec.Ports; len(p) != 1 || p[0].Name != "https" || p[0].Port != 443 {
		t.Errorf("the ports are %+v", p)
	}
	ingress := &networkingv1.Ingress{}
	w.get(t, "main", ingress)
	if b := ingress.Spec.Rules[0].HTTP.Paths[0].Backend.Service; b.Port.Name != "https" {
		t.Errorf("the Ingress leads to %+v", b)
	}

	p := w.proxyWithToken(t, "sydney", doubled())
	w.state(t, p, v1alpha1.ConditionDeploymentReady, "Ready")
	if p.Status.ObservedGeneration != p.Generation || p.Status.Phase != v1alpha1.PhaseReady {
		t.Errorf("the proxy is %+v", p.Status)
	}
}

// TestDoubledPool sets entries of a pool twice.
func TestDoubledPool(t *testing.T) {
	w := newTown(t)
	w.controlPlane(t)
	w.pool(t, "twice", func(s *v1alpha1.CoderProvisionerSpec) { s.ContainerOptions = doubled() })
	w.become(t, "twice", ready)
}

// TestRefusedSpec changes each kind to a specification of which the API server
// refuses an object: a condition and an event say so, the resource is not
// ready, and its generation is observed only once it is applied.
func TestRefusedSpec(t *testing.T) {
	w := newTown(t)
	cp := w.controlPlane(t)
	w.pool(t, "builders", nil)
	pool := w.become(t, "builders", ready)
	proxy := w.proxyWithToken(t, "sydney", v1alpha1.ContainerOptions{})
	w.state(t, proxy, v1alpha1.ConditionDeploymentReady, "Ready")
	for _, c := range []struct {
		object    client.Object
		condition string
		options   *v1alpha1.PodOptions
	}{
		{cp, v1alpha1.ConditionAvailable, &cp.Spec.PodOptions},
		{pool, v1alpha1.ConditionDeploymentReady, &pool.Spec.PodOptions},
		{proxy, v1alpha1.ConditionDeploymentReady, &proxy.Spec.PodOptions},
	} {
		set := func(constraints []corev1.TopologySpreadConstraint) {
			t.Helper()
			kubetest.Until(t, wait, func(ctx context.Context) string {
				must(t, cluster.Client.Get(ctx, client.ObjectKeyFromObject(c.object), c.object))
				c.options.TopologySpreadConstraints = constraints
				if err := cluster.Client.Update(ctx, c.object); err != nil {
					return err.Error()
				}
				return ""
			})
		}
		same := corev1.TopologySpreadConstraint{MaxSkew: 1, TopologyKey: "zone", WhenUnsatisfiable: corev1.ScheduleAnyway}
		set([]corev1.TopologySpreadConstraint{same, same})
		generation, observed, phase := w.state(t, c.object, c.condition, "Refused")
		if observed != generation-1 || phase != v1alpha1.PhasePending {
			t.Errorf("%s: the generation is %d, %d is observed, the phase is %s", c.object.GetName(), generation, observed, phase)
		}
		w.events(t, c.object.GetName(), "Refused")
		set([]corev1.TopologySpreadConstraint{same})
		kubetest.Until(t, wait, func(context.Context) string {
			generation, observed, phase = w.state(t, c.object, c.condition, "Ready")
			if observed != generation || phase != v1alpha1.PhaseReady {
				return fmt.Sprintf("%s: the generation is %d, %d is observed, the phase is %s", c.object.GetName(), generation, observed, phase)
			}
			return ""
		})
	}
}

// TestSecretRefused has the API server refuse the Secret of a key, by a quota:
// it is reported, and the server gets no key for each attempt.
func TestSecretRefused(t *testing.T) {
	w := newTown(t)
	w.controlPlane(t)
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "none", Namespace: w.ns}}
	quota.Spec.Hard = corev1.ResourceList{"count/secrets": {}}
	must(t, cluster.Client.Create(t.Context(), quota))
	quota.Status.Hard, quota.Status.Used = quota.Spec.Hard, corev1.ResourceList{"count/secrets": {}}
	must(t, cluster.Client.Status().Update(t.Context(), quota))
	kubetest.Until(t, wait, func(ctx context.Context) string {
		s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "probe", Namespace: w.ns}}
		if err := cluster.Client.Create(ctx, s, client.DryRunAll); !apierrors.IsForbidden(err) {
			return "the quota has no effect yet"
		}
		return ""
	})
	p := w.pool(t, "poor", nil)
	w.become(t, "poor", condition(v1alpha1.ConditionProvisionerKeySecretReady, "Refused"))
	w.events(t, "poor", "Refused")
	// Every change is another attempt.
	for n := range 3 {
		w.change(t, "poor", func(p *v1alpha1.CoderProvisioner) { p.Spec.Replicas = new(int32(n + 2)) })
		w.state(t, p, v1alpha1.ConditionRBACReady, "Ready")
	}
	if keys := w.keys(t); len(keys) != 1 {
		t.Errorf("there are the keys %+v", keys)
	}
	must(t, cluster.Client.Delete(t.Context(), quota))
	w.become(t, "poor", ready)
	w.onlyKey(t, "poor")
}

// TestInvalid sends the API server specifications that no cluster can apply.
func TestInvalid(t *testing.T) {
	cluster.Need(t)
	t.Parallel()
	ns := cluster.Namespace(t)
	for name, change := range map[string]func(*v1alpha1.CoderControlPlane){
		"two mounts at one path": func(c *v1alpha1.CoderControlPlane) {
			c.Spec.VolumeMounts = []corev1.VolumeMount{{Name: "a", MountPath: "/a"}, {Name: "b", MountPath: "/a"}}
		},
		"two volumes of one name":   func(c *v1alpha1.CoderControlPlane) { c.Spec.Volumes = []corev1.Volume{{Name: "a"}, {Name: "a"}} },
		"a Secret that cannot be":   func(c *v1alpha1.CoderControlPlane) { c.Spec.OperatorAccess.GeneratedTokenSecretName = "Not_A_Name" },
		"an account that cannot be": func(c *v1alpha1.CoderControlPlane) { c.Spec.ServiceAccount.Name = "Not_A_Name" },
	} {
		c := &v1alpha1.CoderControlPlane{ObjectMeta: metav1.ObjectMeta{Name: "main", Namespace: ns}}
		change(c)
		if err := cluster.Client.Create(t.Context(), c); !apierrors.IsInvalid(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
