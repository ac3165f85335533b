package external

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/externalauth"
	"github.com/seed-2a7f8fe7/coder/internal/option"
)

// Options declares the options of the group.
func (c *Config) Options() []*option.Option {
	return option.Under(
		"External authentication",
		option.JSON(&c.List, "[]codersdk.ExternalAuthConfig", "external-auth-providers",
			"Providers of external authentication, as a JSON list of objects with the fields id, type, client_id, client_secret and more. "+
				"The variables CODER_EXTERNAL_AUTH_<n>_ID, CODER_EXTERNAL_AUTH_<n>_TYPE and so on set the fields of provider n").
			Env("CODER_EXTERNAL_AUTH_PROVIDERS").
			YAML("externalAuthProviders").
			Hide(),
		option.Bool(new(bool), "external-auth-github-default-provider-enable", "Ignored, for compatibility (there is no default GitHub application)").
			Env("CODER_EXTERNAL_AUTH_GITHUB_DEFAULT_PROVIDER_ENABLE").
			YAML("externalAuthGithubDefaultProviderEnable").
			Def("true").
			Hide(),
	)
}

// externalAuthVariable matches the variables of one provider. GITAUTH is the former name.
var externalAuthVariable = regexp.MustCompile(`^CODER_(?:EXTERNAL_AUTH|GITAUTH)_([0-9]{1,3})_([A-Z0-9_]+)$`)

// The fields of a provider whose variables are not plain text.
var (
	externalAuthLists = []string{"scopes", "extra_token_keys", "code_challenge_methods_supported"}
	externalAuthBools = []string{"no_refresh", "device_flow"}
	externalAuthTexts = []string{
		"id", "type", "client_id", "client_secret", "auth_url", "token_url", "validate_url", "revoke_url", "regex", "device_code_url",
		"display_name", "display_icon", "app_install_url", "app_installations_url", "mcp_url", "mcp_tool_allow_regex", "mcp_tool_deny_regex",
	}
)

// Read sets the providers from the option and the environment, with the defaults of their types.
// It returns them without secrets. A variable overrides the field of the provider with its number in the
// option.
func (c *Config) Read(env map[string]string) ([]codersdk.ExternalAuthConfig, error) {
	byNumber := map[int]map[string]any{}
	for i, p := range c.List {
		for field := range p {
			if !slices.Contains(slices.Concat(externalAuthTexts, externalAuthLists, externalAuthBools), field) {
				return nil, codersdk.Errorf(codersdk.CodeInvalid, "--external-auth-providers: provider %d has the unknown field %q", i, field)
			}
		}
		byNumber[i] = maps.Clone(p)
	}
	for name, value := range env {
		m := externalAuthVariable.FindStringSubmatch(name)
		if m == nil || value == "" {
			continue
		}
		number, err := strconv.Atoi(m[1])
		if err != nil {
			return nil, codersdk.Errorf(codersdk.CodeInvalid, "$%s: %s", name, err)
		}
		if byNumber[number] == nil {
			byNumber[number] = map[string]any{}
		}
		if err := setExternalAuth(byNumber[number], name, m[2], value); err != nil {
			return nil, err
		}
	}
	sorted := make([]map[string]any, 0, len(byNumber))
	for _, n := range slices.Sorted(maps.Keys(byNumber)) {
		sorted = append(sorted, byNumber[n])
	}
	b, err := json.Marshal(sorted)
	if err != nil {
		return nil, err
	}
	var given []externalauth.Provider
	if err := json.Unmarshal(b, &given); err != nil {
		return nil, codersdk.Errorf(codersdk.CodeInvalid, "external authentication providers: %s", err)
	}
	if c.Providers, err = externalauth.Check(given); err != nil {
		return nil, err
	}
	out := make([]codersdk.ExternalAuthConfig, 0, len(given))
	for _, p := range c.Providers {
		out = append(out, p.ExternalAuthConfig)
	}
	return out, nil
}

// setExternalAuth sets one field of a provider from a variable.
func setExternalAuth(p map[string]any, name, field, value string) error {
	field = strings.ToLower(field)
	if field == "pkce_methods" {
		field = "code_challenge_methods_supported"
	}
	switch {
	case slices.Contains(externalAuthTexts, field):
		p[field] = value
	case slices.Contains(externalAuthLists, field):
		p[field] = strings.FieldsFunc(value, func(r rune) bool { return r == ' ' || r == '\t' || field != "scopes" && r == ',' })
	case slices.Contains(externalAuthBools, field):
		b, err := strconv.ParseBool(value)
		if err != nil {
			return codersdk.Errorf(codersdk.CodeInvalid, "$%s must be true or false", name)
		}
		p[field] = b
	default:
		return codersdk.Errorf(codersdk.CodeInvalid, "$%s is not a variable of an external authentication provider; see the documentation for their names", name)
	}
	return nil
}
