package terraform

import (
	"fmt"
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
)

const agentDev = `
resource "coder_agent" "dev" {
  os   = "linux"
  arch = "amd64"
}
`

// shapes are templates and what both a plan and a state of them must give:
// one line per resource, with the agents in it and what belongs to them; or
// the error.
var shapes = map[string]struct {
	files map[string]string
	want  string
	err   string
}{
	"no agent": {
		files: map[string]string{"main.tf": head + `resource "terraform_data" "disk" {}`},
		want:  "terraform_data.disk",
	},
	"agent that nothing runs": {
		files: map[string]string{"main.tf": head + agentDev + `resource "terraform_data" "disk" {}`},
		want:  "terraform_data.disk",
	},
	"two agents in two machines": {
		files: map[string]string{"main.tf": head + agentDev + `
resource "coder_agent" "gpu" {
  os   = "linux"
  arch = "arm64"
}
resource "terraform_data" "a" { input = coder_agent.dev.token }
resource "terraform_data" "b" { input = coder_agent.gpu.token }
resource "coder_app" "one" {
  agent_id = coder_agent.dev.id
  slug     = "one"
}
resource "coder_app" "two" {
  agent_id = coder_agent.gpu.id
  slug     = "two"
}
resource "coder_script" "s" {
  agent_id     = coder_agent.gpu.id
  display_name = "s"
  script       = "true"
  run_on_start = true
}`},
		want: "terraform_data.a dev(app one)\nterraform_data.b gpu(app two, script s)",
	},
	"two agents in one machine": {
		files: map[string]string{"main.tf": head + agentDev + `
resource "coder_agent" "aux" {
  os    = "linux"
  arch  = "amd64"
  order = -1
}
resource "terraform_data" "vm" { input = [coder_agent.dev.token, coder_agent.aux.token] }`},
		want: "terraform_data.vm aux() dev()",
	},
	"through a local value and a template": {
		files: map[string]string{
			"main.tf": head + agentDev + `
locals { script = templatefile("${path.module}/start.tftpl", { init = local.inner }) }
locals { inner = base64encode(coder_agent.dev.init_script) }
resource "terraform_data" "vm" { input = local.script }`,
			"start.tftpl": "#!/bin/sh\necho ${init} | base64 -d | sh\n",
		},
		want: "terraform_data.vm dev()",
	},
	"the nearest of a chain": {
		files: map[string]string{"main.tf": head + agentDev + `
resource "terraform_data" "vm" { input = coder_agent.dev.token }
resource "terraform_data" "after" { input = terraform_data.vm.id }
resource "terraform_data" "after_both" { input = [terraform_data.after.id, coder_agent.dev.id] }
resource "coder_metadata" "m" {
  resource_id = terraform_data.after.id
  daily_cost  = 7
  icon        = "/icon/x.svg"
  item {
    key   = "vm"
    value = terraform_data.vm.id
  }
}`},
		want: "terraform_data.after cost 7 icon /icon/x.svg items vm\nterraform_data.after_both\nterraform_data.vm dev()",
	},
	"app that also needs the machine": {
		files: map[string]string{"main.tf": head + agentDev + `
resource "coder_agent" "other" {
  os   = "linux"
  arch = "amd64"
  env  = { PEER = coder_agent.dev.id }
}
resource "terraform_data" "vm" { input = coder_agent.dev.token }
resource "terraform_data" "vm2" { input = coder_agent.other.token }
resource "coder_app" "web" {
  agent_id = coder_agent.dev.id
  slug     = "web"
  url      = "http://${terraform_data.vm2.id}"
}`},
		want: "terraform_data.vm dev(app web)\nterraform_data.vm2 other()",
	},
	"agent in a module, machine and app outside": {
		files: map[string]string{
			"main.tf": head + `
module "a" { source = "./agent" }
resource "terraform_data" "vm" { input = module.a.token }
resource "coder_app" "web" {
  agent_id = module.a.id
  slug     = "web"
}`,
			"agent/main.tf": head + agentDev + `
output "token" {
  value     = coder_agent.dev.token
  sensitive = true
}
output "id" { value = coder_agent.dev.id }`,
		},
		want: "terraform_data.vm dev(app web)",
	},
	"agent outside, machine and app in nested modules": {
		files: map[string]string{
			"main.tf": head + agentDev + `
module "m" {
  source = "./machine"
  agent  = coder_agent.dev
}`,
			"machine/main.tf": head + `
variable "agent" {}
module "inner" {
  source = "./inner"
  token  = var.agent.token
}
resource "coder_app" "web" {
  agent_id = var.agent.id
  slug     = "web"
}`,
			"machine/inner/main.tf": head + `
variable "token" {}
resource "terraform_data" "vm" { input = var.token }
resource "coder_metadata" "m" {
  resource_id = terraform_data.vm.id
  hide        = true
}`,
		},
		want: "module.m.module.inner:terraform_data.vm hidden dev(app web)",
	},
	"count of the machine": {
		files: map[string]string{"main.tf": head + agentDev + `
resource "terraform_data" "vm" {
  count = 2
  input = coder_agent.dev.token
}
resource "coder_metadata" "m" {
  count       = 2
  resource_id = terraform_data.vm[count.index].id
  daily_cost  = count.index + 1
}`},
		want: "terraform_data.vm cost 1 dev()\nterraform_data.vm cost 2",
	},
	"agent with count 1": {
		files: map[string]string{"main.tf": head + `
resource "coder_agent" "dev" {
  count = data.coder_workspace.me.start_count
  os    = "linux"
  arch  = "amd64"
}
resource "terraform_data" "vm" {
  count = data.coder_workspace.me.start_count
  input = coder_agent.dev[0].token
}
resource "coder_env" "e" {
  count    = data.coder_workspace.me.start_count
  agent_id = coder_agent.dev[0].id
  name     = "E"
  value    = "1"
}`},
		want: "terraform_data.vm dev(env E=1)",
	},
	"agents of a for_each have one name": {
		files: map[string]string{"main.tf": head + `
resource "coder_agent" "dev" {
  for_each = toset(["a", "b"])
  os       = "linux"
  arch     = "amd64"
}
resource "terraform_data" "vm" {
  for_each = toset(["a", "b"])
  input    = coder_agent.dev[each.key].token
}`},
		err: `coder_agent.dev["a"] and coder_agent.dev["b"] have the same name`,
	},
	"agents of two modules have one name": {
		files: map[string]string{
			"main.tf": head + `
module "x" { source = "./vm" }
module "y" { source = "./vm" }`,
			"vm/main.tf": head + agentDev + `resource "terraform_data" "vm" { input = coder_agent.dev.token }`,
		},
		err: "module.x.coder_agent.dev and module.y.coder_agent.dev have the same name",
	},
	"module with for_each of which one is used": {
		files: map[string]string{
			"main.tf": head + `
module "vm" {
  source   = "./vm"
  for_each = toset(["eu"])
}`,
			"vm/main.tf": head + agentDev + `
resource "terraform_data" "vm" { input = coder_agent.dev.token }
resource "coder_app" "web" {
  agent_id = coder_agent.dev.id
  slug     = "web"
}`,
		},
		want: `module.vm["eu"]:terraform_data.vm dev(app web)`,
	},
	"agent with an underscore": {
		files: map[string]string{"main.tf": head + `
resource "coder_agent" "my_agent" {
  os   = "linux"
  arch = "amd64"
}
resource "terraform_data" "vm" { input = coder_agent.my_agent.token }`},
		err: `coder_agent.my_agent: the name of an agent becomes part of host names; use letters, digits and single hyphens, as in "my-agent"`,
	},
	"same slug twice": {
		files: map[string]string{"main.tf": head + agentDev + `
resource "terraform_data" "vm" { input = coder_agent.dev.token }
resource "coder_app" "a" {
  agent_id = coder_agent.dev.id
  slug     = "web"
}
resource "coder_app" "b" {
  agent_id = coder_agent.dev.id
  slug     = "web"
}`},
		err: `coder_app.a and coder_app.b have the same slug "web"`,
	},
	"same parameter twice": {
		files: map[string]string{"main.tf": head + `
data "coder_parameter" "a" { name = "size" }
data "coder_parameter" "b" { name = "size" }`},
		err: `data.coder_parameter.a and data.coder_parameter.b have the same name "size"`,
	},
	"two metadata for one resource": {
		files: map[string]string{"main.tf": head + `
resource "terraform_data" "vm" {}
resource "coder_metadata" "a" { resource_id = terraform_data.vm.id }
resource "coder_metadata" "b" { resource_id = terraform_data.vm.id }`},
		err: "coder_metadata.a and coder_metadata.b both refer to terraform_data.vm",
	},
	"merged environment": {
		files: map[string]string{"main.tf": head + agentDev + `
resource "terraform_data" "vm" { input = coder_agent.dev.token }
resource "coder_env" "a" {
  agent_id = coder_agent.dev.id
  name     = "PATH"
  value    = "/a"
}
resource "coder_env" "b" {
  agent_id       = coder_agent.dev.id
  name           = "PATH"
  value          = "/b"
  merge_strategy = "append"
}
resource "coder_env" "c" {
  agent_id       = coder_agent.dev.id
  name           = "PATH"
  value          = "/c"
  merge_strategy = "prepend"
}`},
		want: "terraform_data.vm dev(env PATH=/c:/a:/b)",
	},
	"environment that must be single": {
		files: map[string]string{"main.tf": head + agentDev + `
resource "terraform_data" "vm" { input = coder_agent.dev.token }
resource "coder_env" "a" {
  agent_id = coder_agent.dev.id
  name     = "X"
}
resource "coder_env" "b" {
  agent_id       = coder_agent.dev.id
  name           = "X"
  merge_strategy = "error"
}`},
		err: "coder_env.b: X is already defined by another coder_env",
	},
	"machine's own identity": {
		files: map[string]string{"main.tf": head + `
resource "coder_agent" "dev" {
  os   = "linux"
  arch = "amd64"
  auth = "aws-instance-identity"
}
resource "terraform_data" "vm" { input = "no user data" }
resource "coder_agent_instance" "i" {
  agent_id    = coder_agent.dev.id
  instance_id = terraform_data.vm.id
}`},
		want: "terraform_data.vm dev(by instance)",
	},
	"what is in a dev container": {
		files: map[string]string{"main.tf": head + agentDev + `
resource "terraform_data" "vm" { input = coder_agent.dev.id }
resource "coder_devcontainer" "site" {
  agent_id         = coder_agent.dev.id
  workspace_folder = "/site"
}
resource "coder_app" "outer" {
  agent_id = coder_agent.dev.id
  slug     = "outer"
}
resource "coder_app" "inner" {
  agent_id = coder_devcontainer.site.subagent_id
  slug     = "inner"
}
resource "coder_env" "inner" {
  agent_id = coder_devcontainer.site.subagent_id
  name     = "A"
  value    = "b"
}
resource "coder_script" "inner" {
  agent_id     = coder_devcontainer.site.subagent_id
  display_name = "Hi"
  script       = "true"
  run_on_start = true
}`},
		want: "terraform_data.vm dev(app outer, container site[app inner, script Hi, env A=b])",
	},
	"external agent, container, task": {
		files: map[string]string{"main.tf": head + agentDev + `
resource "coder_external_agent" "mine" { agent_id = coder_agent.dev.id }
resource "coder_devcontainer" "site" {
  agent_id         = coder_agent.dev.id
  workspace_folder = "/site"
}
resource "coder_app" "chat" {
  agent_id = coder_agent.dev.id
  slug     = "chat"
}
resource "coder_ai_task" "t" { app_id = coder_app.chat.id }`},
		want: "coder_external_agent.mine dev(app chat, container site)\nexternal agents\ntasks 1",
	},
	"presets and logins": {
		files: map[string]string{"main.tf": head + `
data "coder_parameter" "size" {
  name    = "size"
  default = "1"
}
data "coder_workspace_preset" "small" {
  name        = "Small"
  description = "few"
  default     = true
  parameters  = { size = "1" }
  prebuilds {
    instances = 2
    expiration_policy { ttl = 3600 }
  }
}
data "coder_external_auth" "a" {
  id       = "github"
  optional = true
}
data "coder_external_auth" "b" { id = "github" }`},
		want: "parameter size\npreset Small default size=1 prebuilds 2 for 3600 s\nlogin github required",
	},
}

func TestShapes(t *testing.T) {
	e := newEngine(t)
	for name, c := range shapes {
		t.Run(name, func(t *testing.T) {
			j, init := open(t, e, c.files)
			if init.GetError() != "" {
				t.Fatal(init.GetError())
			}
			for _, source := range []provisioner.GraphSource{provisioner.GraphSource_SOURCE_PLAN, provisioner.GraphSource_SOURCE_STATE} {
				if source == provisioner.GraphSource_SOURCE_PLAN {
					ok[*provisioner.PlanComplete](t)(j.Plan(t.Context(), &provisioner.PlanRequest{Metadata: metadata(provisioner.WorkspaceTransition_START)}))
				} else {
					ok[*provisioner.ApplyComplete](t)(j.Apply(t.Context(), &provisioner.ApplyRequest{}))
				}
				graph, err := j.Graph(t.Context(), &provisioner.GraphRequest{Source: source})
				if err != nil {
					t.Fatal(err)
				}
				if c.err != "" {
					if !strings.Contains(graph.GetError(), c.err) {
						t.Errorf("%v: got error %q, want %q", source, graph.GetError(), c.err)
					}
					continue
				}
				if graph.GetError() != "" {
					t.Fatalf("%v: %s", source, graph.GetError())
				}
				if got := summary(graph); got != c.want {
					t.Errorf("%v: got\n%s\nwant\n%s", source, got, c.want)
				}
			}
		})
	}
}

// TestFullGraph reads the form of graph that older versions and OpenTofu print,
// with every node of the plan, and wants the same.
func TestFullGraph(t *testing.T) {
	e := newEngine(t)
	for _, name := range []string{
		"through a local value and a template", "app that also needs the machine", "agent in a module, machine and app outside",
		"agent outside, machine and app in nested modules", "module with for_each of which one is used", "two agents in two machines",
	} {
		t.Run(name, func(t *testing.T) {
			j, _ := open(t, e, shapes[name].files)
			ok[*provisioner.PlanComplete](t)(j.Plan(t.Context(), &provisioner.PlanRequest{Metadata: metadata(provisioner.WorkspaceTransition_START)}))
			dot, err := j.output(t.Context(), "graph", "graph", "-type=plan")
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(dot), "[root]") {
				t.Skip("this version has no full graph")
			}
			p, err := j.readPlan(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			g, err := p.Model(dot).Complete(t.Logf)
			if err != nil {
				t.Fatal(err)
			}
			if got := summary(g); got != shapes[name].want {
				t.Errorf("got\n%s\nwant\n%s", got, shapes[name].want)
			}
		})
	}
}

func summary(g *provisioner.GraphComplete) string {
	var lines []string
	for _, r := range g.GetResources() {
		line := r.GetType() + "." + r.GetName()
		if r.GetModulePath() != "" {
			line = r.GetModulePath() + ":" + line
		}
		if r.GetHide() {
			line += " hidden"
		}
		if r.GetDailyCost() != 0 {
			line += fmt.Sprintf(" cost %d", r.GetDailyCost())
		}
		if r.GetIcon() != "" {
			line += " icon " + r.GetIcon()
		}
		for i, m := range r.GetMetadata() {
			if i == 0 {
				line += " items"
			}
			line += " " + m.GetKey()
		}
		for _, a := range r.GetAgents() {
			line += " " + agentSummary(a)
		}
		lines = append(lines, line)
	}
	for _, p := range g.GetParameters() {
		lines = append(lines, "parameter "+p.GetName())
	}
	for _, p := range g.GetPresets() {
		line := "preset " + p.GetName()
		if p.GetDefault() {
			line += " default"
		}
		for _, v := range p.GetParameters() {
			line += " " + v.GetName() + "=" + v.GetValue()
		}
		lines = append(lines, fmt.Sprintf("%s prebuilds %d for %d s", line, p.GetPrebuild().GetInstances(), p.GetPrebuild().GetExpirationPolicy().GetTtl()))
	}
	for _, a := range g.GetExternalAuthProviders() {
		lines = append(lines, "login "+a.GetId()+map[bool]string{true: " optional", false: " required"}[a.GetOptional()])
	}
	if g.GetHasExternalAgents() {
		lines = append(lines, "external agents")
	}
	if g.GetHasAiTasks() {
		lines = append(lines, fmt.Sprintf("tasks %d", len(g.GetAiTasks())))
	}
	return strings.Join(lines, "\n")
}

func agentSummary(a *provisioner.Agent) string {
	var parts []string
	if _, is := a.GetAuth().(*provisioner.Agent_InstanceId); is {
		parts = append(parts, "by instance")
	}
	for _, app := range a.GetApps() {
		parts = append(parts, "app "+app.GetSlug())
	}
	for _, s := range a.GetScripts() {
		parts = append(parts, "script "+s.GetDisplayName())
	}
	for _, e := range a.GetExtraEnvs() {
		parts = append(parts, "env "+e.GetName()+"="+e.GetValue())
	}
	for _, d := range a.GetDevcontainers() {
		parts = append(parts, "container "+d.GetName()+within(d))
	}
	return a.GetName() + "(" + strings.Join(parts, ", ") + ")"
}

// within returns what the agent of a dev container has, "" for nothing.
func within(d *provisioner.Devcontainer) string {
	var parts []string
	for _, p := range d.GetApps() {
		parts = append(parts, "app "+p.GetSlug())
	}
	for _, s := range d.GetScripts() {
		parts = append(parts, "script "+s.GetDisplayName())
	}
	for _, e := range d.GetEnvs() {
		parts = append(parts, "env "+e.GetName()+"="+e.GetValue())
	}
	if parts == nil {
		return ""
	}
	return "[" + strings.Join(parts, ", ") + "]"
}
