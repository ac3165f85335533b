// Package listen serves HTTP and HTTPS for a process: it opens the listeners,
// loads the certificates, and determines the addresses of clients behind
// reverse proxies.
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

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// TLS holds the settings of HTTPS. Files come in pairs; the certificate is
// chosen by the name that the client requests.
type TLS struct {
	Enable       bool
	Address      string
	CertFiles    []string
	KeyFiles     []string
	ClientCAFile string
	ClientAuth   string // none, request, require-any, verify-if-given, require-and-verify
	MinVersion   string // tls10 .. tls13
	// Ciphers are IANA names; nil means Go's default. Weak suites need
	// AllowInsecureCiphers. The suites of TLS 1.3 are always enabled.
	Ciphers              []string
	AllowInsecureCiphers bool
	// ClientCertFile and ClientKeyFile are the client certificate for requests
	// to other servers; see Transport.
	ClientCertFile, ClientKeyFile string
}

// Served returns the files of the certificates that are served.
func (c TLS) Served() []string {
	if !c.Enable {
		return nil
	}
	return c.CertFiles
}

// Check refuses contradictory settings. address is that of plain HTTP, or "".
func (c TLS) Check(address string) error {
	switch {
	case address == "" && !c.Enable:
		return codersdk.Errorf(codersdk.CodeInvalid, "no address to listen on; set --http-address, or --tls-enable with a certificate")
	case c.Enable && len(c.CertFiles) == 0:
		return codersdk.Errorf(codersdk.CodeInvalid, "--tls-enable requires --tls-cert-file and --tls-key-file")
	case len(c.CertFiles) != len(c.KeyFiles):
		return codersdk.Errorf(codersdk.CodeInvalid, "--tls-cert-file and --tls-key-file come in pairs: got %d and %d", len(c.CertFiles), len(c.KeyFiles))
	}
	if _, _, err := ciphers(c.Ciphers, c.AllowInsecureCiphers); err != nil {
		return err
	}
	if _, err := c.Transport(); err != nil {
		return err
	}
	return Addresses(address, c.Address)
}

// Addresses refuses invalid listen addresses; "" is valid and means none.
func Addresses(all ...string) error {
	for _, a := range all {
		if a == "" {
			continue
		}
		if _, _, err := net.SplitHostPort(a); err != nil {
			return codersdk.Errorf(codersdk.CodeInvalid, "%q is not an address to listen on: use host:port, such as 127.0.0.1:3000", a)
		}
	}
	return nil
}

// Listeners serve HTTP and HTTPS with one handler. Open listens on the
// addresses, so that the access URL is known before anything else starts. Start
// begins to serve; Handler must be set before.
type Listeners struct {
	Handler http.Handler
	log     *slog.Logger
	plain   net.Listener // nil when disabled
	secure  net.Listener // nil when disabled

	server *http.Server
	wg     sync.WaitGroup
}

// Open listens on the addresses. The address of plain HTTP may be "".
func Open(address string, c TLS, log *slog.Logger) (*Listeners, error) {
	l := &Listeners{log: log}
	var err error
	if address != "" {
		if l.plain, err = net.Listen("tcp", address); err != nil {
			return nil, fmt.Errorf("listen on %s: %w; stop the other server, or choose another address with --http-address", address, err)
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

// Close closes listeners that were not started.
func (l *Listeners) Close() error {
	var errs []error
	for _, ln := range []net.Listener{l.plain, l.secure} {
		if ln != nil {
			errs = append(errs, ln.Close())
		}
	}
	return errors.Join(errs...)
}

// Addrs returns the addresses of the listeners, each once.
func (l *Listeners) Addrs() (all []net.Addr) {
	for _, ln := range []net.Listener{l.plain, l.secure} {
		if ln != nil && !slices.Contains(all, ln.Addr()) {
			all = append(all, ln.Addr())
		}
	}
	return all
}

// URL returns the address of the process on its own machine, for use when no
// access URL is configured.
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

// Start begins to serve.
func (l *Listeners) Start(context.Context) error {
	l.server = &http.Server{
		Handler:           boundBodies(bodyGrace, l.Handler),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          log.New(quiet{l.log}, "", 0),
		Protocols:         new(http.Protocols),
	}
	// Behind a proxy without TLS, gRPC to an app arrives over HTTP/2 without
	// TLS.
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

// Stop waits for open requests, then closes the listeners. Hijacked connections
// belong to their owners.
func (l *Listeners) Stop(ctx context.Context) error {
	err := l.server.Shutdown(ctx)
	if err != nil {
		l.server.Close() //nolint:errcheck // Shutdown's error is given
	}
	l.wg.Wait()
	return err
}

// quiet logs the complaints of net/http, mostly about disconnected clients, at
// debug level.
type quiet struct{ log *slog.Logger }

func (q quiet) Write(p []byte) (int, error) {
	q.log.Debug("http server", "message", string(p))
	return len(p), nil
}

func tlsConfig(c TLS) (*tls.Config, error) {
	conf := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
	versions := map[string]uint16{
		"":      tls.VersionTLS12,
		"tls10": tls.VersionTLS10,
		"tls11": tls.VersionTLS11,
		"tls12": tls.VersionTLS12,
		"tls13": tls.VersionTLS13,
	}
	v, ok := versions[c.MinVersion]
	if !ok {
		return nil, codersdk.Errorf(codersdk.CodeInvalid, "--tls-min-version must be tls10, tls11, tls12 or tls13, got %q", c.MinVersion)
	}
	conf.MinVersion = v
	var http2 bool
	var err error
	if conf.CipherSuites, http2, err = ciphers(c.Ciphers, c.AllowInsecureCiphers); err != nil {
		return nil, err
	}
	if !http2 { // Go's HTTP/2 refuses connections with such a suite
		conf.NextProtos = []string{"http/1.1"}
	}
	auths := map[string]tls.ClientAuthType{
		"": tls.NoClientCert, "none": tls.NoClientCert, "request": tls.RequestClientCert, "require-any": tls.RequireAnyClientCert,
		"verify-if-given": tls.VerifyClientCertIfGiven, "require-and-verify": tls.RequireAndVerifyClientCert,
	}
	if conf.ClientAuth, ok = auths[c.ClientAuth]; !ok {
		return nil, codersdk.Errorf(codersdk.CodeInvalid,
			"--tls-client-auth must be none, request, require-any, verify-if-given or require-and-verify, got %q", c.ClientAuth)
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
			return nil, codersdk.Errorf(codersdk.CodeInvalid, "%s holds no PEM certificate", c.ClientCAFile)
		}
	}
	return conf, nil
}
