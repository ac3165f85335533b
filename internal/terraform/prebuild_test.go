package terraform

import (
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
)

// prebuilt is a template that asks the real provider for whom it is built, with
// an agent that a new owner changes, on a machine that knows its token and, as
// docs/prebuilds.md asks, is not replaced for it.
const prebuilt = head + `
resource "coder_agent" "main" {
  os   = "linux"
  arch = "amd64"
  env  = { OWNER = data.coder_workspace_owner.me.name }
}
resource "terraform_data" "machine" {
  count            = data.coder_workspace.me.start_count
  triggers_replace = [coder_agent.main.token]
  lifecycle {
    ignore_changes = [triggers_replace] # a new owner makes a new agent, whose token is known to be the same too late
  }
}
resource "terraform_data" "stage" {
  count = data.coder_workspace.me.start_count
  input = "prebuild=${data.coder_workspace.me.is_prebuild} claim=${data.coder_workspace.me.is_prebuild_claim} count=${data.coder_workspace.me.prebuild_count} owner=${data.coder_workspace_owner.me.name}"
}
resource "coder_metadata" "stage" {
  count       = data.coder_workspace.me.start_count
  resource_id = terraform_data.machine[0].id
  item {
    key   = "stage"
    value = terraform_data.stage[0].output
  }
  item {
    key   = "machine"
    value = terraform_data.machine[0].id
  }
}
`

// TestClaim builds a workspace for nobody and then for who claims it: the real
// provider reports it, and neither the agent's token nor the machine changes.
func TestClaim(t *testing.T) {
	e := newEngine(t)
	run := func(m *provisioner.Metadata, state []byte) (token, stage, machine string, after []byte) {
		t.Helper()
		j, _ := open(t, e, map[string]string{"main.tf": prebuilt})
		ok[*provisioner.PlanComplete](t)(j.Plan(t.Context(), &provisioner.PlanRequest{Metadata: m, State: state}))
		applied := ok[*provisioner.ApplyComplete](t)(j.Apply(t.Context(), &provisioner.ApplyRequest{Metadata: m}))
		graph := ok[*provisioner.GraphComplete](t)(j.Graph(t.Context(), &provisioner.GraphRequest{Metadata: m, Source: provisioner.GraphSource_SOURCE_STATE}))
		for _, r := range graph.GetResources() {
			for _, a := range r.GetAgents() {
				token = a.GetToken()
				if a.GetEnv()["OWNER"] != m.WorkspaceOwner {
					t.Errorf("the agent is of %v", a.GetEnv())
				}
			}
			for _, x := range r.GetMetadata() {
				switch x.GetKey() {
				case "stage":
					stage = x.GetValue()
				case "machine":
					machine = x.GetValue()
				}
			}
		}
		if token == "" || machine == "" {
			t.Fatalf("got %v", graph)
		}
		return token, stage, machine, applied.GetState()
	}
	m := metadata(provisioner.WorkspaceTransition_START)
	m.WorkspaceName, m.WorkspaceOwner, m.PrebuiltWorkspaceBuildStage = "prebuild-1", "prebuilds", provisioner.PrebuiltWorkspaceBuildStage_CREATE
	token, stage, machine, state := run(m, nil)
	if stage != "prebuild=true claim=false count=1 owner=prebuilds" {
		t.Errorf("built for nobody it is told %q", stage)
	}

	m = metadata(provisioner.WorkspaceTransition_START)
	m.PrebuiltWorkspaceBuildStage = provisioner.PrebuiltWorkspaceBuildStage_CLAIM
	m.RunningAgentAuthTokens = []*provisioner.RunningAgentAuthToken{{AgentId: "6ba7b815-9dad-11d1-80b4-00c04fd430c8", Token: token}}
	again, stage, same, state := run(m, state)
	if stage != "prebuild=false claim=true count=0 owner=ann" {
		t.Errorf("claimed it is told %q", stage)
	}
	if again != token || same != machine {
		t.Errorf("token kept %t, machine kept %t", again == token, same == machine)
	}

	m = metadata(provisioner.WorkspaceTransition_START)
	_, stage, _, _ = run(m, state)
	if !strings.HasPrefix(stage, "prebuild=false claim=false") {
		t.Errorf("built once more it is told %q", stage)
	}
}
