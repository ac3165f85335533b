package listen

import (
	"crypto/tls"
	"fmt"
	"net/http"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// Transport returns the transport for requests to other servers:
// http.DefaultTransport with the client certificate of c, which is sent to
// servers that ask for one.
func (c TLS) Transport() (*http.Transport, error) {
	t := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // documented to be an *http.Transport
	if c.ClientCertFile == "" && c.ClientKeyFile == "" {
		return t, nil
	}
	if c.ClientCertFile == "" || c.ClientKeyFile == "" {
		return nil, codersdk.Errorf(codersdk.CodeInvalid, "--tls-client-cert-file and --tls-client-key-file come in pairs; set both")
	}
	cert, err := tls.LoadX509KeyPair(c.ClientCertFile, c.ClientKeyFile)
	if err != nil {
		return nil, fmt.Errorf("load the TLS client certificate %s with its key: %w", c.ClientCertFile, err)
	}
	t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{cert}}
	return t, nil
}
