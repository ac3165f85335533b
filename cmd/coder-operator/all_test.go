package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
	"github.com/seed-2a7f8fe7/coder/internal/listen"
	"github.com/seed-2a7f8fe7/coder/internal/operator"
	"github.com/seed-2a7f8fe7/coder/internal/operator/kubetest"
	"github.com/seed-2a7f8fe7/coder/internal/postgrestest"
	"github.com/seed-2a7f8fe7/coder/internal/server"
	"github.com/seed-2a7f8fe7/coder/internal/server/database"
	"github.com/seed-2a7f8fe7/coder/internal/server/network"
	"github.com/seed-2a7f8fe7/coder/internal/server/sessions"
	"github.com/seed-2a7f8fe7/coder/internal/server/workspaces"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

var cluster *kubetest.Cluster

func TestMain(m *testing.M) {
	scheme, err := operator.Scheme()
	if err != nil {
		panic(err)
	}
	os.Exit(kubetest.Main(m, scheme, func(c *kubetest.Cluster) int {
		cluster = c
		return m.Run()
	}))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// authority makes one, and a certificate of it for a name as files of dir; it
// gives the authority's own.
func authority(t *testing.T, dir, name string) []byte {
	t.Helper()
	make1 := func(c, by *x509.Certificate, key, byKey *ecdsa.PrivateKey) []byte {
		c.NotBefore, c.NotAfter, c.BasicConstraintsValid = time.Now().Add(-time.Hour), time.Now().Add(time.Hour), true
		der, err := x509.CreateCertificate(rand.Reader, c, by, &key.PublicKey, byKey)
		must(t, err)
		return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	}
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	ca := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ours"}, IsCA: true, KeyUsage: x509.KeyUsageCertSign}
	own := make1(ca, ca, caKey, caKey)
	leaf := make1(&x509.Certificate{SerialNumber: big.NewInt(2), DNSNames: []string{name}, KeyUsage: x509.KeyUsageDigitalSignature}, ca, key, caKey)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "tls.crt"), leaf, 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "tls.key"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600))
	return own
}

// free returns an address that nobody listens at.
func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close() //nolint:errcheck // it was asked for its address
	return l.Addr().String()
}

type pod struct{ s *server.Server }

// Stop ends the server.
func (p pod) Stop() {
	ctx, cancel := context.WithTimeout(context.Background(), testwait.Limit)
	defer cancel()
	_ = p.s.Stop(ctx) // the test ends
}

// tryMCP sends a request without a token to the MCP server and returns why it is not
// refused over TLS with the certificate of the server's Secret.
func tryMCP(ctx context.Context, port int) string {
	s := &corev1.Secret{}
	if err := cluster.Client.Get(ctx, client.ObjectKey{Namespace: "coder-operator", Name: "coder-mcp-certificate"}, s); err != nil {
		return err.Error()
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(s.Data["tls.crt"])
	secure := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "coder-mcp.coder-operator.svc"}, DisableKeepAlives: true}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, fmt.Sprintf("https://127.0.0.1:%d/mcp", port), nil)
	if err != nil {
		return err.Error()
	}
	r, err := (&http.Client{Transport: secure}).Do(request)
	if err != nil {
		return err.Error()
	}
	defer r.Body.Close() //nolint:errcheck // only its status is of interest
	if r.StatusCode != http.StatusUnauthorized {
		return r.Status
	}
	return ""
}

// TestAll runs everything that the program is in one process: the controllers
// make a control plane that answers HTTPS with the certificate of an authority
// of the cluster's own, and the aggregated API server shows what it has.
func TestAll(t *testing.T) {
	cluster.Need(t)
	ctx := t.Context()
	ns, dir, at, databaseURL := cluster.Namespace(t), t.TempDir(), free(t), postgrestest.URL(t)
	host := "main." + ns + ".svc.cluster.local"
	ca := authority(t, dir, host)
	access, err := url.Parse("https://" + host)
	must(t, err)
	node := &kubetest.Node{Cluster: cluster, Namespace: ns, Start: func(_ *corev1.Pod, env map[string]string) (kubetest.Process, error) {
		s, err := server.New(server.Config{
			Version: "v2.37.0-test", Log: slog.New(slog.DiscardHandler), ConfigDir: dir, CacheDir: dir,
			Database:   database.Config{URL: databaseURL},
			Sessions:   sessions.Config{OperatorToken: env["CODER_OPERATOR_TOKEN"]},
			Workspaces: workspaces.Config{HostnameSuffix: "coder"},
			Network: network.Config{AccessURL: access, TLS: listen.TLS{
				Enable: true, Address: at, CertFiles: []string{filepath.Join(dir, "tls.crt")}, KeyFiles: []string{filepath.Join(dir, "tls.key")},
			}},
		})
		if err != nil {
			return nil, err
		}
		return pod{s}, s.Start(context.Background())
	}}
	node.Run(t)

	a := &aggregation{
		namespace: "coder-operator", service: "coder-aggregated-apiserver", secret: "coder-aggregated-apiserver-certificate", apiName: "v1alpha1.aggregation.coder.com",
	}
	_, port, err := net.SplitHostPort(free(t))
	must(t, err)
	_, err = fmt.Sscan(port, &a.port)
	must(t, err)
	cluster.Aggregate(t, a.port)
	m := &mcpServer{certificate: *a, service: "coder-mcp"}
	_, port, err = net.SplitHostPort(free(t))
	must(t, err)
	_, err = fmt.Sscan(port, &m.port)
	must(t, err)
	chosen, err := selectApps("all", apps(a, m))
	must(t, err)
	running, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- runAll(running, chosen, operator.Config{
			Rest: cluster.Rest, Log: slog.New(slog.DiscardHandler), Namespaces: []string{ns}, ProbeAddress: "0", MetricsAddress: "0", SkipNameValidation: true,
			HTTP: &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, network, at) // as the cluster's network would
			}}},
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error("it ended:", err)
		}
	})

	read := func(name string) []byte {
		b, err := os.ReadFile(filepath.Join(dir, name))
		must(t, err)
		return b
	}
	must(t, cluster.Client.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "cert", Namespace: ns}, Data: map[string][]byte{"tls.crt": read("tls.crt"), "tls.key": read("tls.key"), "ca.crt": ca},
	}))
	cp := &v1alpha1.CoderControlPlane{ObjectMeta: metav1.ObjectMeta{Name: "main", Namespace: ns}}
	cp.Spec.TLS.SecretNames = []string{"cert"}
	must(t, cluster.Client.Create(ctx, cp))
	kubetest.Until(t, time.Minute, func(ctx context.Context) string {
		must(t, cluster.Client.Get(ctx, client.ObjectKeyFromObject(cp), cp))
		if !cp.Status.OperatorAccessReady || cp.Status.Phase != v1alpha1.PhaseReady {
			return fmt.Sprintf("not ready: %+v", cp.Status)
		}
		return ""
	})
	d, err := dynamic.NewForConfig(cluster.Rest)
	must(t, err)
	templates := d.Resource(schema.GroupVersionResource{Group: "aggregation.coder.com", Version: "v1alpha1", Resource: "codertemplates"}).Namespace(ns)
	kubetest.Until(t, time.Minute, func(ctx context.Context) string {
		if _, err := templates.List(ctx, metav1.ListOptions{}); err != nil {
			return err.Error()
		}
		return ""
	})
	kubetest.Until(t, time.Minute, func(ctx context.Context) string { return tryMCP(ctx, m.port) })
	bad := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "aggregation.coder.com/v1alpha1", "kind": "CoderTemplate", "metadata": map[string]any{"name": "nowhere.t"},
		"spec": map[string]any{"versionID": "6f1c1f5e-0000-4000-8000-000000000000"},
	}}
	if _, err := templates.Create(ctx, bad, metav1.CreateOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("a template of an organization that is not there: %v", err)
	}
}
