package servertest_test

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/mcpapi"
	"github.com/seed-2a7f8fe7/coder/internal/server"
	"github.com/seed-2a7f8fe7/coder/internal/servertest"
)

// TestMCPByOAuth2 calls tools with a token that an application got for the MCP server alone: one that requests the
// API, and one that opens a tunnel to an agent.
func TestMCPByOAuth2(t *testing.T) {
	s := servertest.Start(t, func(c *server.Config) { c.OAuth2.Enable = true })
	w, agentToken := agentWorkspace(t, s)
	startAgent(t, s, w, agentToken)
	app, err := s.Client.PostOAuth2ProviderApp(t.Context(), codersdk.PostOAuth2ProviderAppRequest{Name: "Assistant", CallbackURL: "http://127.0.0.1/callback"})
	must(t, err)
	secret, err := s.Client.PostOAuth2ProviderAppSecret(t.Context(), app.ID)
	must(t, err)
	o := oauth2.Config{
		ClientID: app.ID.String(), ClientSecret: secret.ClientSecretFull, RedirectURL: "http://127.0.0.1:4711/callback",
		Endpoint: oauth2.Endpoint{AuthURL: app.Endpoints.Authorization, TokenURL: app.Endpoints.Token},
	}
	verifier := oauth2.GenerateVerifier()
	address := o.AuthCodeURL("state", oauth2.S256ChallengeOption(verifier), oauth2.SetAuthURLParam("resource", s.AccessURL().String()+mcpapi.Pattern))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(""))
	must(t, err)
	req.Header.Set(codersdk.SessionTokenHeader, s.Client.SessionToken)
	resp, err := (&http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}).Do(req)
	must(t, err)
	resp.Body.Close()
	at, err := url.Parse(resp.Header.Get("Location"))
	must(t, err)
	token, err := o.Exchange(t.Context(), at.Query().Get("code"), oauth2.VerifierOption(verifier))
	must(t, err)
	if got, failed := callTool(t, mcpSession(t, s, token.AccessToken), "coder_get_authenticated_user", nil); failed || !strings.Contains(got, `"username":"admin"`) {
		t.Errorf("tool: %s", got)
	}
	command := map[string]any{"workspace": "dev", "command": "echo out"}
	if got, failed := callTool(t, mcpSession(t, s, token.AccessToken), "coder_workspace_bash", command); failed || !strings.Contains(got, `"output":"out\n"`) {
		t.Errorf("tool in a workspace: %s", got)
	}
	c := codersdk.New(s.AccessURL())
	c.SessionToken = token.AccessToken
	if _, err := c.User(t.Context(), "me"); !codersdk.Is(err, codersdk.CodeUnauthenticated) {
		t.Errorf("the token for MCP opens the API: %v", err)
	}
	if _, err := c.TunnelSettings(t.Context()); !codersdk.Is(err, codersdk.CodeUnauthenticated) {
		t.Errorf("the token for MCP opens tunnels without MCP: %v", err)
	}
}

// mcpClient is a client of MCP that knows only the address of the server: it finds out how to obtain a token,
// registers itself, and asks the user. consent answers for the user.
func mcpClient(t *testing.T, endpoint string, consent auth.AuthorizationCodeFetcher) (*mcp.ClientSession, error) {
	t.Helper()
	const redirect = "http://127.0.0.1:4711/callback"
	handler, err := auth.NewAuthorizationCodeHandler(&auth.AuthorizationCodeHandlerConfig{
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
			ClientName: "Assistant", RedirectURIs: []string{redirect}, GrantTypes: []string{"authorization_code", "refresh_token"},
			ResponseTypes: []string{"code"}, TokenEndpointAuthMethod: "none",
		}},
		RedirectURL: redirect, AuthorizationCodeFetcher: consent,
		ScopeFilter: func([]string) []string { return []string{"user:read_personal", "workspace:read"} },
	})
	must(t, err)
	return mcp.NewClient(&mcp.Implementation{Name: "assistant", Version: "1"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: endpoint, OAuthHandler: handler, DisableStandaloneSSE: true,
	}, nil)
}

// TestMCPClientFlow lets the client of the MCP library sign in with its own OAuth2 flow, from the first response 401 to
// the call of a tool. Its token is for the MCP server, with the scopes that it asked for.
func TestMCPClientFlow(t *testing.T) {
	s := servertest.Start(t, func(c *server.Config) { c.OAuth2.Enable = true })
	endpoint := s.AccessURL().String() + mcpapi.Pattern
	asked, consents := url.Values{}, 0
	consent := func(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
		at, err := url.Parse(args.URL)
		if err != nil {
			return nil, err
		}
		asked = at.Query()
		consents++
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, args.URL, strings.NewReader(""))
		if err != nil {
			return nil, err
		}
		req.Header.Set(codersdk.SessionTokenHeader, s.Client.SessionToken)
		resp, err := (&http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}).Do(req)
		if err != nil {
			return nil, err
		}
		resp.Body.Close()
		back, err := url.Parse(resp.Header.Get("Location"))
		if err != nil {
			return nil, err
		}
		q := back.Query()
		return &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}, nil
	}
	if _, err := mcpClient(t, endpoint, consent); err == nil {
		t.Error("a client registered itself although the deployment does not allow it")
	}
	_, err := s.Client.PutOAuth2ProviderSettings(t.Context(), codersdk.OAuth2ProviderSettings{DynamicClientRegistrationEnabled: true})
	must(t, err)
	session, err := mcpClient(t, endpoint, consent)
	must(t, err)
	t.Cleanup(func() { session.Close() })                          //nolint:errcheck // the server keeps no sessions
	scopes := slices.Sorted(strings.FieldsSeq(asked.Get("scope"))) // the library sends them in any order
	if asked.Get("resource") != endpoint || asked.Get("code_challenge_method") != "S256" || !slices.Equal(scopes, []string{"user:read_personal", "workspace:read"}) {
		t.Errorf("the client asked for %v", asked)
	}
	if got, failed := callTool(t, session, "coder_get_authenticated_user", nil); failed || !strings.Contains(got, `"username":"admin"`) {
		t.Errorf("a tool within the scopes: %s", got)
	}
	if got, failed := callTool(t, session, "coder_list_templates", nil); strings.Contains(got, `"name"`) {
		t.Errorf("a tool outside of the scopes: %t %s", failed, got)
	}
	grants, err := s.Client.OAuth2ProviderGrants(t.Context())
	must(t, err)
	if len(grants) != 1 || grants[0].Resource != endpoint || !grants[0].App.Dynamic || !grants[0].App.Public {
		t.Fatalf("the consents are %+v", grants)
	}
	must(t, s.Client.RevokeOAuth2ProviderApp(t.Context(), grants[0].App.ID))
	before := consents
	if got, failed := callTool(t, session, "coder_get_authenticated_user", nil); failed || consents != before+1 {
		t.Errorf("after the revocation, the client asked for consent %d times: %s", consents-before, got)
	}
}
