package operator_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/operator/kubetest"
)

// TestHeard has an operator that would not look at a pool at rest for half an
// hour: what changes at the server it hears, by the server's stream of hints.
func TestHeard(t *testing.T) {
	w := newTown(t, quiet)
	w.run(t, cluster.Operator(), w.http(), 30*time.Minute)
	w.controlPlane(t)
	w.pool(t, "elastic", func(s *v1alpha1.CoderProvisionerSpec) {
		s.Tags, s.Autoscaling = map[string]string{"zone": "a"}, &v1alpha1.AutoscalingSpec{MaxReplicas: 3}
	})
	first := w.become(t, "elastic", ready).Status.ProvisionerKeyID
	v := w.job(t, map[string]string{"zone": "a"}, `{"log":{"output":"x"}}`)
	w.ends(t, v, codersdk.ProvisionerJobStatusSucceeded)
	w.events(t, "elastic", "ScaledUp")
	must(t, w.Client.DeleteProvisionerKey(t.Context(), "default", "elastic"))
	w.become(t, "elastic", func(p *v1alpha1.CoderProvisioner) string {
		if p.Status.ProvisionerKeyID == first {
			return "the key that was deleted at the server should be created again"
		}
		return ready(p)
	})
}

// TestScaleSubresource lets another autoscaler, such as KEDA, or kubectl scale
// say how many provisioners there are, by the numbers in the status.
func TestScaleSubresource(t *testing.T) {
	w := newTown(t)
	w.controlPlane(t)
	p := w.pool(t, "pool", func(s *v1alpha1.CoderProvisionerSpec) {
		s.Tags, s.Replicas = map[string]string{"zone": "a"}, new(int32(0))
	})
	w.become(t, "pool", ready)
	w.job(t, map[string]string{"zone": "a"}, `{"sleep":"1s"}`)
	w.job(t, map[string]string{"zone": "a"}, `{"sleep":"1s"}`)
	want := w.become(t, "pool", func(p *v1alpha1.CoderProvisioner) string {
		if p.Status.Queue == nil || p.Status.Queue.Pending != 2 {
			return "two jobs should wait"
		}
		return ""
	}).Status.Queue.RecommendedSlots
	queue, err := w.Client.ProvisionerQueue(t.Context(), "default", nil)
	must(t, err)
	if len(queue.TagSets) != 1 || int(want) != queue.TagSets[0].RecommendedSlots {
		t.Errorf("the status recommends %d slots, the server %+v", want, queue.TagSets)
	}
	scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: want}}
	kubetest.Until(t, wait, func(ctx context.Context) string {
		must(t, cluster.Client.Get(ctx, client.ObjectKeyFromObject(p), p))
		if err := cluster.Client.SubResource("scale").Update(ctx, p, client.WithSubResourceBody(scale)); err != nil {
			return err.Error()
		}
		return ""
	})
	p = w.become(t, "pool", func(p *v1alpha1.CoderProvisioner) string {
		if p.Status.Replicas != want || p.Status.Queue.Pending != 0 {
			return "there should be a pod for each"
		}
		return ready(p)
	})
	must(t, cluster.Client.SubResource("scale").Get(t.Context(), p, scale))
	if scale.Status.Replicas != want || scale.Status.Selector == "" {
		t.Errorf("the scale is %+v", scale.Status)
	}
}

// certificate makes one that signs itself, for a name.
func certificate(t *testing.T, name string) (tls.Certificate, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	must(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// TestPrivateAuthority has a server whose certificate is of an authority that
// only the cluster knows.
func TestPrivateAuthority(t *testing.T) {
	w := newTown(t, quiet)
	pair, authority := certificate(t, "main."+w.ns+".svc.cluster.local")
	far := httptest.NewUnstartedServer(newGate(t, w.AccessURL().String(), nil).Config.Handler)
	far.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	far.StartTLS()
	t.Cleanup(far.CloseClientConnections)
	w.far = far.Listener.Addr().String()
	w.operate(t)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "cert", Namespace: w.ns}, Data: map[string][]byte{"tls.crt": nil, "tls.key": nil}}
	must(t, cluster.Client.Create(t.Context(), secret))
	cp := &v1alpha1.CoderControlPlane{ObjectMeta: metav1.ObjectMeta{Name: "main", Namespace: w.ns}}
	cp.Spec.TLS.SecretNames = []string{"cert"}
	must(t, cluster.Client.Create(t.Context(), cp))
	kubetest.Until(t, wait, func(ctx context.Context) string {
		must(t, cluster.Client.Get(ctx, client.ObjectKeyFromObject(cp), cp))
		if c := meta.FindStatusCondition(cp.Status.Conditions, v1alpha1.ConditionOperatorAccessReady); c == nil || c.Reason != "CertificateRefused" {
			return fmt.Sprintf("the certificate should be refused: %+v", cp.Status.Conditions)
		}
		return ""
	})
	secret.Data["ca.crt"] = authority
	must(t, cluster.Client.Update(t.Context(), secret))
	w.pool(t, "pool", func(s *v1alpha1.CoderProvisionerSpec) { s.Replicas = new(int32(0)) })
	w.become(t, "pool", ready)
	if !strings.HasPrefix(cp.Status.URL, "https://") {
		t.Errorf("the server is at %s", cp.Status.URL)
	}
}
