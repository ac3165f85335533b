package handover_test

import (
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder/internal/terraform/handover"
	"github.com/seed-2a7f8fe7/coder/internal/testtar"
)

// TestRead judges sources, in which ; ends a line; want is a part of the reason, "" if the
// workspace can be handed over.
func TestRead(t *testing.T) {
	for name, c := range map[string]struct{ main, want string }{
		"nothing of the owner": {`resource "null_resource" "x" { triggers = { id = data.coder_workspace.me.id } }`, ""},
		"the name of the workspace": {
			`resource "docker_container" "x" { name = "dev-${data.coder_workspace.me.name}" }`,
			"main.tf:1: resource docker_container x: its name reads data.coder_workspace.me.name",
		},
		"through a local": {`
			locals { dir = "/home/${data.coder_workspace_owner.me.name}" }
			resource "terraform_data" "x" { input = { dir = local.dir } }`, "its input reads data.coder_workspace_owner.me.name"},
		"ignored":                    {`resource "a" "x" {; env = [data.coder_workspace_owner.me.name]; lifecycle { ignore_changes = [env] }; }`, ""},
		"ignored, all":               {`resource "a" "x" {; env = [data.coder_workspace_owner.me.name]; lifecycle { ignore_changes = all }; }`, ""},
		"another is ignored":         {`resource "a" "x" {; env = [data.coder_workspace_owner.me.name]; lifecycle { ignore_changes = [name] }; }`, "its env reads"},
		"a part is ignored":          {`resource "a" "x" {; tags = { o = data.coder_workspace_owner.me.name }; lifecycle { ignore_changes = [tags["o"]] }; }`, "its tags reads"},
		"count, though all ignored":  {`resource "a" "x" {; count = data.coder_workspace.me.prebuild_count; lifecycle { ignore_changes = all }; }`, "its count reads"},
		"a nested block":             {`resource "a" "x" {; volumes {; dynamic "label" {; for_each = [data.coder_workspace_owner.me.id]; content {}; }; }; }`, "its volumes.label.for_each reads"},
		"only at creation":           {`resource "a" "x" {; provisioner "local-exec" { command = "echo ${data.coder_workspace_owner.me.name}" }; }`, ""},
		"another data source":        {`data "http" "x" { url = "https://${data.coder_workspace_owner.me.name}.example.com" };resource "a" "x" { b = data.http.x.body }`, "its b reads data.coder_workspace_owner"},
		"a program":                  {`resource "a" "x" { b = data.external.x.result.owner }`, "its b reads data.external.x.result"},
		"a token of the owner":       {`resource "a" "x" { b = data.coder_external_auth.github.access_token }`, "its b reads data.coder_external_auth"},
		"a provider":                 {`provider "docker" { host = data.coder_workspace_owner.me.name }`, "provider docker: its host reads"},
		"the agent":                  {`resource "coder_agent" "x" { env = { GIT_AUTHOR_NAME = data.coder_workspace_owner.me.full_name } }`, "resource coder_agent x: its env reads"},
		"only shown":                 {`resource "coder_metadata" "x" {; item {; key = "owner"; value = data.coder_workspace_owner.me.name; }; }`, ""},
		"a parameter":                {`resource "a" "x" { b = data.coder_parameter.size.value }`, ""},
		"the whole workspace":        {`resource "a" "x" { b = jsonencode(data.coder_workspace.me) }`, "its b reads data.coder_workspace.me"},
		"the setting":                {`locals { coder_claim_first = true };resource "a" "x" { b = data.coder_workspace_owner.me.name }`, ""},
		"the setting, no":            {`locals { coder_claim_first = false }`, "sets coder_claim_first = false"},
		"the setting, neither":       {`locals { coder_claim_first = var.x }`, "must be true or false"},
		"a circle":                   {"locals {\n a = local.b\n b = local.a\n}\n" + `resource "a" "x" { b = local.a }`, ""},
		"no Terraform":               {`resource "a`, "cannot be parsed"},
		"a module without source":    {`module "x" { source = "example.com/x/y" }`, `module "x" is not stored`},
		"a module of the owner":      {`module "x" {; source = "./inner"; name = data.coder_workspace_owner.me.name; }`, "inner/main.tf:2: resource a x: its b reads data.coder_workspace_owner.me.name"},
		"a module of a constant":     {`module "x" {; source = "./inner"; name = "x"; }`, ""},
		"how many of a module":       {`module "x" {; source = "./inner"; name = "x"; count = length(data.coder_workspace_owner.me.groups); }`, `module "x": its count reads`},
		"an output of a module":      {`module "x" { source = "./outer" };resource "a" "x" { b = module.x.owner }`, "its b reads data.coder_workspace_owner.me.name"},
		"another output of a module": {`module "x" { source = "./outer" };resource "a" "x" { b = module.x.id }`, ""},
		"an output, by index":        {`module "x" {; source = "./outer"; count = 1; }; resource "a" "x" {; a = module.x[0].id; b = module.x[0].owner; }`, "its b reads"},
		"all outputs":                {`module "x" {; source = "./outer"; count = 1; }; resource "a" "x" { b = module.x[*].id }`, "its b reads"},
	} {
		t.Run(name, func(t *testing.T) {
			source := testtar.Of(t, map[string]string{
				"main.tf":       strings.ReplaceAll(c.main, ";", "\n"),
				"inner/main.tf": "variable \"name\" {}\nresource \"a\" \"x\" {\n b = var.name\n}\n",
				"outer/main.tf": "data \"coder_workspace_owner\" \"me\" {}\noutput \"owner\" {\n value = data.coder_workspace_owner.me.name\n}\noutput \"id\" {\n value = 1\n}\n",
			})
			got := handover.Read(source, nil)
			if got.First != (c.want == "") || !strings.Contains(got.Because, c.want) {
				t.Errorf("got %+v, want %q", got, c.want)
			}
		})
	}
}

// TestReadRemoteModules: modules from a registry are in an archive of their own.
func TestReadRemoteModules(t *testing.T) {
	source := testtar.Of(t, map[string]string{"main.tf": `module "git" { source = "registry.example.com/coder/git/coder" }`})
	modules := func(text string) []byte {
		return testtar.Of(t, map[string]string{
			".terraform/modules/modules.json": `{"Modules":[{"Key":"","Dir":"."},{"Key":"git","Source":"x","Dir":".terraform/modules/git/sub"}]}`,
			".terraform/modules/git/sub/a.tf": text,
		})
	}
	if got := handover.Read(source, modules(`resource "coder_script" "x" { script = "true" }`)); !got.First {
		t.Errorf("%+v", got)
	}
	if got := handover.Read(source, modules(`resource "coder_env" "x" { value = data.coder_workspace_owner.me.email }`)); got.First || !strings.Contains(got.Because, ".terraform/modules/git/sub/a.tf:1: resource coder_env x") {
		t.Errorf("%+v", got)
	}
	for _, name := range []string{"override.tf", "main.tofu", "more.tofu.json"} {
		if got := handover.Read(source, testtar.Of(t, map[string]string{name: ""})); got.First || !strings.Contains(got.Because, "not examined") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
