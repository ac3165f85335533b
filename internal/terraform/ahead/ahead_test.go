package ahead

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/testtar"
)

const head = `terraform {
  required_providers {
    coder = { source = "coder/coder" }
    docker = { source = "kreuzwerker/docker" }
  }
}
data "coder_workspace" "me" {}
data "coder_workspace_owner" "me" {}
resource "coder_agent" "main" {
  os   = "linux"
  arch = "amd64"
}
`

// TestRead checks which sources can be planned ahead, and the reason of the others.
func TestRead(t *testing.T) {
	for name, c := range map[string]struct {
		source string
		files  map[string]string
		why    string // "" if it can be planned
	}{
		"workspace and owner": {source: `resource "terraform_data" "a" { input = "${data.coder_workspace.me.name} ${data.coder_workspace_owner.me.email}" }`},
		"pure providers":      {source: `resource "random_id" "a" { byte_length = 4 }` + "\n" + `resource "null_resource" "b" {}`},
		"a file of it":        {source: `locals { a = file("${path.module}/a.txt") }`, files: map[string]string{"a.txt": "a"}},
		"values of the apply": {source: `resource "terraform_data" "a" { input = "${timestamp()} ${uuid()}" }`},
		"the home":            {source: `locals { a = pathexpand("~") }`},
		"a link":              {source: `data "coder_external_auth" "g" { id = "github" }` + "\n" + `locals { a = data.coder_external_auth.g.id }`},
		"a template of it":    {source: `locals { a = templatefile("a.tftpl", { x = 1 }) }`, files: map[string]string{"a.tftpl": "${upper(x)}"}},
		"depends_on": {source: `resource "terraform_data" "a" {
  depends_on = [data.coder_workspace_owner.me]
}`},
		"a local module": {source: `module "m" { source = "./m" }`, files: map[string]string{"m/main.tf": `output "o" { value = upper("a") }`}},
		"vouched": {source: `locals { coder_plan_ahead = true }
resource "docker_container" "a" { name = data.coder_workspace.me.name }
data "http" "b" { url = "https://example.com" }`},

		"a session token":        {source: `locals { a = data.coder_workspace_owner.me.session_token }`, why: "a token that is issued for each build"},
		"an indexed token":       {source: `locals { a = data.coder_workspace_owner.me["session_token"] }`, why: "a token that is issued for each build"},
		"a counted token":        {source: `locals { a = data.coder_workspace_owner.me[0].oidc_access_token }`, why: "a token that is issued for each build"},
		"the owner as a whole":   {source: `locals { a = jsonencode(data.coder_workspace_owner.me) }`, why: "as a whole"},
		"a splat":                {source: `locals { a = data.coder_workspace_owner.me[*].session_token }`, why: "as a whole"},
		"an expression as index": {source: `locals { a = data.coder_workspace_owner.me[local.b] }`, why: "as a whole"},
		"data as a whole":        {source: `locals { a = data["coder_workspace_owner"] }`, why: "as a whole"},
		"a token of a link":      {source: `locals { a = data.coder_external_auth.g.access_token }`, why: "a token that is issued for each build"},
		"a token in a module": {source: `module "m" { source = "./m" }`, files: map[string]string{"m/main.tf": `output "o" { value = data.coder_workspace_owner.me.session_token }`},
			why: "m/main.tf:1"},
		"a token although vouched": {source: "locals { coder_plan_ahead = true }\nlocals { a = data.coder_workspace_owner.me.session_token }", why: "a token"},
		"a token in a resource that is vouched for": {source: "locals { coder_plan_ahead = true }\n" +
			`resource "docker_container" "a" { env = [data.coder_workspace_owner.me.session_token] }`, why: "a token"},
		"the date":                    {source: `locals { a = plantimestamp() }`, why: "the result of plantimestamp may change"},
		"a function that is new":      {source: `locals { a = now() }`, why: "the result of now may change"},
		"a function of a provider":    {source: `locals { a = provider::time::rfc3339_parse("x") }`, why: "may change"},
		"a file outside":              {source: `locals { a = file("/etc/passwd") }`, why: "file may read a file outside of the source"},
		"a file above":                {source: `locals { a = file("${path.module}/../a") }`, why: "file may read a file outside of the source"},
		"a file of the home":          {source: `locals { a = file("~/.ssh/id") }`, why: "file may read a file outside of the source"},
		"a file that a value names":   {source: `locals { a = file(var.a) }`, why: "file may read a file outside of the source"},
		"an absolute path":            {source: `locals { a = abspath(".") }`, why: "the result of abspath may change"},
		"the directory":               {source: `locals { a = path.cwd }`, why: "the directory of the build"},
		"the date in a template":      {source: `locals { a = templatefile("a.tftpl", {}) }`, files: map[string]string{"a.tftpl": "${plantimestamp()}"}, why: "plantimestamp"},
		"a template of a value":       {source: `locals { a = templatestring(local.b, {}) }`, why: "templatestring"},
		"another provider":            {source: `resource "docker_container" "a" {}`, why: "docker_container.a is of the provider kreuzwerker/docker"},
		"another provider by name":    {source: `resource "terraform_data" "a" { provider = docker.x }`, why: "kreuzwerker/docker"},
		"a data source":               {source: `data "http" "a" { url = "x" }`, why: "data.http.a is of the provider hashicorp/http"},
		"a state elsewhere":           {source: `data "terraform_remote_state" "a" {}`, why: "data.terraform_remote_state.a"},
		"a data source in a check":    {source: "check \"c\" {\n data \"http\" \"a\" { url = \"x\" }\n}", why: "data.http.a"},
		"an ephemeral resource":       {source: `ephemeral "random_password" "a" {}`, why: "ephemeral blocks are not examined"},
		"an import":                   {source: `import { to = terraform_data.a }`, why: "import blocks are not examined"},
		"a backend":                   {source: "terraform {\n backend \"http\" {}\n}", why: "configures a backend"},
		"switched off":                {source: `locals { coder_plan_ahead = false }`, why: "the template sets coder_plan_ahead = false"},
		"a setting that is no bool":   {source: `locals { coder_plan_ahead = var.a }`, why: "must be true or false"},
		"JSON":                        {files: map[string]string{"a.tf.json": "{}"}, why: "JSON files are not examined"},
		"a module that is not stored": {source: `module "m" { source = "example/m/x" }`, why: `the source of module "m" is not stored`},
		"data that is new":            {source: `data "coder_secret" "a" {}`, why: "data.coder_secret.a is not examined"},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"main.tf": head + c.source}
			maps.Copy(files, c.files)
			got := Read(testtar.Of(t, files), nil)
			if c.why == "" && got.Because != "" || c.why != "" && !strings.Contains(got.Because, c.why) {
				t.Errorf("got %q, want %q", got.Because, c.why)
			}
		})
	}
}

// TestReadFollowsStoredModules checks the files of modules that the import stored.
func TestReadFollowsStoredModules(t *testing.T) {
	source := testtar.Of(t, map[string]string{"main.tf": head + `module "m" { source = "example/m/x" }`})
	modules := func(text string) []byte {
		return testtar.Of(t, map[string]string{
			".terraform/modules/modules.json": `{"Modules": [{"Key": "", "Dir": "."}, {"Key": "m", "Dir": ".terraform/modules/m"}]}`,
			".terraform/modules/m/main.tf":    text, ".terraform/modules/m/examples/a/main.tf": `resource "aws_instance" "a" {}`,
		})
	}
	if got := Read(source, modules(`output "o" { value = file("${path.module}/a") }`)); got.Because != "" {
		t.Error(got.Because)
	}
	if got := Read(source, modules(`resource "aws_instance" "a" {}`)); !strings.Contains(got.Because, "aws_instance.a") {
		t.Errorf("got %q", got.Because)
	}
}

// TestOfState checks that resources that exist are refreshed only by pure providers.
func TestOfState(t *testing.T) {
	of := func(mode, provider string) string {
		return OfState([]byte(`{"resources": [{"mode": "` + mode + `", "type": "x", "name": "y", "provider": "` + provider + `"}]}`))
	}
	for _, provider := range []string{`provider[\"registry.terraform.io/coder/coder\"]`, `module.a.provider[\"terraform.io/builtin/terraform\"]`, `provider[\"registry.opentofu.org/hashicorp/random\"].x`} {
		if why := of("managed", provider); why != "" {
			t.Errorf("%s: %s", provider, why)
		}
	}
	if why := of("managed", `provider[\"registry.terraform.io/kreuzwerker/docker\"]`); !strings.Contains(why, "x.y exists") {
		t.Errorf("got %q", why)
	}
	if why := of("data", `provider[\"registry.terraform.io/kreuzwerker/docker\"]`); why != "" {
		t.Errorf("data: %q", why)
	}
	if OfState([]byte("{")) == "" || OfState(nil) != "" {
		t.Error("a broken state passes, or an empty one does not")
	}
}

// TestBasis checks that everything about the machine and the workspace counts, except what
// is issued for each build.
func TestBasis(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("state", "1")
	write("rc", "1")
	m := Machine{Tool: "terraform/1", Env: []string{"B=1", "A=1", "TF_CLI_CONFIG_FILE=" + filepath.Join(dir, "rc")}, Dir: dir, Files: []string{"state", "missing"}}
	values := map[string]string{"CODER_WORKSPACE_NAME": "dev", "CODER_WORKSPACE_BUILD_ID": "1", "CODER_EXTERNAL_AUTH_ACCESS_TOKEN_github": "1"}
	of := func(m Machine, values map[string]string) string {
		t.Helper()
		b, err := Basis(m, values)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	first := of(m, values)
	if got := of(m, map[string]string{"CODER_WORKSPACE_NAME": "dev", "CODER_WORKSPACE_BUILD_ID": "2", "CODER_WORKSPACE_OWNER_SESSION_TOKEN": "x"}); got != first {
		t.Error("what is issued for each build counts")
	}
	if got := of(m, map[string]string{"CODER_WORKSPACE_NAME": "other"}); got == first {
		t.Error("the workspace does not count")
	}
	host := m
	host.Env = append([]string{"HOSTNAME=a"}, m.Env...)
	if of(host, values) != first {
		t.Error("the host counts")
	}
	tool, env := m, m
	tool.Tool, env.Env = "terraform/2", append(env.Env, "C=1")
	if of(tool, values) == first || of(env, values) == first {
		t.Error("the tool or the environment does not count")
	}
	for _, name := range []string{"state", "rc", "missing"} {
		write(name, "2")
		now := of(m, values)
		if now == first {
			t.Errorf("%s does not count", name)
		}
		first = now
	}
}

// TestPlanIsPacked checks that a plan survives Pack, and that other bytes are refused.
func TestPlanIsPacked(t *testing.T) {
	p := Plan{Basis: "b", File: []byte{0, 1, 255}, MadeAt: time.Unix(1, 0).UTC()}
	packed, err := p.Pack()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Unpack(packed); err != nil || got.Basis != p.Basis || string(got.File) != string(p.File) || !got.MadeAt.Equal(p.MadeAt) {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := Unpack([]byte("not a plan")); err == nil {
		t.Error("it was read")
	}
}
