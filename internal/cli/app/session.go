package app

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

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/client"
	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
	"github.com/seed-2a7f8fe7/coder/internal/cli/terminal"
)

// Server finds the server's URL: --url, $CODER_URL, or the last login.
func (a *Run) Server() (*url.URL, error) {
	if a.URL != nil && a.URL.Host != "" {
		return a.URL, nil
	}
	s, err := a.Stored("url")
	if err != nil {
		return nil, err
	}
	if s == "" {
		return nil, coder.Errorf(coder.CodeUnauthenticated, "you are not logged in; run 'coder login <url>'")
	}
	return ParseServer(s)
}

// ParseServer reads the URL of a server; without a scheme it is https, or
// http for this machine.
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

// Anonymous gives a client of u without a token.
func (a *Run) Anonymous(ctx context.Context, u *url.URL) (*client.Client, error) {
	h, err := a.extraHeaders(ctx)
	if err != nil {
		return nil, err
	}
	c := client.New(u)
	c.Header = h
	var base http.RoundTripper = http.DefaultTransport
	if a.transport != nil {
		base = a.transport
	}
	c.HTTP = &http.Client{Transport: &versionCheck{app: a, base: base}}
	return c, nil
}

// Client gives a client with the user's session.
func (a *Run) Client(ctx context.Context) (*client.Client, error) {
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
		if c.SessionToken, err = a.Stored("session"); err != nil {
			return nil, err
		}
	}
	if c.SessionToken == "" {
		return nil, coder.Errorf(coder.CodeUnauthenticated, "you are not logged in; run 'coder login %s'", u)
	}
	return c, nil
}

// extraHeaders are those of --header and of the command's output.
func (a *Run) extraHeaders(ctx context.Context) (http.Header, error) {
	lines := a.Headers
	if a.HeaderCommand != "" {
		shell, flag := "sh", "-c"
		if runtime.GOOS == "windows" {
			shell, flag = "cmd.exe", "/c"
		}
		cmd := exec.CommandContext(ctx, shell, flag, a.HeaderCommand)
		cmd.Stderr = a.Stderr
		u := a.URL
		if u != nil {
			cmd.Env = append(cmd.Environ(), "CODER_URL="+u.String())
		}
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

// versionCheck warns once when the server is of another version.
type versionCheck struct {
	app  *Run
	base http.RoundTripper
	once sync.Once
}

// CloseIdleConnections closes those of the transport below.
func (v *versionCheck) CloseIdleConnections() {
	if t, ok := v.base.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

// RoundTrip sends the request and looks at the version in the answer.
func (v *versionCheck) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("User-Agent", "coder-cli/"+coder.Version())
	resp, err := v.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	theirs := resp.Header.Get(client.BuildVersionHeader)
	if theirs != "" && !v.app.noVersionWarning && release(theirs) != release(coder.Version()) {
		v.once.Do(func() {
			p := v.app.Painter(v.app.Stderr)
			advice := v.advice(r)
			if advice == "" {
				advice = fmt.Sprintf("get the server's own from %s/bin/coder-%s-%s", serverOf(r.URL.String()), runtime.GOOS, runtime.GOARCH)
			}
			fmt.Fprintf(v.app.Stderr, "%s this program is %s, the server %s; %s\n", p.Yellow("warning:"), coder.Version(), theirs, advice)
		})
	}
	return resp, nil
}

// advice is what the server tells people to do about another version, "" when
// it leaves that to the program.
func (v *versionCheck) advice(r *http.Request) string {
	ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
	defer cancel()
	u, err := url.Parse(serverOf(r.URL.String()))
	if err != nil {
		return ""
	}
	c := client.New(u)
	c.HTTP = &http.Client{Transport: v.base}
	info, err := c.BuildInfo(ctx)
	if err != nil {
		return ""
	}
	return terminal.OneLine(info.UpgradeMessage)
}

// release is a version without what follows + or the commit, so that two
// builds of one release count as the same.
func release(v string) string {
	v, _, _ = strings.Cut(v, "+")
	v, _, _ = strings.Cut(v, "-")
	return v
}

// Organization finds the organization named by ref, else the only one the
// user is in, else the default one.
func (a *Run) Organization(ctx context.Context, c *client.Client, ref string) (coder.Organization, error) {
	if ref != "" {
		o, err := c.Organization(ctx, ref)
		if coder.Is(err, coder.CodeNotFound) {
			return o, coder.Errorf(coder.CodeNotFound, "there is no organization %q, or you are not in it", ref)
		}
		return o, err
	}
	all, err := c.UserOrganizations(ctx, "me")
	if err != nil {
		return coder.Organization{}, err
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
		return coder.Organization{}, coder.Errorf(coder.CodeForbidden, "you are in no organization; ask an administrator to add you to one")
	}
	return coder.Organization{}, Failure("you are in several organizations; say which with --org")
}

// Org is --org, the organization that a command works in.
func Org(p *string) *option.Option {
	return option.String(p, "org", "Organization, by name or id.").Short("O").Env("CODER_ORGANIZATION")
}

// ClientAndOrganization is what most commands of an organization begin with.
func (a *Run) ClientAndOrganization(ctx context.Context, ref string) (*client.Client, coder.Organization, error) {
	c, err := a.Client(ctx)
	if err != nil {
		return nil, coder.Organization{}, err
	}
	o, err := a.Organization(ctx, c, ref)
	return c, o, err
}
