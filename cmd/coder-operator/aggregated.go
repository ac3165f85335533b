package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"

	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seed-2a7f8fe7/coder/internal/operator"
	"github.com/seed-2a7f8fe7/coder/internal/operator/aggregated"
	"github.com/seed-2a7f8fe7/coder/internal/operator/serving"
)

// aggregation is the configuration of the aggregated API server.
type aggregation struct {
	port                                int
	certificate, key                    string
	namespace, service, secret, apiName string
}

// aggregationFlags declares the flags of the aggregated API server.
func aggregationFlags(f *flag.FlagSet) *aggregation {
	a := &aggregation{secret: "coder-aggregated-apiserver-certificate", apiName: "v1alpha1.aggregation.coder.com"}
	f.IntVar(&a.port, "secure-port", 6443, "port of the aggregated API server")
	f.StringVar(&a.certificate, "tls-cert-file", "", "TLS certificate of the aggregated API server and of the MCP server; if empty, "+
		"each creates its own. With this flag the APIService must contain the CA bundle")
	f.StringVar(&a.key, "tls-private-key-file", "", "private key of --tls-cert-file")
	f.StringVar(&a.namespace, "service-namespace", defaultNamespace(), "namespace of the Services and of the Secrets with the TLS certificates")
	f.StringVar(&a.service, "service-name", "coder-aggregated-apiserver", "name of the Service of the aggregated API server")
	return a
}

// inCluster is the file in which a pod finds its own namespace.
const inCluster = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

func defaultNamespace() string {
	if b, err := os.ReadFile(inCluster); err == nil {
		return strings.TrimSpace(string(b))
	}
	return "coder-operator"
}

// run serves the aggregated API until ctx ends.
func (a *aggregation) run(ctx context.Context, c operator.Config) error {
	scheme, err := operator.Scheme()
	if err != nil {
		return err
	}
	certificate, err := a.provider(ctx, c)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", ":"+strconv.Itoa(a.port))
	if err != nil {
		return fmt.Errorf("--secure-port: %w", err)
	}
	return aggregated.Run(ctx, aggregated.Config{
		Rest: c.Rest, Scheme: scheme, Log: c.Log, HTTP: c.HTTP, Namespaces: c.Namespaces, Listener: l, Certificate: certificate,
	})
}

// provider returns the certificate from the given files, or one that it creates
// and renews itself.
func (a *aggregation) provider(ctx context.Context, c operator.Config) (dynamiccertificates.CertKeyContentProvider, error) {
	if (a.certificate == "") != (a.key == "") {
		return nil, fmt.Errorf("--tls-cert-file and --tls-private-key-file must be set together")
	}
	if a.certificate != "" {
		return dynamiccertificates.NewDynamicServingContentFromFiles("serving", a.certificate, a.key)
	}
	cl, err := client.New(c.Rest, client.Options{})
	if err != nil {
		return nil, err
	}
	k := serving.New(serving.Config{Client: cl, Log: c.Log, Namespace: a.namespace, Service: a.service, Secret: a.secret, APIService: a.apiName})
	return k, k.RunOnce(ctx)
}
