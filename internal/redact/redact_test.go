package redact_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder/internal/redact"
)

// TestText: each form of a secret goes away, and what is beside it stays.
func TestText(t *testing.T) {
	r := redact.New("the-literal", "postgres://coder:p%40ss-of-url@db/coder", "x", "")
	for name, c := range map[string]struct{ text, gone, stays string }{
		"a literal":            {"psk is the-literal here", "the-literal", "psk is"},
		"password of a URL":    {"literal p@ss-of-url", "p@ss-of-url", "literal"},
		"URL":                  {"dial postgres://coder:hunter2@db:5432/coder failed", "hunter2", "@db:5432/coder failed"},
		"URL, odd password":    {"postgres://coder:hu/nt@er2@db/coder", "hu/nt@er2", "@db/coder"},
		"token as user of URL": {"clone https://abcdefghijklmnopqrst@git.example.com/x", "abcdefghijklmnopqrst", "git.example.com/x"},
		"DSN":                  {"host=db user=coder password='hunter 2' dbname=coder", "hunter 2", "dbname=coder"},
		"ODBC":                 {"UID=sa;PWD=hunter2;Database=x", "hunter2", "Database=x"},
		"environment":          {"export DB_PASSWORD=hunter2\nexport HOME=/root", "hunter2", "HOME=/root"},
		"logfmt, quoted":       {`level=info token="hunter\"2" path=/x`, `hunter`, "path=/x"},
		"JSON":                 {`{"client_secret":"hunter2","issuer":"https://idp"}`, "hunter2", `"issuer":"https://idp"`},
		"JSON in text":         {`body="{\"api_key\":\"hunter2\",\"id\":7}"`, "hunter2", `\"id\":7`},
		"YAML":                 {"db:\n  password: hunter2\n  port: 5432", "hunter2", "port: 5432"},
		"HCL":                  {"  api_token = \"hunter2\"\n  region = \"eu\"", "hunter2", `region = "eu"`},
		"HCL variable":         {"variable \"db_password\" {\n  type = string\n  default = \"hunter2\"\n}", "hunter2", "type = string"},
		"header":               {"Authorization: Token hunter2 more\nHost: x", "hunter2", "Host: x"},
		"bearer":               {"sent Bearer hunter2hunter2 to it", "hunter2hunter2", "to it"},
		"cookie":               {"Cookie: a=hunter2; b=hunter3\nAccept: */*", "hunter", "Accept: */*"},
		"query":                {"GET /x?page=2&access_token=hunter2&limit=3", "hunter2", "limit=3"},
		"flag":                 {"run --db-password hunter2 --verbose", "hunter2", "--verbose"},
		"flag with =":          {"run --token=hunter2 --verbose", "hunter2", "--verbose"},
		"netrc":                {"machine x login ann password hunter2", "hunter2", "machine x login ann"},
		"SQL":                  {"ALTER ROLE coder IDENTIFIED BY 'hunter2';", "hunter2", "ALTER ROLE coder"},
		"PEM":                  {"a\n-----BEGIN RSA PRIVATE KEY-----\nMIIhunter2\n-----END RSA PRIVATE KEY-----\nb", "MIIhunter2", "\nb"},
		"PEM in one line":      {`"k":"-----BEGIN EC PRIVATE KEY-----\nMIIhunter2\n-----END EC PRIVATE KEY-----","b":1`, "MIIhunter2", `"b":1`},
		"PEM that is cut off":  {"a -----BEGIN OPENSSH PRIVATE KEY-----\nb3Blhunter2", "hunter2", "a "},
		"session token":        {"token abcdefghij-abcdefghijklmnopqrstuv of ann", "abcdefghijklmnopqrstuv", "of ann"},
		"JWT":                  {"sent eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.c2lnbmF0dXJl now", "eyJzdWIiOiIxMjM0", "now"},
		"GitHub":               {"ghp_0123456789abcdefghijABCDEFGHIJ012345 x", "ghp_", " x"},
		"AWS":                  {"id AKIAIOSFODNN7EXAMPLE x", "AKIA", " x"},
		"crypt":                {"admin:$2y$10$abcdefghijklmnopqrstuvABCDEFGHIJKLMNOPQRSTUV0123456789. x", "abcdefghijklm", " x"},
		"webhook":              {"post https://hooks.slack.com/services/T000/B000/hunter2 now", "hunter2", "now"},
	} {
		t.Run(name, func(t *testing.T) {
			got := r.Text(c.text)
			if strings.Contains(got, c.gone) || !strings.Contains(got, c.stays) || !strings.Contains(got, redact.Mark) {
				t.Errorf("%q became %q: want %q gone and %q kept", c.text, got, c.gone, c.stays)
			}
			if again := r.Text(got); again != got {
				t.Errorf("a second time %q became %q", got, again)
			}
		})
	}
}

func TestTelling(t *testing.T) {
	for name, want := range map[string]bool{"DB_PWD": true, "PGPASSWORD": true, "CODER_SESSION_TOKEN": true, "PWD": false, "OLDPWD": false, "HOME": false} {
		if redact.Telling(name) != want {
			t.Errorf("%s holds a secret: %v", name, !want)
		}
	}
}

// TestOrdinaryText: what is no secret stays as it is.
func TestOrdinaryText(t *testing.T) {
	r := redact.New()
	for _, text := range []string{
		`level=INFO msg="the server is ready" access_url=http://127.0.0.1:3000 version=v2.37.0`,
		`{"id":"5f0c7a3e-3c1a-4d2e-9f51-6a1c2b3d4e5f","name":"dev","token_lifetime":3600,"disable_password_auth":false}`,
		"coderd_api_requests_processed_total{code=\"200\",method=\"GET\"} 12",
		"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIN0 ann@example.com",
		"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
		"max_token_lifetime=876600h0m0s provisioner_key_id=4 secret_name=db",
	} {
		if got := r.Text(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// TestJSON: names beside values count, and the document stays JSON.
func TestJSON(t *testing.T) {
	const doc = `{"options":[{"flag":"oidc-client-secret","value":"hunter2"},{"name":"region","value":"eu"}],
		"variables":[{"name":"x","value":"hunter3","sensitive":true}],"keys":{"signing_key":["hunter4"],"token":{"deep":"hunter5"}},
		"log":"password=hunter6\nok","pin_secret":4711,"environment_variables":{"APP":"hunter7"},"env":["A=hunter8"],"count":18446744073709551615}`
	got := redact.New().JSON([]byte(doc))
	var v map[string]any
	if err := json.Unmarshal(got, &v); err != nil {
		t.Fatalf("%v: %s", err, got)
	}
	for _, gone := range []string{"hunter", "4711"} {
		if strings.Contains(string(got), gone) {
			t.Errorf("%q is there: %s", gone, got)
		}
	}
	for _, stays := range []string{`"eu"`, "18446744073709551615", `\nok`} {
		if !strings.Contains(string(got), stays) {
			t.Errorf("%q is gone: %s", stays, got)
		}
	}
	if got := string(redact.New().JSON([]byte("no JSON, password=hunter2"))); strings.Contains(got, "hunter2") {
		t.Errorf("text: %s", got)
	}
}

// BenchmarkText is a line of a server's log.
func BenchmarkText(b *testing.B) {
	r := redact.New("the-literal", "another-literal")
	text := strings.Repeat(`time=2026-11-22T12:00:00.000Z level=DEBUG msg=request name=httpapi method=GET path=/api/v2/workspaces/5f0c7a3e-3c1a-4d2e-9f51-6a1c2b3d4e5f status=200 took=3ms request_id=5f0c7a3e`+"\n", 1000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		r.Text(text)
	}
}
