package provisioner

import (
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/operator/podspec"
)

// Name returns the name of all objects of a pool except its Deployment.
func Name(p *v1alpha1.CoderProvisioner) string { return podspec.Name("provisioner", p.Name) }

// deploymentName is Name, short enough that the names of its pods, which are 17
// bytes longer, are valid host names. Provisioners use them as their names at
// the server, so they must be unique.
func deploymentName(p *v1alpha1.CoderProvisioner) string {
	return podspec.Within(63-17, "provisioner", p.Name)
}

func labelsOf(p *v1alpha1.CoderProvisioner) map[string]string {
	return podspec.Labels(component, p.Name)
}

// Selector returns the labels of the pool's pods.
func Selector(p *v1alpha1.CoderProvisioner) map[string]string {
	return podspec.Selector(component, p.Name)
}

// Secret returns the Secret of a key.
func Secret(p *v1alpha1.CoderProvisioner, secret string, key codersdk.ProvisionerKey) *corev1.Secret {
	ref := SecretRef(p)
	s := &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: podspec.OwnerOf(Kind, p).Meta(ref.Name, labelsOf(p)),
		Type:       corev1.SecretTypeOpaque,
		Data:       map[string][]byte{ref.Key: []byte(secret)},
	}
	s.Annotations = map[string]string{AnnotationKeyID: key.ID.String(), annotationTags: TagsHash(key.Tags)}
	return s
}

// Rights returns the ServiceAccount, Roles and RoleBindings of a pool with these
// pods.
func Rights(p *v1alpha1.CoderProvisioner, g podspec.Grant, pods []corev1.Pod) []client.Object {
	o := podspec.OwnerOf(Kind, p)
	name, account := podspec.Account(o, Name(p), labelsOf(p), p.Spec.ServiceAccount)
	var out []client.Object
	if account != nil {
		out = append(out, account)
	}
	return append(out, podspec.Rights(o, Name(p), append([]string{name}, podspec.FormerAccounts(name, pods)...), labelsOf(p), p.Spec.RBAC, g)...)
}

// Namespaces returns the other namespaces in which templates may create
// workspaces.
func Namespaces(p *v1alpha1.CoderProvisioner) []string {
	out := slices.DeleteFunc(slices.Clone(p.Spec.WorkspaceNamespaces), func(n string) bool { return n == p.Namespace })
	slices.Sort(out)
	return slices.Compact(out)
}

// Workload returns the Deployment of a pool and its PodDisruptionBudget, if it has
// one. f must contain a Secret of this resource.
func Workload(f Facts, replicas int32) []client.Object {
	p := f.Provisioner
	o, ref, selector := podspec.OwnerOf(Kind, p), SecretRef(p), Selector(p)
	account, _ := podspec.Account(o, Name(p), labelsOf(p), p.Spec.ServiceAccount)
	env := []corev1.EnvVar{
		{Name: "CODER_URL", Value: f.ControlPlane.Status.URL},
		podspec.FromSecret("CODER_PROVISIONER_DAEMON_KEY", ref.Name, ref.Key),
	}
	if p.Spec.Concurrency != nil {
		env = append(env, corev1.EnvVar{Name: "CODER_PROVISIONER_DAEMON_CONCURRENCY", Value: strconv.Itoa(int(*p.Spec.Concurrency))})
	}
	trust := podspec.Trust(f.ControlPlane)
	if trust.Dirs != "" {
		env = append(env, corev1.EnvVar{Name: "SSL_CERT_DIR", Value: trust.Dirs})
	}
	image := p.Spec.Image
	if image == "" {
		image = f.ControlPlane.Spec.Image
	}
	pod := podspec.Pod{
		Image: image, Args: []string{"provisioner", "start"}, Env: env, Account: account,
		Container: p.Spec.ContainerOptions, Options: p.Spec.PodOptions, Grace: p.Spec.TerminationGracePeriodSeconds,
		Priority: p.Spec.PriorityClassName, Volumes: trust.Volumes, Mounts: trust.Mounts,
	}
	meta := metav1.ObjectMeta{
		Labels: podspec.Merge(p.Spec.PodLabels, labelsOf(p)),
		Annotations: podspec.Merge(p.Spec.PodAnnotations, map[string]string{
			AnnotationKeyID:    f.KeyID(),
			annotationChecksum: checksum(f.Secret.Data[ref.Key]),
		}),
	}
	if f.Authorities != "" {
		meta.Annotations[annotationAuthorities] = checksum([]byte(f.Authorities))
	}
	out := []client.Object{&appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: o.Meta(deploymentName(p), labelsOf(p)),
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: selector}, Template: pod.Template(meta),
		},
	}}
	if p.Spec.PodDisruptionBudget != nil {
		out = append(out, Budget(p, *p.Spec.PodDisruptionBudget))
	}
	return out
}

// Budget returns the PodDisruptionBudget of a pool.
func Budget(p *v1alpha1.CoderProvisioner, s v1alpha1.DisruptionSpec) *policyv1.PodDisruptionBudget {
	return podspec.Disruption(podspec.OwnerOf(Kind, p), Name(p), labelsOf(p), Selector(p), s)
}
