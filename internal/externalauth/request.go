package externalauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/oauth2"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/oauthclient"
)

// authorizeURL returns the page of the provider at which a user allows access.
func (p *provider) authorizeURL(st state) string {
	var options []oauth2.AuthCodeOption
	if p.pkce {
		options = append(options, oauth2.S256ChallengeOption(st.Verifier))
	}
	switch p.Type {
	case TypeAzureDevOps:
		options = append(options, oauth2.SetAuthURLParam("response_type", "Assertion"))
	case TypeAzureDevOpsEntra:
		options = append(options, p.resource()...)
	}
	return p.oauth.AuthCodeURL(st.State, options...)
}

// resource names Azure DevOps to the first version of Entra's endpoints; the second version has scopes.
func (p *provider) resource() []oauth2.AuthCodeOption {
	if strings.Contains(p.TokenURL, "/v2.0/") {
		return nil
	}
	return []oauth2.AuthCodeOption{oauth2.SetAuthURLParam("resource", azureDevOps)}
}

// exchange returns the tokens for an authorization code.
func (p *provider) exchange(ctx context.Context, code, verifier string) (*oauth2.Token, error) {
	ctx = oauthclient.WithClient(ctx, p.client, oauthclient.SourceExchange)
	var options []oauth2.AuthCodeOption
	if p.pkce {
		options = append(options, oauth2.VerifierOption(verifier))
	}
	switch p.Type {
	case TypeAzureDevOps:
		options = append(options, p.assertion(code, "urn:ietf:params:oauth:grant-type:jwt-bearer")...)
		code = ""
	case TypeAzureDevOpsEntra:
		options = append(options, p.resource()...)
	}
	return p.oauth.Exchange(ctx, code, options...)
}

// refresh returns new tokens. The refresh token is empty if the provider did not replace it.
func (p *provider) refresh(ctx context.Context, refreshToken string) (*oauth2.Token, error) {
	ctx = oauthclient.WithClient(ctx, p.client, oauthclient.SourceRefresh)
	if p.Type == TypeAzureDevOps {
		return p.oauth.Exchange(ctx, "", p.assertion(refreshToken, "refresh_token")...)
	}
	return p.oauth.TokenSource(ctx, &oauth2.Token{RefreshToken: refreshToken}).Token()
}

// assertion returns the parameters of Azure DevOps' token requests: the secret and the code are assertions.
func (p *provider) assertion(code, grant string) []oauth2.AuthCodeOption {
	return []oauth2.AuthCodeOption{
		oauth2.SetAuthURLParam("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"),
		oauth2.SetAuthURLParam("client_assertion", p.ClientSecret), oauth2.SetAuthURLParam("grant_type", grant),
		oauth2.SetAuthURLParam("assertion", code),
	}
}

// refused reports whether an error means that the provider no longer accepts a refresh token. Other errors
// are outages, or mistakes of the configuration that an administrator can correct without new links.
func (p *provider) refused(err error) bool {
	code, _, ok := oauthclient.Refusal(err)
	if p.Type == TypeAzureDevOps { // its codes are not those of OAuth2
		e, is := errors.AsType[*oauth2.RetrieveError](err)
		return is && e.Response != nil && e.Response.StatusCode == http.StatusBadRequest && !strings.Contains(strings.ToLower(code), "client")
	}
	return ok && slices.Contains([]string{"invalid_grant", "bad_refresh_token", "invalid_refresh_token", "token_revoked", "token_expired"}, code)
}

// verdict is the result of a validation.
type verdict int

const (
	unknown      verdict = iota // the provider did not say; the token may be valid
	valid                       // the token works
	revoked                     // the provider does not accept the token
	insufficient                // the token lacks a permission
)

// validate asks the provider whether a token works, and for the user's account. The error is the reason of
// every verdict but valid; it contains no secret.
func (p *provider) validate(ctx context.Context, token string) (verdict, *codersdk.ExternalAuthUser, error) {
	if p.ValidateURL == "" {
		return valid, nil, nil
	}
	resp, err := p.get(oauthclient.WithSource(ctx, oauthclient.SourceValidate), p.ValidateURL, token)
	if err != nil {
		return unknown, nil, err
	}
	defer resp.Body.Close() //nolint:errcheck // read to what end it has
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case resp.StatusCode == http.StatusUnauthorized:
		return revoked, nil, fmt.Errorf("%s no longer accepts the token", p.DisplayName)
	case resp.StatusCode == http.StatusForbidden && !limited(resp):
		return insufficient, nil, fmt.Errorf("the token lacks a permission that %s requires", p.DisplayName)
	case resp.StatusCode != http.StatusOK:
		return unknown, nil, fmt.Errorf("%s responded %s to the validation of a token", p.DisplayName, resp.Status)
	case kind == "text/html":
		return unknown, nil, fmt.Errorf("%s responded with a page to the validation of a token", p.DisplayName)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return unknown, nil, fmt.Errorf("read the response of %s: %w", p.DisplayName, err)
	}
	if p.Type == TypeSlack {
		v, err := p.slackVerdict(body)
		return v, nil, err
	}
	return valid, account(body), nil
}

// limited reports whether a provider refused a request because of its rate limit.
func limited(resp *http.Response) bool {
	return resp.Header.Get("X-Ratelimit-Remaining") == "0" || resp.Header.Get("Retry-After") != ""
}

// account returns the user that a response describes, in GitHub's fields or those of OpenID Connect; nil if
// it describes none.
func account(body []byte) *codersdk.ExternalAuthUser {
	var f struct {
		ID                json.RawMessage `json:"id"`
		Login             string          `json:"login"`
		Username          string          `json:"username"`
		PreferredUsername string          `json:"preferred_username"`
		Name              string          `json:"name"`
		DisplayName       string          `json:"display_name"`
		AvatarURL         string          `json:"avatar_url"`
		Picture           string          `json:"picture"`
		HTMLURL           string          `json:"html_url"`
		Profile           string          `json:"profile"`
		WebURL            string          `json:"web_url"`
	}
	if json.Unmarshal(body, &f) != nil {
		return nil
	}
	u := &codersdk.ExternalAuthUser{
		Login: first(f.Login, f.Username, f.PreferredUsername), Name: first(f.Name, f.DisplayName),
		AvatarURL: link(first(f.AvatarURL, f.Picture)), ProfileURL: link(first(f.HTMLURL, f.Profile, f.WebURL)),
	}
	if u.Login == "" {
		return nil
	}
	if json.Unmarshal(f.ID, &u.ID) != nil {
		u.ID = 0 // a provider whose IDs are no numbers
	}
	return u
}

func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// link returns an address of a provider if a page can show it.
func link(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || len(s) > 2000 {
		return ""
	}
	return s
}

// get sends a GET request with a token.
func (p *provider) get(ctx context.Context, address, token string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, fmt.Errorf("build a request to %s: %w", p.DisplayName, err)
	}
	r.Header.Set("Accept", "application/json")
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := p.client.Do(r)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be reached: %w", p.DisplayName, err)
	}
	return resp, nil
}

// installations returns the installations of the provider's app that the user can reach. A provider that
// does not answer has none: they only inform.
func (p *provider) installations(ctx context.Context, token string) []codersdk.ExternalAuthAppInstallation {
	out := []codersdk.ExternalAuthAppInstallation{}
	if p.AppInstallationsURL == "" {
		return out
	}
	resp, err := p.get(oauthclient.WithSource(ctx, oauthclient.SourceInstallations), p.AppInstallationsURL, token)
	if err != nil {
		return out
	}
	defer resp.Body.Close() //nolint:errcheck // read to what end it has
	var answer struct {
		Installations []struct {
			ID      int64           `json:"id"`
			HTMLURL string          `json:"html_url"`
			Account json.RawMessage `json:"account"`
		} `json:"installations"`
	}
	if resp.StatusCode != http.StatusOK || json.NewDecoder(resp.Body).Decode(&answer) != nil {
		return out
	}
	for _, i := range answer.Installations {
		one := codersdk.ExternalAuthAppInstallation{ID: i.ID, ConfigureURL: link(i.HTMLURL)}
		if u := account(i.Account); u != nil {
			one.Account = *u
		}
		out = append(out, one)
	}
	return out
}

// probe reports whether the provider answers at all.
func (p *provider) probe(ctx context.Context) error {
	r, err := http.NewRequestWithContext(oauthclient.WithSource(ctx, oauthclient.SourceProbe), http.MethodGet, p.TokenURL, nil)
	if err != nil {
		return err
	}
	resp, err := p.client.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // only the status counts
	if resp.StatusCode >= http.StatusInternalServerError {
		return fmt.Errorf("it responded %s", resp.Status)
	}
	return nil
}
