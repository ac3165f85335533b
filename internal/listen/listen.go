// Package listen is how a process answers HTTP: at which addresses, with which
// certificates, and whose addresses its clients have, which reverse proxies
// before it may know better.
package listen

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
	"slices"
	"sync"
	"time"

	"github.com/seed-2a7f8fe7/coder"
)

// TLS says how HTTPS is answered. Files come in pairs; a certificate is chosen
// by the name that the client asks for.
type TLS struct {
	Enable       bool
	Address      string
	CertFiles    []string
	KeyFiles     []string
	ClientCAFile string
	ClientAuth   string // none, request, require-any, verify-if-given, require-and-verify
	MinVersion   string // tls10 .. tls13
}

// Check refuses what contradicts itself; address is that of plain HTTP, or "".
func (c TLS) Check(address string) error {
	switch {
	case address == "" && !c.Enable:
		return coder.Errorf(coder.CodeInvalid, "the server would listen nowhere: give --http-address, or --tls-enable with a certificate")
	case c.Enable && len(c.CertFiles) == 0:
		return coder.Errorf(coder.CodeInvalid, "--tls-enable needs --tls-cert-file and --tls-key-file")
	case len(c.CertFiles) != len(c.KeyFiles):
		return coder.Errorf(coder.CodeInvalid, "--tls-cert-file and --tls-key-file come in pairs: got %d and %d", len(c.CertFiles), len(c.KeyFiles))
	}
	return Addresses(address, c.Address)
}

// Addresses refuses what is no address to listen on; "" is none, and well.
func Addresses(all ...string) error {
	for _, a := range all {
		if a == "" {
			continue
		}
		if _, _, err := net.SplitHostPort(a); err != nil {
			return coder.Errorf(coder.CodeInvalid, "%q is not an address to listen on: use host:port, such as 127.0.0.1:3000", a)
		}
	}
	return nil
}

// Listeners answer HTTP and HTTPS with one handler. The addresses are taken
// by Open, so that the access URL is known before anything else starts;
// Start, before which Handler is set, begins to answer.
type Listeners struct {
	Handler http.Handler
	log     *slog.Logger
	plain   net.Listener // nil when off
	secure  net.Listener // nil when off

	server *http.Server
	wg     sync.WaitGroup
}

// Open takes the addresses; the one of plain HTTP may be "".
func Open(address string, c TLS, log *slog.Logger) (*Listeners, error) {
	l := &Listeners{log: log}
	var err error
	if address != "" {
		if l.plain, err = net.Listen("tcp", address); err != nil {
			return nil, fmt.Errorf("listen on %s: %w: is another server running there? Choose another with --http-address", address, err)
		}
	}
	if c.Enable {
		conf, err := tlsConfig(c)
		if err != nil {
			return nil, errors.Join(err, l.Close())
		}
		ln, err := net.Listen("tcp", c.Address)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("listen on %s: %w", c.Address, err), l.Close())
		}
		l.secure = tls.NewListener(ln, conf)
	}
	return l, nil
}

// Close gives the addresses back, of listeners that were not started.
func (l *Listeners) Close() error {
	var errs []error
	for _, ln := range []net.Listener{l.plain, l.secure} {
		if ln != nil {
			errs = append(errs, ln.Close())
		}
	}
	return errors.Join(errs...)
}

// Addrs gives the addresses that are answered, each once.
func (l *Listeners) Addrs() (all []net.Addr) {
	for _, ln := range []net.Listener{l.plain, l.secure} {
		if ln != nil && !slices.Contains(all, ln.Addr()) {
			all = append(all, ln.Addr())
		}
	}
	return all
}

// URL gives the address under which the process can be reached from its own
// machine, for when no access URL is configured.
func (l *Listeners) URL() string {
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
func (l *Listeners) Start(context.Context) error {
	l.server = &http.Server{
		Handler:           l.Handler,
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
func (l *Listeners) Stop(ctx context.Context) error {
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
