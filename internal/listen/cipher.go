package listen

import (
	"crypto/tls"
	"slices"
	"strings"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// ciphers returns the identifiers of the named cipher suites, and whether
// HTTP/2 allows all of them (RFC 9113, section 9.2.2). For nil names it returns
// nil, which means Go's default. A weak suite needs insecure.
func ciphers(names []string, insecure bool) (ids []uint16, http2 bool, err error) {
	http2 = true
	for _, name := range names {
		byName := func(s *tls.CipherSuite) bool { return strings.EqualFold(s.Name, strings.TrimSpace(name)) }
		secure := tls.CipherSuites()
		at := slices.IndexFunc(secure, byName)
		if at >= 0 {
			ids = append(ids, secure[at].ID)
			http2 = http2 && (forHTTP2(secure[at].Name) || slices.Equal(secure[at].SupportedVersions, []uint16{tls.VersionTLS13}))
			continue
		}
		weak := tls.InsecureCipherSuites()
		at = slices.IndexFunc(weak, byName)
		switch {
		case at < 0:
			return nil, false, codersdk.Errorf(codersdk.CodeInvalid, "--tls-ciphers: %q is not a cipher suite; choose from %s",
				name, strings.Join(cipherNames(), ", "))
		case !insecure:
			return nil, false, codersdk.Errorf(codersdk.CodeInvalid,
				"--tls-ciphers: %s is weak; remove it, or allow it with --tls-allow-insecure-ciphers", weak[at].Name)
		}
		ids, http2 = append(ids, weak[at].ID), false
	}
	return ids, http2, nil
}

// forHTTP2 reports whether HTTP/2 allows a TLS 1.2 suite.
func forHTTP2(name string) bool {
	return strings.Contains(name, "ECDHE") && (strings.Contains(name, "GCM") || strings.Contains(name, "CHACHA20"))
}

// cipherNames returns the names of the secure suites.
func cipherNames() (names []string) {
	for _, s := range tls.CipherSuites() {
		names = append(names, s.Name)
	}
	return names
}
