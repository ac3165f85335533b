package externalauth

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/oauth2"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// Provider is the configuration of one provider: the variables CODER_EXTERNAL_AUTH_<n>_*. Empty fields get
// the defaults of the type. (AU-21)
type Provider struct {
	codersdk.ExternalAuthConfig
	ClientSecret string `json:"client_secret"`
	// ExtraTokenKeys are the fields of token responses that are stored beside the token.
	ExtraTokenKeys []string `json:"extra_token_keys"`
}

// Types of providers that have defaults. Every other type is a generic OAuth2 provider.
const (
	TypeGitHub           = "github"
	TypeGitLab           = "gitlab"
	TypeBitbucketCloud   = "bitbucket-cloud"
	TypeBitbucketServer  = "bitbucket-server"
	TypeAzureDevOps      = "azure-devops"
	TypeAzureDevOpsEntra = "azure-devops-entra"
	TypeGitea            = "gitea"
	TypeJFrog            = "jfrog"
	TypeSlack            = "slack"
)

// provider is a checked configuration.
type provider struct {
	Provider
	match  *regexp.Regexp // of git remotes; nil: none
	oauth  oauth2.Config
	client *http.Client
	pkce   bool

	revocation *revocation // nil: the provider cannot revoke tokens
}

// validID are the characters of a provider's ID: it is part of paths, and of names of variables.
var validID = regexp.MustCompile(`^[a-zA-Z0-9](?:[a-zA-Z0-9_-]*[a-zA-Z0-9])?$`)

// Check returns the providers with the defaults of their types, or an error that names the variable to
// correct.
func Check(given []Provider) ([]Provider, error) {
	out := make([]Provider, 0, len(given))
	for i, p := range given {
		if p.Type == "" {
			p.Type = p.ID
		}
		if p.ID == "" {
			p.ID = p.Type
		}
		fail := func(field, format string, args ...any) error {
			e := codersdk.Errorf(codersdk.CodeInvalid, format, args...)
			return codersdk.Errorf(codersdk.CodeInvalid, "external authentication provider %d (%s): %s: %s", i, p.ID, field, e.Message)
		}
		p = withDefaults(p)
		switch {
		case !validID.MatchString(p.ID):
			return nil, fail("ID", "%q must consist of letters, digits, - and _", p.ID)
		case slices.ContainsFunc(out, func(o Provider) bool { return o.ID == p.ID }):
			return nil, fail("ID", "another provider has this ID; set a different one")
		case p.ClientID == "":
			return nil, fail("CLIENT_ID", "is required; register an application at the provider with the callback URL /external-auth/%s/callback", p.ID)
		case p.ClientSecret == "" && !p.DeviceFlow && !p.usesPKCE():
			return nil, fail("CLIENT_SECRET", "is required")
		case p.AuthURL == "" && !p.DeviceFlow:
			return nil, fail("AUTH_URL", "is required for the type %q", p.Type)
		case p.TokenURL == "":
			return nil, fail("TOKEN_URL", "is required for the type %q", p.Type)
		case p.DeviceFlow && p.DeviceCodeURL == "":
			return nil, fail("DEVICE_CODE_URL", "is required for the device flow of the type %q", p.Type)
		}
		for field, u := range map[string]string{
			"AUTH_URL": p.AuthURL, "TOKEN_URL": p.TokenURL, "VALIDATE_URL": p.ValidateURL, "REVOKE_URL": p.RevokeURL,
			"DEVICE_CODE_URL": p.DeviceCodeURL, "APP_INSTALL_URL": p.AppInstallURL, "APP_INSTALLATIONS_URL": p.AppInstallationsURL,
		} {
			if parsed, err := url.Parse(u); u != "" && (err != nil || parsed.Host == "" || parsed.Scheme != "https" && parsed.Scheme != "http") {
				return nil, fail(field, "%q is not a URL such as https://git.example.com/path", u)
			}
		}
		for field, expression := range map[string]string{
			"REGEX": p.Regex, "MCP_TOOL_ALLOW_REGEX": p.MCPToolAllowRegex, "MCP_TOOL_DENY_REGEX": p.MCPToolDenyRegex,
		} {
			if _, err := regexp.Compile(expression); err != nil {
				return nil, fail(field, "%q is not a regular expression: %v", expression, err)
			}
		}
		if i := slices.IndexFunc(p.CodeChallengeMethodsSupported, func(m string) bool { return m != "S256" && m != "none" }); i >= 0 {
			return nil, fail("PKCE_METHODS", "%q must be S256 or none", p.CodeChallengeMethodsSupported[i])
		}
		out = append(out, p)
	}
	return out, nil
}

// usesPKCE reports whether requests carry a PKCE challenge.
func (p Provider) usesPKCE() bool { return slices.Contains(p.CodeChallengeMethodsSupported, "S256") }

// newProvider returns a provider of a checked configuration, which returns browsers to the callback URL.
func newProvider(c Provider, callback string, client *http.Client) *provider {
	p := &provider{Provider: c, client: client, pkce: c.usesPKCE()}
	if c.Regex != "" {
		p.match = regexp.MustCompile(c.Regex)
	}
	p.oauth = oauth2.Config{
		ClientID: c.ClientID, ClientSecret: c.ClientSecret, RedirectURL: callback, Scopes: c.Scopes,
		Endpoint: oauth2.Endpoint{AuthURL: c.AuthURL, TokenURL: c.TokenURL, DeviceAuthURL: c.DeviceCodeURL, AuthStyle: oauth2.AuthStyleInParams},
	}
	if !known(c.Type) {
		p.oauth.Endpoint.AuthStyle = oauth2.AuthStyleAutoDetect
	}
	p.revocation = p.newRevocation()
	return p
}

// username returns the name with which git sends a token of the provider as the password.
func (p *provider) username() string {
	switch p.Type {
	case TypeBitbucketCloud, TypeBitbucketServer:
		return "x-token-auth"
	case TypeGitHub:
		return "x-access-token"
	}
	return "oauth2"
}

// matches reports whether a git remote, which can lack a scheme, belongs to the provider.
func (p *provider) matches(remote string) bool { return p.match != nil && p.match.MatchString(remote) }

// host returns the host of a URL, with the port.
func host(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}

// at returns the path on the server of an address.
func at(address, path string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return ""
	}
	return u.Scheme + "://" + u.Host + path
}

// remotesOf returns the expression for git remotes on a host.
func remotesOf(host string) string {
	if host == "" {
		return ""
	}
	return `^(https?://)?` + strings.ReplaceAll(regexp.QuoteMeta(host), "/", `\/`) + `(/.*)?$`
}
