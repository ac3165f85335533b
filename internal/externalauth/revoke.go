package externalauth

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/seed-2a7f8fe7/coder/internal/oauthclient"
)

// revocation is how a provider revokes tokens.
type revocation struct {
	whole   bool // revoking the access token ends the whole grant
	request func(ctx context.Context, token string) (*http.Request, error)
	check   func(body []byte) error // reads the body of a success; nil: the status is enough
}

// newRevocation returns how the provider revokes tokens: as in RFC 7009, or as GitHub or Slack do. It returns nil if
// the provider cannot.
func (p *provider) newRevocation() *revocation {
	api, ok := strings.CutSuffix(p.ValidateURL, "/user")
	switch {
	case p.RevokeURL == "" && p.Type == TypeGitHub && ok && p.ClientSecret != "":
		return &revocation{whole: true, request: p.deleteGrant(api + "/applications/" + url.PathEscape(p.ClientID) + "/grant")}
	case p.RevokeURL == "":
		return nil
	case p.Type == TypeSlack:
		return &revocation{whole: true, request: p.postToken(nil), check: func(body []byte) error {
			code, err := slackError(body)
			if code != "" {
				err = fmt.Errorf("it responded %.100s", code)
			}
			return err
		}}
	case known(p.Type):
		return &revocation{request: p.postToken(url.Values{"client_id": {p.ClientID}, "client_secret": {p.ClientSecret}})}
	}
	post := p.postToken(nil)
	return &revocation{request: func(ctx context.Context, token string) (*http.Request, error) {
		r, err := post(ctx, token)
		if err == nil {
			r.SetBasicAuth(url.QueryEscape(p.ClientID), url.QueryEscape(p.ClientSecret)) // RFC 6749 section 2.3.1
		}
		return r, err
	}}
}

// deleteGrant returns the requests that delete the application's grant at GitHub.
func (p *provider) deleteGrant(address string) func(context.Context, string) (*http.Request, error) {
	return func(ctx context.Context, token string) (*http.Request, error) {
		body, err := json.Marshal(map[string]string{"access_token": token})
		if err != nil {
			return nil, err
		}
		r, err := http.NewRequestWithContext(ctx, http.MethodDelete, address, bytes.NewReader(body))
		if err == nil {
			r.SetBasicAuth(p.ClientID, p.ClientSecret)
		}
		return r, err
	}
}

// postToken returns the requests of RFC 7009, with more fields in their form.
func (p *provider) postToken(fields url.Values) func(context.Context, string) (*http.Request, error) {
	return func(ctx context.Context, token string) (*http.Request, error) {
		form := url.Values{"token": {token}}
		for name, values := range fields {
			form[name] = values
		}
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.RevokeURL, strings.NewReader(form.Encode()))
		if err == nil {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		return r, err
	}
}

// revoke asks the provider to revoke the tokens of a link. By RFC 7009, section 2.1, a provider that revokes a
// refresh token may keep the access token.
func (p *provider) revoke(ctx context.Context, t tokens) error {
	revocable := []string{t.Access}
	if t.Refresh != "" && !p.revocation.whole {
		revocable = []string{t.Refresh, t.Access}
	}
	var failed error
	for _, token := range revocable {
		failed = cmp.Or(failed, p.revokeToken(ctx, token))
	}
	return failed
}

func (p *provider) revokeToken(ctx context.Context, token string) error {
	ctx = oauthclient.WithSource(ctx, oauthclient.SourceRevoke)
	r, err := p.revocation.request(ctx, token)
	if err != nil {
		return fmt.Errorf("build a request to %s: %w", p.DisplayName, err)
	}
	r.Header.Set("Accept", "application/json")
	resp, err := p.client.Do(r)
	if err != nil {
		return fmt.Errorf("%s cannot be reached: %w", p.DisplayName, err)
	}
	defer resp.Body.Close() //nolint:errcheck // read to what end it has
	if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusNoContent {
		return fmt.Errorf("%s responded %s", p.DisplayName, resp.Status)
	}
	if p.revocation.check == nil {
		return nil
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Errorf("read the response of %s: %w", p.DisplayName, err)
	}
	if err := p.revocation.check(body); err != nil {
		return fmt.Errorf("%s did not revoke the token: %w", p.DisplayName, err)
	}
	return nil
}
