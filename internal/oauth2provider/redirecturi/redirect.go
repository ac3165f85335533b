// Package redirecturi is the rules for redirect URIs of OAuth2 applications: which an
// application may register, and which of a request equals a registered one (RFC 8252,
// sections 7 and 8.4).
package redirecturi

import (
	"net/url"
	"slices"
	"strings"
	"unicode"
)

// Bounds of redirect URIs.
const (
	maxRedirects      = 32
	maxRedirectLength = 2048 // bytes
)

// OutOfBand is the redirect URI of applications that cannot receive a redirect: the user copies the code from a page
// of this server.
const OutOfBand = "urn:ietf:wg:oauth:2.0:oob"

// Schemes that no redirect URI can have, because a browser would run, open or download content with them.
var (
	refusedSchemes       = []string{"javascript", "data", "file", "ftp", "vbscript", "blob", "about", "view-source", "ws", "wss"}
	refusedPublicSchemes = []string{"mailto", "tel", "sms"}
)

// CheckAll checks the redirect URIs of an application. The reason is "" if they are valid.
func CheckAll(uris []string, public bool) (reason string) {
	switch {
	case len(uris) == 0:
		return "at least one redirect URI is required"
	case len(uris) > maxRedirects:
		return "at most 32 redirect URIs are allowed"
	}
	for i, uri := range uris {
		if reason := Check(uri, public); reason != "" {
			return Clip(uri) + " " + reason
		}
		if slices.Contains(uris[:i], uri) {
			return Clip(uri) + " is listed twice"
		}
	}
	return ""
}

// Check returns what is wrong with a redirect URI, "" if it is valid.
func Check(uri string, public bool) (reason string) {
	u, err := url.Parse(uri)
	switch {
	case uri == OutOfBand:
		return ""
	case len(uri) > maxRedirectLength:
		return "is longer than 2048 bytes"
	case err != nil || u.Scheme == "" || strings.ContainsFunc(uri, notInURI):
		return "is not an absolute URI"
	case strings.Contains(uri, "#"):
		return "has a fragment, which is not allowed"
	case u.User != nil:
		return "has user information, which is not allowed"
	case slices.Contains(refusedSchemes, u.Scheme), public && slices.Contains(refusedPublicSchemes, u.Scheme):
		return "has a scheme that is not allowed"
	case u.Scheme == "https" && u.Hostname() == "", u.Scheme == "http" && u.Hostname() == "":
		return "has no host"
	case u.Scheme == "http" && !isLoopback(u) && (public || !strings.HasSuffix(u.Hostname(), ".localhost")):
		return "must use https: http: is allowed for localhost, 127.0.0.1 and [::1] only"
	case u.Opaque != "" || u.Host == "" && u.Path == "":
		return "must have a host or a path that starts with a slash"
	}
	return ""
}

// notInURI reports whether a character cannot be in a URI, or is understood differently by different parsers.
func notInURI(r rune) bool {
	return r > unicode.MaxASCII || unicode.IsControl(r) || strings.ContainsRune(" \"<>\\^`{|}", r)
}

// isLoopback reports whether a URI leads to a program on the user's computer.
func isLoopback(u *url.URL) bool {
	return u.Scheme == "http" && slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, u.Hostname())
}

// Match reports whether a redirect URI of a request is one of the registered URIs. It must be equal, except
// that a program on the user's computer can listen on any port.
func Match(registered []string, uri string) bool {
	return slices.ContainsFunc(registered, func(known string) bool { return known == uri || equalButPort(known, uri) })
}

func equalButPort(known, uri string) bool {
	k, err := url.Parse(known)
	if err != nil || !isLoopback(k) {
		return false
	}
	u, err := url.Parse(uri)
	if err != nil || !isLoopback(u) || Check(uri, true) != "" || u.Hostname() != k.Hostname() {
		return false
	}
	u.Host = k.Host
	return u.String() == k.String() && strings.Contains(uri, "?") == strings.Contains(known, "?")
}

// WithQuery adds parameters to a redirect URI and keeps those it has.
func WithQuery(uri string, add url.Values) string {
	separator := "?"
	if strings.Contains(uri, "?") {
		separator = "&"
	}
	return strings.TrimRight(uri, "?&") + separator + add.Encode()
}

// Clip bounds a text of a request in a message to 100 bytes.
func Clip(s string) string {
	if len(s) > 100 {
		s = s[:100] + "..."
	}
	return strings.ToValidUTF8(s, "")
}

// TrimSlash removes slashes at the end of a URI.
func TrimSlash(s string) string { return strings.TrimRight(s, "/") }
