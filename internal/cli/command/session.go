package command

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/cli/terminal"
	"github.com/seed-2a7f8fe7/coder/internal/option"
)

// Server returns the URL of the server: --url, $CODER_URL, or the stored URL.
func (a *Run) Server() (*url.URL, error) {
	if a.URL != nil {
		return a.URL, nil
	}
	u, err := a.StoredServer()
	if u == nil && err == nil {
		err = NotLoggedIn(nil)
	}
	return u, err
}

// StoredServer returns the URL of the server at which the user last signed in; nil if there is none.
func (a *Run) StoredServer() (*url.URL, error) {
	s, err := a.Stored("url")
	if err != nil || s == "" {
		return nil, err
	}
	u, err := ParseServer(s)
	if err != nil {
		err = Failure("the stored URL is not valid: %v; run 'coder login <url>'", err)
	}
	return u, err
}

// ParseServer parses the URL of a server. Without a scheme it assumes https, or
// http for loopback addresses.
func ParseServer(s string) (*url.URL, error) {
	s = strings.TrimSpace(s)
	if !strings.Contains(s, "://") {
		scheme := "https://"
		if host := strings.Split(s, ":")[0]; host == "localhost" || strings.HasPrefix(host, "127.") {
			scheme = "http://"
		}
		s = scheme + s
	}
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, Failure("%q is not the URL of a server, such as https://coder.example.com", s)
	}
	u.Path = strings.TrimSuffix(u.Path, "/")
	u.RawQuery, u.Fragment = "", ""
	return u, nil
}

// Anonymous returns a client for u without a session token.
func (a *Run) Anonymous(ctx context.Context, u *url.URL) (*codersdk.Client, error) {
	h, err := a.extraHeaders(ctx, u)
	if err != nil {
		return nil, err
	}
	c := codersdk.New(u)
	c.Header = h
	var base http.RoundTripper = http.DefaultTransport
	if a.transport != nil {
		base = a.transport
	}
	c.HTTP = &http.Client{Transport: &versionCheck{app: a, base: base}, CheckRedirect: a.checkRedirect}
	return c, nil
}

// Client returns a client with the user's session.
func (a *Run) Client(ctx context.Context) (*codersdk.Client, error) {
	u, err := a.Server()
	if err != nil {
		return nil, err
	}
	c, err := a.Anonymous(ctx, u)
	if err != nil {
		return nil, err
	}
	c.SessionToken = a.Token
	if c.SessionToken == "" {
		if c.SessionToken, err = a.Session(u); err != nil {
			return nil, err
		}
	}
	if c.SessionToken == "" {
		return nil, NotLoggedIn(u)
	}
	return c, nil
}

// notLoggedIn is the start of a message that scripts match, so its words stay.
const notLoggedIn = "You are not logged in"

// NotLoggedIn returns the error of a command that needs a session on the server
// at u, or on any server when u is nil.
func NotLoggedIn(u *url.URL) error {
	at := "<url>"
	if u != nil {
		at = u.String()
	}
	return codersdk.Errorf(codersdk.CodeUnauthenticated, notLoggedIn+"; run 'coder login %s'", at)
}

// maxRedirects bounds the redirects of one request.
const maxRedirects = 10

// checkRedirect refuses redirects to other hosts, which would receive the
// session, unless --allow-redirects is given.
func (a *Run) checkRedirect(next *http.Request, before []*http.Request) error {
	if len(before) >= maxRedirects {
		return Failure("the server redirected more than %d times", maxRedirects)
	}
	from := before[0].URL
	safe := next.URL.Hostname() == from.Hostname() && (next.URL.Scheme == from.Scheme || next.URL.Scheme == "https" || next.URL.Scheme == "wss")
	if safe || a.allowRedirects {
		return nil
	}
	return Failure(
		"%s redirects to %s, which would receive your session; if you trust that host, use --allow-redirects",
		serverOf(from.String()),
		serverOf(next.URL.String()),
	)
}

// extraHeaders returns the headers of --header and of the output of
// --header-command.
func (a *Run) extraHeaders(ctx context.Context, u *url.URL) (http.Header, error) {
	lines := a.Headers
	if a.HeaderCommand != "" {
		shell, flag := "sh", "-c"
		if runtime.GOOS == "windows" {
			shell, flag = "cmd.exe", "/c"
		}
		cmd := exec.CommandContext(ctx, shell, flag, a.HeaderCommand)
		cmd.Stderr = a.Stderr
		cmd.Env = append(cmd.Environ(), "CODER_URL="+u.String())
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("--header-command: %w", err)
		}
		for line := range strings.Lines(string(out)) {
			if line = strings.TrimSpace(line); line != "" {
				lines = append(lines[:len(lines):len(lines)], line)
			}
		}
	}
	if len(lines) == 0 {
		return nil, nil
	}
	kv, err := option.Pairs("header", lines)
	if err != nil {
		return nil, Failure("%s", err)
	}
	h := http.Header{}
	for k, v := range kv {
		h.Set(k, v)
	}
	return h, nil
}

// versionCheck is a transport that warns once when the server has another
// version.
type versionCheck struct {
	app  *Run
	base http.RoundTripper
	once sync.Once
}

// CloseIdleConnections closes the idle connections of the wrapped transport.
func (v *versionCheck) CloseIdleConnections() {
	if t, ok := v.base.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

// RoundTrip sends the request and checks the version header of the response.
func (v *versionCheck) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("User-Agent", "coder-cli/"+codersdk.Version())
	resp, err := v.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	theirs := resp.Header.Get(codersdk.BuildVersionHeader)
	if theirs != "" && !v.app.noVersionWarning && !codersdk.SameRelease(theirs, codersdk.Version()) {
		v.once.Do(func() {
			p := v.app.Painter(v.app.Stderr)
			advice := v.advice(r)
			if advice == "" {
				advice = fmt.Sprintf("download the matching version from %s/bin/coder-%s-%s", serverOf(r.URL.String()), runtime.GOOS, runtime.GOARCH)
			}
			fmt.Fprintf(v.app.Stderr, "%s client version %s differs from server version %s; %s\n", p.Yellow("warning:"), codersdk.Version(), theirs, advice)
		})
	}
	return resp, nil
}

// advice returns the server's upgrade message, or "" when the server has none.
func (v *versionCheck) advice(r *http.Request) string {
	ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
	defer cancel()
	u, err := url.Parse(serverOf(r.URL.String()))
	if err != nil {
		return ""
	}
	c := codersdk.New(u)
	c.HTTP = &http.Client{Transport: v.base}
	info, err := c.BuildInfo(ctx)
	if err != nil {
		return ""
	}
	return terminal.OneLine(info.UpgradeMessage)
}

// Organization returns the organization that ref names. Without ref it returns
// the user's only organization, or the default one.
func (a *Run) Organization(ctx context.Context, c *codersdk.Client, ref string) (codersdk.Organization, error) {
	if ref != "" {
		o, err := c.Organization(ctx, ref)
		if codersdk.Is(err, codersdk.CodeNotFound) {
			return o, codersdk.Errorf(codersdk.CodeNotFound, "organization %q not found, or you are not a member", ref)
		}
		return o, err
	}
	all, err := c.UserOrganizations(ctx, "me")
	if err != nil {
		return codersdk.Organization{}, err
	}
	if len(all) == 1 {
		return all[0], nil
	}
	for _, o := range all {
		if o.IsDefault {
			return o, nil
		}
	}
	if len(all) == 0 {
		return codersdk.Organization{}, codersdk.Errorf(codersdk.CodeForbidden, "you are not a member of any organization; ask an administrator to add you to one")
	}
	return codersdk.Organization{}, Failure("you are a member of several organizations; select one with --org")
}

// Org returns --org, the organization that a command works in.
func Org(p *string) *option.Option {
	return option.String(p, "org", "Organization, by name or ID").Short("O").Env("CODER_ORGANIZATION")
}

// ClientAndOrganization returns the client and the organization of a command.
func (a *Run) ClientAndOrganization(ctx context.Context, ref string) (*codersdk.Client, codersdk.Organization, error) {
	c, err := a.Client(ctx)
	if err != nil {
		return nil, codersdk.Organization{}, err
	}
	o, err := a.Organization(ctx, c, ref)
	return c, o, err
}
