package login

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/oauth2"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/identity"
	"github.com/seed-2a7f8fe7/coder/internal/oauthclient"
)

// GitHub configures sign-in with GitHub: the options --oauth2-github-*. (AU-13)
type GitHub struct {
	ClientID, ClientSecret string
	// AllowedOrgs are the organizations whose members can sign in. AllowedTeams, as
	// organization/team, restrict that to members of one of the teams.
	AllowedOrgs, AllowedTeams []string
	AllowEveryone             bool
	AllowSignups              bool
	// DeviceFlow uses the device flow, in which users enter a code at GitHub. It does not
	// require GitHub to know the address of this server.
	DeviceFlow bool
	// EnterpriseBaseURL is the URL of a GitHub Enterprise server; "" for github.com.
	EnterpriseBaseURL string
}

type githubProvider struct {
	c      GitHub
	client *http.Client
	oauth  oauth2.Config
	base   string // identifies the GitHub server
	api    string // without a trailing slash
	teams  [][2]string
}

func newGitHub(c GitHub, accessURL *url.URL, client *http.Client) (*githubProvider, error) {
	p := &githubProvider{c: c, client: client, base: "https://github.com", api: "https://api.github.com"}
	switch {
	case c.ClientSecret == "" && !c.DeviceFlow:
		return nil, codersdk.Errorf(codersdk.CodeInvalid, "--oauth2-github-client-id needs --oauth2-github-client-secret")
	case c.AllowEveryone && len(c.AllowedOrgs)+len(c.AllowedTeams) > 0:
		return nil, codersdk.Errorf(codersdk.CodeInvalid, "--oauth2-github-allow-everyone excludes --oauth2-github-allowed-orgs and --oauth2-github-allowed-teams")
	case !c.AllowEveryone && len(c.AllowedOrgs)+len(c.AllowedTeams) == 0:
		return nil, codersdk.Errorf(
			codersdk.CodeInvalid,
			"nobody could sign in with GitHub: set --oauth2-github-allowed-orgs, --oauth2-github-allowed-teams or --oauth2-github-allow-everyone",
		)
	}
	if c.EnterpriseBaseURL != "" {
		u, err := url.Parse(c.EnterpriseBaseURL)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
			return nil, codersdk.Errorf(codersdk.CodeInvalid, "--oauth2-github-enterprise-base-url must be like https://github.example.com, got %q", c.EnterpriseBaseURL)
		}
		p.base = strings.TrimSuffix(u.String(), "/")
		p.api = p.base + "/api/v3"
	}
	for _, t := range c.AllowedTeams {
		org, team, ok := strings.Cut(t, "/")
		if !ok || org == "" || team == "" || strings.Contains(team, "/") {
			return nil, codersdk.Errorf(codersdk.CodeInvalid, "--oauth2-github-allowed-teams: %q is not organization/team", t)
		}
		p.teams = append(p.teams, [2]string{org, team})
	}
	p.oauth = oauth2.Config{
		ClientID: c.ClientID, ClientSecret: c.ClientSecret, RedirectURL: accessURL.JoinPath(githubCallback).String(),
		Scopes: []string{"read:user", "user:email"},
		Endpoint: oauth2.Endpoint{
			AuthURL: p.base + "/login/oauth/authorize", TokenURL: p.base + "/login/oauth/access_token",
			DeviceAuthURL: p.base + "/login/device/code", AuthStyle: oauth2.AuthStyleInParams,
		},
	}
	if !c.AllowEveryone {
		p.oauth.Scopes = append(p.oauth.Scopes, "read:org")
	}
	return p, nil
}

// devicePage is the page with the code that users enter at GitHub.
const devicePage = "/login/device"

func (p *githubProvider) begin(_ context.Context, st state) (string, error) {
	if p.c.DeviceFlow {
		return devicePage + "?" + url.Values{"state": {st.State}}.Encode(), nil
	}
	return p.oauth.AuthCodeURL(st.State, oauth2.S256ChallengeOption(st.Verifier)), nil
}

func (p *githubProvider) device(ctx context.Context) (codersdk.ExternalAuthDevice, error) {
	return oauthclient.Device(ctx, p.client, &p.oauth, "GitHub")
}

// token exchanges a code for a token, once; in the device flow the device code.
func (p *githubProvider) token(ctx context.Context, st state, code string) (*oauth2.Token, error) {
	if !p.c.DeviceFlow {
		token, err := p.oauth.Exchange(ctx, code, oauth2.VerifierOption(st.Verifier))
		if err != nil {
			return nil, refusedCode(githubCode(err))
		}
		return token, nil
	}
	return oauthclient.DeviceToken(ctx, p.client, &p.oauth, "GitHub", code)
}

// githubCode maps GitHub's error code for an invalid code to the standard one.
func githubCode(err error) error {
	if e, ok := errors.AsType[*oauth2.RetrieveError](err); ok && e.ErrorCode == "bad_verification_code" {
		e.ErrorCode = "invalid_grant"
	}
	return err
}

func (p *githubProvider) person(ctx context.Context, st state, code string) (identity.External, error) {
	var none identity.External
	ctx = oauthclient.WithClient(ctx, p.client, oauthclient.SourceExchange)
	token, err := p.token(ctx, st, code)
	if err != nil {
		return none, err
	}
	var user struct {
		ID        int64  `json:"id"`
		Login     string `json:"login"`
		Name      string `json:"name"`
		AvatarURL string `json:"avatar_url"`
	}
	if err := p.get(ctx, token, "/user", &user); err != nil {
		return none, err
	}
	if user.ID == 0 || user.Login == "" {
		return none, codersdk.Errorf(codersdk.CodeUnavailable, "GitHub did not return your account; try again")
	}
	if err := p.admit(ctx, token, user.Login); err != nil {
		return none, err
	}
	email, err := p.email(ctx, token)
	if err != nil {
		return none, err
	}
	return identity.External{
		By: codersdk.LoginTypeGitHub, Issuer: p.base, Subject: strconv.FormatInt(user.ID, 10), Email: email, Username: user.Login, Name: user.Name,
		AvatarURL: user.AvatarURL, SignUp: p.c.AllowSignups, AccessToken: token.AccessToken, RefreshToken: token.RefreshToken, TokenExpires: token.Expiry,
	}, nil
}

// email returns the primary address, which must be verified at GitHub.
func (p *githubProvider) email(ctx context.Context, token *oauth2.Token) (string, error) {
	var all []struct {
		Email    string `json:"email"`
		Primary  bool   `json:"primary"`
		Verified bool   `json:"verified"`
	}
	if err := p.get(ctx, token, "/user/emails?per_page=100", &all); err != nil {
		return "", err
	}
	for _, e := range all {
		if e.Primary && e.Verified {
			return e.Email, nil
		}
	}
	return "", codersdk.Errorf(codersdk.CodeForbidden, "Your primary email address at GitHub is not verified; verify it there and sign in again")
}

// membership is the membership of an organization at GitHub.
type membership struct {
	State        string `json:"state"`
	Organization struct {
		Login string `json:"login"`
	} `json:"organization"`
}

// admit checks that the user belongs to the allowed organizations and teams.
func (p *githubProvider) admit(ctx context.Context, token *oauth2.Token, login string) error {
	if p.c.AllowEveryone {
		return nil
	}
	var in []membership
	for page := 1; page <= 10; page++ {
		var more []membership
		if err := p.get(ctx, token, fmt.Sprintf("/user/memberships/orgs?state=active&per_page=100&page=%d", page), &more); err != nil {
			return err
		}
		in = append(in, more...)
		if len(more) < 100 {
			break
		}
	}
	member := func(org string) bool {
		return slices.ContainsFunc(in, func(m membership) bool { return m.State == "active" && strings.EqualFold(m.Organization.Login, org) })
	}
	if len(p.c.AllowedOrgs) > 0 && !slices.ContainsFunc(p.c.AllowedOrgs, member) {
		return codersdk.Errorf(codersdk.CodeForbidden, "You are not a member of a GitHub organization that can sign in here: %s", strings.Join(p.c.AllowedOrgs, ", "))
	}
	if len(p.teams) == 0 {
		return nil
	}
	for _, t := range p.teams {
		if !member(t[0]) {
			continue
		}
		var m struct {
			State string `json:"state"`
		}
		err := p.get(ctx, token, "/orgs/"+url.PathEscape(t[0])+"/teams/"+url.PathEscape(t[1])+"/memberships/"+url.PathEscape(login), &m)
		if err != nil && !codersdk.Is(err, codersdk.CodeNotFound) {
			return err
		}
		if err == nil && m.State == "active" {
			return nil
		}
	}
	return codersdk.Errorf(codersdk.CodeForbidden, "You are not a member of a GitHub team that can sign in here: %s", strings.Join(p.c.AllowedTeams, ", "))
}

// get sends a GET request to GitHub's API; CodeNotFound for status 404.
func (p *githubProvider) get(ctx context.Context, token *oauth2.Token, path string, into any) error {
	r, err := http.NewRequestWithContext(oauthclient.WithSource(ctx, oauthclient.SourceAccount), http.MethodGet, p.api+path, nil)
	if err != nil {
		return fmt.Errorf("build a request to GitHub: %w", err)
	}
	r.Header.Set("Accept", "application/vnd.github+json")
	r.Header.Set("X-GitHub-Api-Version", "2022-11-28")
	token.SetAuthHeader(r)
	return p.ask(r, into)
}

// ask sends a request and decodes the JSON of the response.
func (p *githubProvider) ask(r *http.Request, into any) error {
	resp, err := p.client.Do(r)
	if err != nil {
		return codersdk.Errorf(codersdk.CodeUnavailable, "GitHub cannot be reached; try again later").WithCause(err)
	}
	defer resp.Body.Close() //nolint:errcheck // read to what end it has
	switch {
	case resp.StatusCode == http.StatusNotFound:
		return codersdk.NotFound()
	case resp.StatusCode != http.StatusOK:
		return codersdk.Errorf(codersdk.CodeUnavailable, "GitHub responded %s to a request about your account; try again later", resp.Status)
	}
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
		return codersdk.Errorf(codersdk.CodeUnavailable, "GitHub's response is not valid JSON; try again later").WithCause(err)
	}
	return nil
}

func (p *githubProvider) refresh(ctx context.Context, refreshToken string) (*oauth2.Token, error) {
	return p.oauth.TokenSource(oauthclient.WithClient(ctx, p.client, oauthclient.SourceRefresh), &oauth2.Token{RefreshToken: refreshToken}).Token()
}
