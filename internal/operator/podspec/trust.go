package podspec

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
)

// Trusted describes how a pod receives CA certificates.
type Trusted struct {
	Volumes []corev1.Volume
	Mounts  []corev1.VolumeMount
	// Dirs is SSL_CERT_DIR, "" for the default.
	Dirs string
}

// Certificates mounts the Secrets with CA certificates among the system's.
func Certificates(secrets []v1alpha1.CertSecret) Trusted {
	var t Trusted
	mounted := map[string]bool{}
	for _, s := range Unique(secrets) {
		name, file := Name("ca-cert", s.Name), s.Name
		mount := corev1.VolumeMount{Name: name, ReadOnly: true, SubPath: s.Key}
		if mounted[s.Name] {
			// A further key of the Secret. Names of Secrets have no underscore.
			mount.MountPath = "/etc/ssl/certs/" + file + "_" + s.Key + ".crt"
			t.Mounts = append(t.Mounts, mount)
			continue
		}
		mounted[s.Name] = true
		mount.MountPath = "/etc/ssl/certs/" + file + ".crt"
		t.add(name, corev1.SecretVolumeSource{SecretName: s.Name}, mount)
	}
	return t
}

// Trust makes a pod trust a control plane that serves HTTPS: by the CA
// certificates of its specification, and by ca.crt beside its own certificate.
func Trust(c *v1alpha1.CoderControlPlane) Trusted {
	if len(c.Spec.TLS.SecretNames) == 0 {
		return Trusted{}
	}
	t := Certificates(c.Spec.Certs.Secrets)
	t.Dirs = "/etc/ssl/certs"
	for _, s := range Unique(c.Spec.TLS.SecretNames) {
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
