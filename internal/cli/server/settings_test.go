package server

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/option"
)

func someOptions(t *testing.T) []*option.Option {
	t.Helper()
	options := serverOptions(&command.Run{}, &serverFlags{})
	for _, o := range options {
		if err := o.PreParse(); err != nil {
			t.Fatal(err)
		}
	}
	return options
}

// TestSettingsFollowTheContract: every setting of the contract is there with
// its type, every flag of the table is an option, and every option that users
// can see is in the table.
func TestSettingsFollowTheContract(t *testing.T) {
	b, err := os.ReadFile("../../../api/contract/http-api.json")
	if err != nil {
		t.Fatal(err)
	}
	var c struct {
		Schemas map[string]struct {
			Form   string
			Fields map[string]struct{ Type string }
		}
	}
	if err := json.Unmarshal(b, &c); err != nil {
		t.Fatal(err)
	}
	options := someOptions(t)
	var got map[string]any
	b, err = json.Marshal(settings(options).Config)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	var walk func(name string, v any, at string)
	walk = func(name string, v any, at string) {
		ok := true
		switch name {
		case "string":
			_, ok = v.(string)
		case "boolean":
			_, ok = v.(bool)
		case "integer":
			_, ok = v.(float64)
		case "object", "url.Userinfo":
			_, ok = v.(map[string]any)
		case "array of string":
			_, ok = v.([]any)
		default:
			m, isMap := v.(map[string]any)
			fields := c.Schemas[name].Fields
			if form := c.Schemas[name].Form; strings.HasPrefix(form, "string") {
				_, ok = v.(string)
				break
			} else if strings.Contains(form, "an array") {
				_, ok = v.([]any)
				break
			}
			if ok = isMap || len(fields) == 0; !ok {
				break
			}
			for f, want := range fields {
				if _, there := m[f]; !there {
					t.Errorf("%s lacks %s", at, f)
				} else if !strings.HasPrefix(want.Type, "array of") || want.Type == "array of string" {
					walk(want.Type, m[f], at+"."+f)
				}
			}
		}
		if !ok {
			t.Errorf("%s is %v, the contract says %s", at, v, name)
		}
	}
	walk("DeploymentValues", got, "config")

	known := map[string]bool{}
	for _, o := range options {
		known[o.Flag] = true
	}
	shown := map[string]bool{}
	for line := range strings.Lines(settingsTable) {
		if words := strings.Fields(line); len(words) > 2 && !strings.HasPrefix(words[2], "=") {
			for f := range strings.SplitSeq(words[2], ",") {
				shown[f] = true
				if !known[f] {
					t.Errorf("the table names --%s, which is no option", f)
				}
			}
		}
	}
	b, err = os.ReadFile("../../../api/contract/cli.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range options {
		if !shown[o.Flag] && !o.Hidden && strings.Contains(string(b), `"`+o.Flag+`"`) {
			t.Errorf("--%s is shown nowhere in the settings", o.Flag)
		}
	}
}

// TestSettingsKeepSecrets: what an option that looks like a secret holds, or a
// password in a URL, is nowhere in the settings.
func TestSettingsKeepSecrets(t *testing.T) {
	looks := regexp.MustCompile(`password|secret|psk|-key$|-keys$|auth-header|postgres-url`)
	open := []string{ // they sound like it
		"disable-password-auth", "email-auth-password-file", "notifications-email-auth-password-file", "disable-user-secret-file-path",
	}
	options := someOptions(t)
	const marker = "hush-hush"
	for _, o := range options {
		if looks.MatchString(o.Flag) && !slices.Contains(open, o.Flag) && !slices.Contains(secretFlags(), o.Flag) {
			t.Errorf("--%s looks like a secret and is shown", o.Flag)
		}
		switch {
		case slices.Contains(secretFlags(), o.Flag):
			secret := marker
			if strings.HasPrefix(o.Value.Kind, "struct[") {
				secret = `[{"client_secret":"` + marker + `"}]`
			}
			if err := o.Set(o.Flag, secret); err != nil {
				t.Fatal(err)
			}
		case o.Value.Kind == "url" || o.Flag == "aibridge-proxy-upstream":
			if err := o.Set(o.Flag, "https://somebody:"+marker+"@example.com/x"); err != nil {
				t.Fatal(err)
			}
		}
	}
	got := settings(options)
	b, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(b), marker) {
		t.Errorf("a secret is shown: %s", b)
	}
	for _, o := range got.Options {
		if o.Flag == "postgres-url" && (o.Annotations["secret"] != "true" || o.ValueSource != "flag" || o.Value != "") {
			t.Errorf("that a secret is set is not to be seen: %+v", o)
		}
	}
}

func TestSettingsShowWhereValuesAreFrom(t *testing.T) {
	options := someOptions(t)
	for _, o := range options {
		var err error
		switch o.Flag {
		case "session-duration":
			err = o.Put(option.FromFile, "2h")
		case "email-from":
			err = o.Put(option.FromEnvironment, "coder@example.com")
		case "proxy-trusted-headers":
			err = o.Put(option.FromFlag, "X-Real-IP,X-Forwarded-For")
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	got := settings(options)
	b, err := json.Marshal(got.Config)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"default_duration":7200000000000`, `"from":"coder@example.com"`, `"proxy_trusted_headers":["X-Real-IP","X-Forwarded-For"]`,
		`"access_url":"`, `"pprof":{"address":"127.0.0.1:6060"`, `"links":[`, `"external_auth":[]`,
	} {
		if !strings.Contains(string(b), want) {
			t.Errorf("%s is not in %s", want, b)
		}
	}
	for _, o := range got.Options {
		if o.Flag == "session-duration" && (o.ValueSource != "yaml" || o.Value != int64(7200000000000) || o.Env != "CODER_SESSION_DURATION") {
			t.Errorf("session-duration is %+v", o)
		}
	}
}

// TestWrittenConfigChangesNothing checks that a server which reads the output of
// --write-config has the settings that a server without a file has.
func TestWrittenConfigChangesNothing(t *testing.T) {
	plain := someOptions(t)
	for _, o := range plain {
		if o.Flag == "email-smarthost" {
			if err := o.Put(option.FromFlag, "mail.example.com:25"); err != nil {
				t.Fatal(err)
			}
		}
	}
	text, err := option.WriteFile(plain, func(text string) string { return text })
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "coder.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	fromFile := someOptions(t)
	if err := option.ReadFile(file, fromFile); err != nil {
		t.Fatal(err)
	}
	if err := option.CheckRefused(fromFile); err != nil {
		t.Error(err)
	}
	want, got := settings(plain).Config, settings(fromFile).Config
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the settings are %v, want %v", got, want)
	}
}
