package gitauth

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/gitauth/askpass"
)

// Asker answers git's prompts for an HTTPS remote.
type Asker struct {
	Env []string // of a session: the agent's socket, the server and the agent's token
	// Tell shows a line to the user.
	Tell func(text string)
	// Retry is the time between requests while the provider does not answer; 0: 3 s.
	Retry time.Duration
}

// IsPrompt reports whether an argument is a prompt of git for the credentials of a remote.
func IsPrompt(arg string) bool { return askpass.IsPrompt(arg) }

// Answer answers a prompt of git, which is one of
//
//	Username for 'https://host/path':
//	Password for 'https://user@host/path':
//
// It returns "" when no provider is configured for the host. When the owner must link the provider first,
// Answer shows the page, and waits until the owner has done that or ctx ends. It also waits while the
// provider does not answer, so that git does not prompt for a password that would not work.
func (a *Asker) Answer(ctx context.Context, question string) (string, error) {
	kind, remote, err := parsePrompt(question)
	if err != nil {
		return "", err
	}
	got, err := a.credentials(ctx, remote.String())
	switch {
	case codersdk.Is(err, codersdk.CodeNotFound):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("request the credentials for %s: %w", remote.Host, err)
	}
	return answerOf(kind, got), nil
}

// Kinds of prompts.
const (
	usernamePrompt = "Username"
	passwordPrompt = "Password"
)

// parsePrompt returns the kind of a prompt and the remote, without its user.
func parsePrompt(question string) (kind string, remote *url.URL, err error) {
	kind, rest, _ := strings.Cut(question, " for '")
	raw, _, ok := strings.Cut(rest, "'")
	remote, err = url.Parse(raw)
	if !ok || err != nil || remote.Host == "" || (kind != usernamePrompt && kind != passwordPrompt) {
		return "", nil, fmt.Errorf("unexpected prompt of git: %q", question)
	}
	remote.User = nil
	return kind, remote, nil
}

// answerOf returns the answer to a kind of prompt.
func answerOf(kind string, got codersdk.ExternalAuthResponse) string {
	if kind == usernamePrompt {
		return cmp.Or(got.Username, "x-access-token")
	}
	return cmp.Or(got.Password, got.AccessToken)
}

// credentials requests the credentials until there are some.
func (a *Asker) credentials(ctx context.Context, remote string) (codersdk.ExternalAuthResponse, error) {
	listen, told, waiting := false, false, false
	for {
		got, err := a.request(ctx, remote, listen)
		switch {
		case err == nil && got.URL == "":
			return got, nil
		case err == nil:
			if !told {
				a.Tell("Open this page to sign in; git then continues:\n\n\t" + got.URL + "\n")
			}
			listen, told = true, true
			continue
		case ctx.Err() != nil:
			return got, ctx.Err()
		case definite(err), !listen && !codersdk.Is(err, codersdk.CodeUnavailable):
			return got, err
		}
		// A provider that does not answer, or a proxy that ended a long wait.
		if !waiting && !listen {
			a.Tell(fmt.Sprintf("coder: %v; waiting. Press Ctrl-C to give up.", err))
			waiting = true
		}
		select {
		case <-time.After(cmp.Or(a.Retry, 3*time.Second)):
		case <-ctx.Done():
			return got, ctx.Err()
		}
	}
}

// request asks the agent, or the server when there is no agent's socket.
func (a *Asker) request(ctx context.Context, remote string, listen bool) (codersdk.ExternalAuthResponse, error) {
	if path := variable(a.Env, "CODER_AGENT_SOCKET_PATH"); path != "" {
		got, err := fromAgent(ctx, path, remote, listen)
		if err == nil || codersdk.CodeOf(err) != codersdk.CodeInternal || ctx.Err() != nil {
			return got, err
		}
	}
	c, err := Client(a.Env)
	if err != nil {
		return codersdk.ExternalAuthResponse{}, err
	}
	return c.AgentExternalAuth(ctx, codersdk.AgentExternalAuthRequest{Match: remote, Listen: listen})
}

// fromAgent asks the agent's cache. An error of CodeInternal means that no agent answers at the socket.
func fromAgent(ctx context.Context, path, remote string, listen bool) (out codersdk.ExternalAuthResponse, err error) {
	q := url.Values{"match": {remote}}
	if listen {
		q.Set("listen", "true")
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://agent"+CredentialsPath+"?"+q.Encode(), nil)
	if err != nil {
		return out, err
	}
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}}
	resp, err := transport.RoundTrip(r)
	if err != nil {
		return out, err
	}
	defer resp.Body.Close()
	body := json.NewDecoder(io.LimitReader(resp.Body, 1<<20))
	if resp.StatusCode == http.StatusOK {
		return out, body.Decode(&out)
	}
	var f failure
	if err := body.Decode(&f); err != nil || f.Code == "" {
		return out, fmt.Errorf("the agent responded %s", resp.Status)
	}
	return out, codersdk.Errorf(f.Code, "%s", f.Message)
}
