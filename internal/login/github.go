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
	"time"

	"golang.org/x/oauth2"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/identity"
)

// GitHub is how people log in by GitHub: what the options --oauth2-github-*
// say. (AU-13)
type GitHub struct {
	ClientID, ClientSecret string
	// AllowedOrgs are those whose members are let in; AllowedTeams, as
	// organization/team, let in only members of one of them.
	AllowedOrgs, AllowedTeams []string
	AllowEveryone             bool
	AllowSignups              bool
	// DeviceFlow has people type in a code at GitHub, which then needs not to
	// know where this server is.
	DeviceFlow bool
	// EnterpriseBaseURL is a GitHub of one's own; "": github.com.
	EnterpriseBaseURL string
}

type githubProvider struct {
	c      GitHub
	client *http.Client
	oauth  oauth2.Config
	base   string // which GitHub it is
	api    string // without a slash at its end
	teams  [][2]string
}

func newGitHub(c GitHub, accessURL *url.URL, client *http.Client) (*githubProvider, error) {
	p := &githubProvider{c: c, client: client, base: "https://github.com", api: "https://api.github.com"}
	switch {
	case c.ClientSecret == "" && !c.DeviceFlow:
		return nil, coder.Errorf(coder.CodeInvalid, "--oauth2-github-client-id needs --oauth2-github-client-secret")
	case c.AllowEveryone && len(c.AllowedOrgs)+len(c.AllowedTeams) > 0:
		return nil, coder.Errorf(coder.CodeInvalid, "--oauth2-github-allow-everyone contradicts --oauth2-github-allowed-orgs and --oauth2-github-allowed-teams: give either")
	case !c.AllowEveryone && len(c.AllowedOrgs)+len(c.AllowedTeams) == 0:
		return nil, coder.Errorf(coder.CodeInvalid, "GitHub lets nobody in: give --oauth2-github-allowed-orgs, --oauth2-github-allowed-teams or --oauth2-github-allow-everyone")
	}
	if c.EnterpriseBaseURL != "" {
		u, err := url.Parse(c.EnterpriseBaseURL)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
			return nil, coder.Errorf(coder.CodeInvalid, "--oauth2-github-enterprise-base-url must be like https://github.example.com, got %q", c.EnterpriseBaseURL)
		}
		p.base = strings.TrimSuffix(u.String(), "/")
		p.api = p.base + "/api/v3"
	}
	for _, t := range c.AllowedTeams {
		org, team, ok := strings.Cut(t, "/")
		if !ok || org == "" || team == "" || strings.Contains(team, "/") {
			return nil, coder.Errorf(coder.CodeInvalid, "--oauth2-github-allowed-teams: %q is not organization/team", t)
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

// devicePage is where people see the code that they type in at GitHub.
const devicePage = "/login/device"

func (p *githubProvider) begin(_ context.Context, st state) (string, error) {
	if p.c.DeviceFlow {
		return devicePage + "?" + url.Values{"state": {st.State}}.Encode(), nil
	}
	return p.oauth.AuthCodeURL(st.State, oauth2.S256ChallengeOption(st.Verifier)), nil
}

func (p *githubProvider) device(ctx context.Context) (coder.ExternalAuthDevice, error) {
	d, err := p.oauth.DeviceAuth(context.WithValue(ctx, oauth2.HTTPClient, p.client))
	if err != nil {
		return coder.ExternalAuthDevice{}, refusedCode(err)
	}
	out := coder.ExternalAuthDevice{
		DeviceCode: d.DeviceCode, UserCode: d.UserCode, VerificationURI: d.VerificationURI, Interval: int(d.Interval), ExpiresIn: 900,
	}
	if lives := d.Expiry; !lives.IsZero() {
		out.ExpiresIn = max(1, int(time.Until(lives).Seconds()))
	}
	return out, nil
}

// pending says why a device login is not over yet, or never will be; the page
// goes on asking after the first two. "" for other reasons.
func pending(code string) string {
	switch code {
	case "authorization_pending":
		return "The code was not typed in at GitHub yet"
	case "slow_down":
		return "GitHub was asked too often; ask less often"
	case "expired_token":
		return "The code has run out; begin to log in again"
	case "access_denied":
		return "The login was refused at GitHub"
	}
	return ""
}

// token trades a code for a token, once: for a device the code of the device.
func (p *githubProvider) token(ctx context.Context, st state, code string) (*oauth2.Token, error) {
	if !p.c.DeviceFlow {
		token, err := p.oauth.Exchange(ctx, code, oauth2.VerifierOption(st.Verifier))
		if err != nil {
			return nil, refusedCode(githubCode(err))
		}
		return token, nil
	}
	return p.deviceToken(ctx, code)
}

// deviceToken asks once whether the person has typed in the code.
func (p *githubProvider) deviceToken(ctx context.Context, code string) (*oauth2.Token, error) {
	form := url.Values{"client_id": {p.c.ClientID}, "device_code": {code}, "grant_type": {"urn:ietf:params:oauth:grant-type:device_code"}}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.oauth.Endpoint.TokenURL, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, fmt.Errorf("ask GitHub: %w", err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Accept", "application/json")
	var answer struct {
		oauth2.Token
		Error string `json:"error"`
	}
	if err := p.ask(r, &answer); err != nil {
		return nil, err
	}
	switch {
	case pending(answer.Error) != "":
		return nil, coder.Errorf(coder.CodeInvalid, "%s", pending(answer.Error)).WithDetail("%s", answer.Error)
	case answer.Error != "" || answer.AccessToken == "":
		return nil, refusedCode(&oauth2.RetrieveError{ErrorCode: either(answer.Error, "no token")})
	}
	if answer.ExpiresIn > 0 {
		answer.Expiry = time.Now().Add(time.Duration(answer.ExpiresIn) * time.Second)
	}
	return &answer.Token, nil
}

// githubCode gives GitHub's word for a code that is no good its usual name.
func githubCode(err error) error {
	if e, ok := errors.AsType[*oauth2.RetrieveError](err); ok && e.ErrorCode == "bad_verification_code" {
		e.ErrorCode = "invalid_grant"
	}
	return err
}

func (p *githubProvider) person(ctx context.Context, st state, code string) (identity.External, error) {
	var none identity.External
	ctx = context.WithValue(ctx, oauth2.HTTPClient, p.client)
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
		return none, coder.Errorf(coder.CodeUnavailable, "GitHub does not tell who you are; try again")
	}
	if err := p.admit(ctx, token, user.Login); err != nil {
		return none, err
	}
	email, err := p.email(ctx, token)
	if err != nil {
		return none, err
	}
	return identity.External{
		By: coder.LoginTypeGitHub, Issuer: p.base, Subject: strconv.FormatInt(user.ID, 10), Email: email, Username: user.Login, Name: user.Name,
		AvatarURL: user.AvatarURL, SignUp: p.c.AllowSignups, AccessToken: token.AccessToken, RefreshToken: token.RefreshToken, TokenExpires: token.Expiry,
	}, nil
}

// email gives the primary address, which GitHub must have verified.
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
	return "", coder.Errorf(coder.CodeForbidden, "Your primary e-mail address at GitHub is not verified; verify it there and log in again")
}

// membership is one of an organization at GitHub.
type membership struct {
	State        string `json:"state"`
	Organization struct {
		Login string `json:"login"`
	} `json:"organization"`
}

// admit lets members of the allowed organizations and teams in.
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
		return coder.Errorf(coder.CodeForbidden, "You are not a member of the GitHub organizations that may use this deployment: %s", strings.Join(p.c.AllowedOrgs, ", "))
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
		if err != nil && !coder.Is(err, coder.CodeNotFound) {
			return err
		}
		if err == nil && m.State == "active" {
			return nil
		}
	}
	return coder.Errorf(coder.CodeForbidden, "You are not a member of the GitHub teams that may use this deployment: %s", strings.Join(p.c.AllowedTeams, ", "))
}

// get asks GitHub's API; CodeNotFound for 404.
func (p *githubProvider) get(ctx context.Context, token *oauth2.Token, path string, into any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.api+path, nil)
	if err != nil {
		return fmt.Errorf("ask GitHub: %w", err)
	}
	r.Header.Set("Accept", "application/vnd.github+json")
	r.Header.Set("X-GitHub-Api-Version", "2022-11-28")
	token.SetAuthHeader(r)
	return p.ask(r, into)
}

// ask sends a request and reads the JSON of its answer.
func (p *githubProvider) ask(r *http.Request, into any) error {
	resp, err := p.client.Do(r)
	if err != nil {
		return coder.Errorf(coder.CodeUnavailable, "GitHub cannot be reached; try again later").WithCause(err)
	}
	defer resp.Body.Close() //nolint:errcheck // read to what end it has
	switch {
	case resp.StatusCode == http.StatusNotFound:
		return coder.NotFound()
	case resp.StatusCode != http.StatusOK:
		return coder.Errorf(coder.CodeUnavailable, "GitHub answered %s when it was asked about you; try again later", resp.Status)
	}
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
		return coder.Errorf(coder.CodeUnavailable, "GitHub's answer cannot be read; try again later").WithCause(err)
	}
	return nil
}

func (p *githubProvider) refresh(ctx context.Context, refreshToken string) (*oauth2.Token, error) {
	return p.oauth.TokenSource(context.WithValue(ctx, oauth2.HTTPClient, p.client), &oauth2.Token{RefreshToken: refreshToken}).Token()
}
