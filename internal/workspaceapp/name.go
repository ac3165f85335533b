package workspaceapp

import (
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// Name is the address of an app or port in a URL. Names are case-insensitive; Key returns the canonical
// form.
type Name struct {
	Owner, Workspace string
	// Agent is "" for the agent that has the app, or the only agent.
	Agent string
	// App is the slug of an app, or a port such as 8080, or 8443s for a port that serves
	// HTTPS.
	App string
}

// Key returns the canonical form of the name.
func (n Name) Key() string {
	return strings.ToLower(n.App + "--" + n.Agent + "--" + n.Workspace + "--" + n.Owner)
}

// Port parses App as a port; ok is false if it is not a port.
func (n Name) Port() (port int, https, ok bool) {
	digits, https := strings.CutSuffix(strings.ToLower(n.App), "s")
	if len(digits) == 0 || len(digits) > 5 || strings.Trim(digits, "0123456789") != "" || digits[0] == '0' {
		return 0, false, false
	}
	port, err := strconv.Atoi(digits)
	return port, https, err == nil && port <= 65535
}

// Hosts is the wildcard host of apps, such as *.apps.example.com or *--apps.example.com. The zero value
// means none. (NET-07)
type Hosts struct {
	suffix string // the part after the star, in lower case
	port   string // for Format, "" for none
}

// ParseHosts parses a wildcard host. It can have a port, which must be that of accessURL, and a scheme,
// which is ignored; "" means none.
func ParseHosts(pattern string, accessURL *url.URL) (Hosts, error) {
	bad := func(why string) (Hosts, error) {
		return Hosts{}, codersdk.Invalid("wildcard-access-url", "%q %s; use a host name such as *.apps.example.com", pattern, why)
	}
	if pattern == "" {
		return Hosts{}, nil
	}
	host := strings.ToLower(strings.TrimSpace(pattern))
	for _, scheme := range []string{"http://", "https://"} {
		host = strings.TrimPrefix(host, scheme)
	}
	host = strings.TrimSuffix(host, "/")
	h := Hosts{port: accessURL.Port()}
	if bare, port, err := net.SplitHostPort(host); err == nil {
		if port != h.port && !(h.port == "" && (port == "80" || port == "443")) {
			return bad("has another port than the access URL")
		}
		host = bare
	}
	suffix, ok := strings.CutPrefix(host, "*")
	first, domain, dotted := strings.Cut(suffix, ".")
	switch {
	case !ok || strings.Contains(suffix, "*"):
		return bad("must start with its only *")
	case !dotted || domain == "" || strings.Trim(domain, ".") != domain:
		return bad("has no domain")
	case strings.Trim(suffix, "abcdefghijklmnopqrstuvwxyz0123456789-.") != "" || strings.Contains(suffix, ".."):
		return bad("is not a host name")
	case first != "" && (!strings.HasPrefix(first, "-") || strings.HasSuffix(first, "-")):
		return bad("must have a dot or a hyphen after the *")
	}
	h.suffix = suffix
	return h, nil
}

// Any reports whether there is a wildcard host.
func (h Hosts) Any() bool { return h.suffix != "" }

// String returns the pattern, with the port unless it is the default; "" for none.
func (h Hosts) String() string {
	if !h.Any() {
		return ""
	}
	return h.withPort("*" + h.suffix)
}

func (h Hosts) withPort(host string) string {
	if h.port != "" {
		return host + ":" + h.port
	}
	return host
}

// Format returns the host and port of the app with the given first label.
func (h Hosts) Format(label string) string { return h.withPort(label + h.suffix) }

// Under reports whether a host, with or without port, matches the wildcard, and returns the part for the
// star.
func (h Hosts) Under(host string) (label string, ok bool) {
	if !h.Any() {
		return "", false
	}
	return strings.CutSuffix(HostName(host), h.suffix)
}

// Parse parses the host of a request. under reports whether it is a host of apps; err then reports an
// invalid name.
func (h Hosts) Parse(host string) (n Name, under bool, err error) {
	label, under := h.Under(host)
	if !under {
		return Name{}, false, nil
	}
	n, err = ParseLabel(label)
	return n, true, err
}

// HostName returns the host name in lower case, without port and trailing dot.
func HostName(host string) string {
	if i := strings.LastIndexByte(host, ':'); i >= 0 && strings.Trim(host[i+1:], "0123456789") == "" {
		host = host[:i]
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// ParseLabel parses the host label of an app or port: slug--agent--workspace--owner, or without the
// agent.
func ParseLabel(label string) (Name, error) {
	bad := codersdk.Errorf(codersdk.CodeNotFound, "This is not the address of an app").
		WithDetail("it has the form slug--agent--workspace--owner, or port--agent--workspace--owner")
	if len(label) > 63 {
		return Name{}, bad
	}
	parts := strings.Split(label, "--")
	for _, p := range parts {
		if !part(p) {
			return Name{}, bad
		}
	}
	switch len(parts) {
	case 3:
		return Name{App: parts[0], Workspace: parts[1], Owner: parts[2]}, nil
	case 4:
		return Name{App: parts[0], Agent: parts[1], Workspace: parts[2], Owner: parts[3]}, nil
	}
	return Name{}, bad
}

// part reports whether s can be one of the names in a label.
func part(s string) bool {
	if s == "" || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	return strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == ""
}

// PathName is the address of a path app: /@owner/workspace[.agent]/apps/slug.
type PathName struct {
	Name
	// Base is the escaped path up to and including the slug.
	Base string
	// Rest is the escaped remainder: "" or a path that starts with /.
	Rest string
}

// ParsePath parses an escaped path; ok is false if it is not that of an app. The four parts can be
// escaped; escaped slashes and dots are rejected.
func ParsePath(escaped string) (p PathName, ok bool) {
	pieces := strings.SplitN(escaped, "/", 6)
	if len(pieces) < 5 || pieces[0] != "" {
		return p, false
	}
	var plain [5]string
	for i := 1; i < 5; i++ {
		s, err := url.PathUnescape(pieces[i])
		if err != nil {
			return p, false
		}
		plain[i] = s
	}
	owner, at := strings.CutPrefix(plain[1], "@")
	workspace, agent, dot := strings.Cut(plain[2], ".")
	if !at || plain[3] != "apps" || !part(owner) || !part(workspace) || dot && !part(agent) || !part(plain[4]) {
		return p, false
	}
	p.Name = Name{Owner: owner, Workspace: workspace, Agent: agent, App: plain[4]}
	p.Base = strings.Join(pieces[:5], "/")
	p.Rest = escaped[len(p.Base):]
	return p, true
}

// Climbs reports whether an escaped path contains a parent directory: dots, plain or escaped, between
// slashes or backslashes, plain or escaped.
func Climbs(escaped string) bool {
	plain, err := url.PathUnescape(escaped)
	if err != nil {
		return true
	}
	for s := range strings.FieldsFuncSeq(plain, func(r rune) bool { return r == '/' || r == '\\' }) {
		if s == ".." {
			return true
		}
	}
	return false
}
