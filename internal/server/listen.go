package server

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/seed-2a7f8fe7/coder"
)

// listeners answers HTTP and HTTPS with one handler. The addresses are taken
// by listen, so that the access URL is known before anything else starts;
// Start begins to answer.
type listeners struct {
	handler http.Handler
	log     *slog.Logger
	plain   net.Listener // nil when off
	secure  net.Listener // nil when off

	server *http.Server
	wg     sync.WaitGroup
}

func listen(c Config) (*listeners, error) {
	l := &listeners{log: c.Log}
	var err error
	if c.HTTPAddress != "" {
		if l.plain, err = net.Listen("tcp", c.HTTPAddress); err != nil {
			return nil, fmt.Errorf("listen on %s: %w: is another server running there? Choose another with --http-address", c.HTTPAddress, err)
		}
	}
	if c.TLS.Enable {
		conf, err := tlsConfig(c.TLS)
		if err != nil {
			return nil, errors.Join(err, l.close())
		}
		ln, err := net.Listen("tcp", c.TLS.Address)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("listen on %s: %w", c.TLS.Address, err), l.close())
		}
		l.secure = tls.NewListener(ln, conf)
	}
	return l, nil
}

func (l *listeners) close() error {
	var errs []error
	for _, ln := range []net.Listener{l.plain, l.secure} {
		if ln != nil {
			errs = append(errs, ln.Close())
		}
	}
	return errors.Join(errs...)
}

// url gives the address under which this server can be reached from its own
// machine, for when no access URL is configured.
func (l *listeners) url() string {
	scheme, ln := "http", l.plain
	if ln == nil {
		scheme, ln = "https", l.secure
	}
	a := ln.Addr().(*net.TCPAddr)
	host := a.IP.String()
	if a.IP.IsUnspecified() {
		host = "127.0.0.1"
	}
	return scheme + "://" + net.JoinHostPort(host, fmt.Sprint(a.Port))
}

// Start begins to answer.
func (l *listeners) Start(context.Context) error {
	l.server = &http.Server{
		Handler:           l.handler,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          log.New(quiet{l.log}, "", 0),
		Protocols:         new(http.Protocols),
	}
	// gRPC to an app comes by HTTP/2, behind a proxy without TLS.
	l.server.Protocols.SetHTTP1(true)
	l.server.Protocols.SetHTTP2(true)
	l.server.Protocols.SetUnencryptedHTTP2(true)
	for _, ln := range []net.Listener{l.plain, l.secure} {
		if ln == nil {
			continue
		}
		l.wg.Go(func() {
			l.server.Serve(ln) //nolint:errcheck // always http.ErrServerClosed after Stop
		})
	}
	return nil
}

// Stop lets requests end, then closes. Hijacked connections are their owners'.
func (l *listeners) Stop(ctx context.Context) error {
	err := l.server.Shutdown(ctx)
	if err != nil {
		l.server.Close() //nolint:errcheck // Shutdown's error is given
	}
	l.wg.Wait()
	return err
}

// quiet logs what net/http complains of (mostly clients that hang up) at debug.
type quiet struct{ log *slog.Logger }

func (q quiet) Write(p []byte) (int, error) {
	q.log.Debug("http server", "message", string(p))
	return len(p), nil
}

func tlsConfig(c TLS) (*tls.Config, error) {
	conf := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
	versions := map[string]uint16{"": tls.VersionTLS12, "tls10": tls.VersionTLS10, "tls11": tls.VersionTLS11, "tls12": tls.VersionTLS12, "tls13": tls.VersionTLS13}
	v, ok := versions[c.MinVersion]
	if !ok {
		return nil, coder.Errorf(coder.CodeInvalid, "--tls-min-version must be tls10, tls11, tls12 or tls13, got %q", c.MinVersion)
	}
	conf.MinVersion = v
	auths := map[string]tls.ClientAuthType{
		"": tls.NoClientCert, "none": tls.NoClientCert, "request": tls.RequestClientCert, "require-any": tls.RequireAnyClientCert,
		"verify-if-given": tls.VerifyClientCertIfGiven, "require-and-verify": tls.RequireAndVerifyClientCert,
	}
	if conf.ClientAuth, ok = auths[c.ClientAuth]; !ok {
		return nil, coder.Errorf(coder.CodeInvalid, "--tls-client-auth must be none, request, require-any, verify-if-given or require-and-verify, got %q", c.ClientAuth)
	}
	for i := range c.CertFiles {
		cert, err := tls.LoadX509KeyPair(c.CertFiles[i], c.KeyFiles[i])
		if err != nil {
			return nil, fmt.Errorf("load the TLS certificate %s with its key: %w", c.CertFiles[i], err)
		}
		conf.Certificates = append(conf.Certificates, cert)
	}
	if c.ClientCAFile != "" {
		pem, err := os.ReadFile(c.ClientCAFile)
		if err != nil {
			return nil, fmt.Errorf("read the TLS client CA: %w", err)
		}
		conf.ClientCAs = x509.NewCertPool()
		if !conf.ClientCAs.AppendCertsFromPEM(pem) {
			return nil, coder.Errorf(coder.CodeInvalid, "%s holds no PEM certificate", c.ClientCAFile)
		}
	}
	return conf, nil
}
