package external

import (
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	c := Config{List: []map[string]any{{"type": "gitlab", "client_id": "one", "client_secret": "hush"}}}
	got, err := c.Read(map[string]string{
		"CODER_EXTERNAL_AUTH_0_CLIENT_ID": "two", "CODER_EXTERNAL_AUTH_10_TYPE": "github", "CODER_EXTERNAL_AUTH_10_CLIENT_ID": "x",
		"CODER_EXTERNAL_AUTH_10_CLIENT_SECRET": "y", "CODER_EXTERNAL_AUTH_10_SCOPES": "repo user", "CODER_EXTERNAL_AUTH_10_NO_REFRESH": "true",
		"CODER_GITAUTH_2_ID": "acme", "CODER_GITAUTH_2_TYPE": "oidc", "CODER_GITAUTH_2_CLIENT_ID": "z", "CODER_GITAUTH_2_CLIENT_SECRET": "z",
		"CODER_GITAUTH_2_AUTH_URL": "https://id.acme.com/a", "CODER_GITAUTH_2_TOKEN_URL": "https://id.acme.com/t", "CODER_GITAUTH_2_PKCE_METHODS": "none",
		"CODER_GITAUTH_2_EXTRA_TOKEN_KEYS": "user team", "CODER_EXTERNAL_AUTH_ACCESS_TOKEN_x": "of a workspace",
	})
	if err != nil || len(got) != 3 || got[0].ID != "gitlab" || got[0].ClientID != "two" || got[1].ID != "acme" || len(got[1].CodeChallengeMethodsSupported) != 0 ||
		got[2].ID != "github" || strings.Join(got[2].Scopes, " ") != "repo user" || !got[2].NoRefresh {
		t.Fatalf("got %+v, %v", got, err)
	}
	if c.Providers[0].ClientSecret != "hush" || strings.Join(c.Providers[1].ExtraTokenKeys, " ") != "user team" {
		t.Errorf("got %+v", c.Providers)
	}
	if secrets := strings.Join(c.Secrets(), " "); !strings.Contains(secrets, "hush") {
		t.Error("the secret is not redacted")
	}
	for want, env := range map[string]map[string]string{
		"$CODER_EXTERNAL_AUTH_0_CLIENTID":   {"CODER_EXTERNAL_AUTH_0_CLIENTID": "x"},
		"$CODER_EXTERNAL_AUTH_0_NO_REFRESH": {"CODER_EXTERNAL_AUTH_0_NO_REFRESH": "maybe"},
		"CLIENT_ID: is required":            {"CODER_EXTERNAL_AUTH_0_ID": "github"},
	} {
		if _, err := new(Config).Read(env); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	c = Config{List: []map[string]any{{"typ": "github"}}}
	if _, err := c.Read(nil); err == nil || !strings.Contains(err.Error(), `"typ"`) {
		t.Errorf("of an unknown field: %v", err)
	}
}
