package kubetest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// configureFrontProxy configures the client certificate with which the API server
// forwards requests to aggregated API servers, as real clusters do. remove deletes
// the files of the certificate.
func configureFrontProxy(e *envtest.Environment) (remove func(), err error) {
	dir, err := os.MkdirTemp("", "front-proxy-")
	if err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "front-proxy"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		BasicConstraintsValid: true, IsCA: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	crt, pkey := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	if err := os.WriteFile(crt, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		return nil, err
	}
	if err := os.WriteFile(pkey, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600); err != nil {
		return nil, err
	}
	args := e.ControlPlane.GetAPIServer().Configure()
	for flag, value := range map[string]string{
		"proxy-client-cert-file": crt, "proxy-client-key-file": pkey, "requestheader-client-ca-file": crt, "requestheader-allowed-names": "front-proxy",
		"requestheader-username-headers": "X-Remote-User", "requestheader-group-headers": "X-Remote-Group", "requestheader-extra-headers-prefix": "X-Remote-Extra-",
	} {
		args.Set(flag, value)
	}
	return func() { os.RemoveAll(dir) }, nil //nolint:errcheck // a temporary directory
}

// Aggregate registers the aggregated API and its RBAC rules with the manifests of
// deploy/operator/aggregation. The API server forwards requests to a port of this
// machine instead of pods.
func (c *Cluster) Aggregate(t testing.TB, port int) {
	t.Helper()
	c.Need(t)
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.install(root, "aggregation/rbac.yaml"); err != nil {
		t.Fatal(err)
	}
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "coder-operator", Name: "coder-aggregated-apiserver"}}
	s.Spec.Type, s.Spec.ExternalName = corev1.ServiceTypeExternalName, "localhost"
	if err := c.Client.Create(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if err := c.install(root, "aggregation/apiservice.yaml"); err != nil {
		t.Fatal(err)
	}
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"})
	Until(t, 2*time.Minute, func(ctx context.Context) string {
		if err := c.Client.Get(ctx, client.ObjectKey{Name: "v1alpha1.aggregation.coder.com"}, o); err != nil {
			return err.Error()
		}
		if err := unstructured.SetNestedField(o.Object, int64(port), "spec", "service", "port"); err != nil {
			return err.Error()
		}
		if err := c.Client.Update(ctx, o); err != nil {
			return err.Error()
		}
		return ""
	})
}

// AggregatedServer returns a client configuration for the service account of the
// aggregated API server. The account has the rights of
// deploy/operator/aggregation/rbac.yaml.
func (c *Cluster) AggregatedServer() *rest.Config {
	r := c.As("system:serviceaccount:coder-operator:coder-aggregated-apiserver", "system:serviceaccounts", "system:serviceaccounts:coder-operator")
	r.Wrap(c.usedRights.wrapTransport)
	return r
}

// As returns a client configuration that impersonates a user.
func (c *Cluster) As(user string, groups ...string) *rest.Config {
	r := rest.CopyConfig(c.Rest)
	r.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: append(groups, "system:authenticated")}
	return r
}
