package reconcile

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
)

// Authorities returns, as PEM, the CA certificates for the certificate of a
// control plane that serves HTTPS: those of its specification, and the ca.crt
// beside its own certificate, as cert-manager stores it. Secrets that do not
// exist yet are skipped.
func (c Config) Authorities(ctx context.Context, cp *v1alpha1.CoderControlPlane) (string, error) {
	if len(cp.Spec.TLS.SecretNames) == 0 {
		return "", nil
	}
	var out strings.Builder
	add := func(name, key string) error {
		s := &corev1.Secret{}
		if err := c.Read(ctx, cp.Namespace, name, s); err != nil {
			return client.IgnoreNotFound(err)
		}
		if pem := strings.TrimSpace(string(s.Data[key])); pem != "" {
			out.WriteString(pem + "\n")
		}
		return nil
	}
	for _, s := range cp.Spec.TLS.SecretNames {
		if err := add(s, "ca.crt"); err != nil {
			return "", err
		}
	}
	for _, s := range cp.Spec.Certs.Secrets {
		if err := add(s.Name, s.Key); err != nil {
			return "", err
		}
	}
	return out.String(), nil
}
