package shape

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
)

// Trusted is how a pod gets the certificates of authorities.
type Trusted struct {
	Volumes []corev1.Volume
	Mounts  []corev1.VolumeMount
	// Dirs is where the program looks for them, "" for where it always does.
	Dirs string
}

// Certificates mounts Secrets with certificates among the system's.
func Certificates(secrets []v1alpha1.CertSecret) Trusted {
	var t Trusted
	for _, s := range secrets {
		t.add(Name("ca-cert", s.Name), corev1.SecretVolumeSource{SecretName: s.Name},
			corev1.VolumeMount{MountPath: "/etc/ssl/certs/" + s.Name + ".crt", SubPath: s.Key})
	}
	return t
}

// Trust lets a pod know a control plane that answers HTTPS: by the authorities
// that it has itself, and by those that lie beside its certificate, if any do.
func Trust(c *v1alpha1.CoderControlPlane) Trusted {
	if len(c.Spec.TLS.SecretNames) == 0 {
		return Trusted{}
	}
	t := Certificates(c.Spec.Certs.Secrets)
	t.Dirs = "/etc/ssl/certs"
	for _, s := range c.Spec.TLS.SecretNames {
		dir := "/etc/ssl/coder/" + s
		t.add(Name("tls-ca", s), corev1.SecretVolumeSource{
			SecretName: s, Items: []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}}, Optional: new(true),
		}, corev1.VolumeMount{MountPath: dir})
		t.Dirs += ":" + dir
	}
	return t
}

func (t *Trusted) add(name string, s corev1.SecretVolumeSource, m corev1.VolumeMount) {
	m.Name, m.ReadOnly = name, true
	t.Volumes = append(t.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{Secret: &s}})
	t.Mounts = append(t.Mounts, m)
}
