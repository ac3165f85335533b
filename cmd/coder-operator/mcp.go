package main

import (
	"context"
	"crypto/tls"
	"flag"
	"fmt"
	"net"
	"os"
	"strconv"

	"k8s.io/apiserver/pkg/server/dynamiccertificates"

	"github.com/seed-2a7f8fe7/coder/internal/operator"
	"github.com/seed-2a7f8fe7/coder/internal/operator/mcphttp"
)

// mcpServer is the configuration of the MCP server. Its certificate comes from the
// same files as that of the aggregated API server, or from a Secret of its own.
type mcpServer struct {
	certificate aggregation
	port        int
	plain       bool
	service     string
	allowed     string
}

// mcpFlags declares the flags of the MCP server.
func mcpFlags(f *flag.FlagSet) *mcpServer {
	m := &mcpServer{}
	f.IntVar(&m.port, "mcp-port", 8090, "port of the MCP server")
	f.BoolVar(&m.plain, "mcp-plain-http", false, "serve MCP over HTTP instead of HTTPS, behind a proxy that ends TLS")
	f.StringVar(&m.service, "mcp-service-name", "coder-mcp", "name of the Service of the MCP server")
	f.StringVar(&m.allowed, "mcp-allowed-tools", os.Getenv("CODER_MCP_ALLOWED_TOOLS"),
		"comma-separated names of the MCP tools to serve; empty means all ($CODER_MCP_ALLOWED_TOOLS)")
	return m
}

// run serves MCP until ctx ends.
func (m *mcpServer) run(ctx context.Context, c operator.Config) error {
	config := mcphttp.Config{Rest: c.Rest, Log: c.Log, Allowed: split(m.allowed)}
	if !m.plain {
		a := m.certificate
		a.service, a.secret, a.apiName = m.service, m.service+"-certificate", ""
		provider, err := a.provider(ctx, c)
		if err != nil {
			return err
		}
		if refreshed, ok := provider.(interface{ Run(context.Context, int) }); ok {
			go refreshed.Run(ctx, 1)
		}
		config.TLS = serverTLS(provider)
	}
	var err error
	if config.Listener, err = net.Listen("tcp", ":"+strconv.Itoa(m.port)); err != nil {
		return fmt.Errorf("--mcp-port: %w", err)
	}
	return mcphttp.Run(ctx, config)
}

// serverTLS returns a configuration with the certificate that the provider has at
// the time of each connection.
func serverTLS(p dynamiccertificates.CertKeyContentProvider) *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		pair, err := tls.X509KeyPair(p.CurrentCertKeyContent())
		return &pair, err
	}}
}
