package environ

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
)

func TestWorkspaceEnv(t *testing.T) {
	m := &provisioner.Metadata{WorkspaceTransition: provisioner.WorkspaceTransition_DESTROY, WorkspaceBuildId: "6ba7b814-9dad-11d1-80b4-00c04fd430c8"}
	m.WorkspaceOwnerGroups = []string{"devs"}
	m.WorkspaceOwnerRbacRoles = []*provisioner.Role{{Name: "owner"}, {Name: "admin", OrgId: "o"}}
	m.WorkspaceOwnerSessionToken, m.WorkspaceOwnerSshPrivateKey = "tok", "line1\nline2\n"
	m.PrebuiltWorkspaceBuildStage = provisioner.PrebuiltWorkspaceBuildStage_CLAIM
	m.RunningAgentAuthTokens = []*provisioner.RunningAgentAuthToken{{AgentId: "a1", Token: "t1"}}
	env := Workspace(&provisioner.PlanRequest{
		Metadata:                m,
		RichParameterValues:     []*provisioner.RichParameterValue{{Name: "Größe", Value: ""}},
		PreviousParameterValues: []*provisioner.RichParameterValue{{Name: "Größe", Value: "1"}},
		ExternalAuthProviders:   []*provisioner.ExternalAuthProvider{{Id: "github", AccessToken: "gh"}},
	})
	for k, want := range map[string]string{
		"CODER_WORKSPACE_TRANSITION":                          "destroy",
		"CODER_WORKSPACE_OWNER_GROUPS":                        `["devs"]`,
		"CODER_WORKSPACE_OWNER_RBAC_ROLES":                    `[{"name":"owner","org_id":""},{"name":"admin","org_id":"o"}]`,
		"CODER_WORKSPACE_OWNER_SESSION_TOKEN":                 "tok",
		"CODER_WORKSPACE_OWNER_SSH_PRIVATE_KEY":               "line1\nline2\n",
		"CODER_WORKSPACE_IS_PREBUILD_CLAIM":                   "true",
		"CODER_EXTERNAL_AUTH_ACCESS_TOKEN_github":             "gh",
		"CODER_PARAMETER_PREVIOUS_" + digest("Größe"):         "1",
		"CODER_RUNNING_WORKSPACE_AGENT_TOKEN_" + digest("a1"): "t1",
		"CODER_RUNNING_WORKSPACE_AGENT_TOKEN_" + digest(""):   "t1",
		"CODER_WORKSPACE_BUILD_ID":                            m.GetWorkspaceBuildId(),
	} {
		if env[k] != want {
			t.Errorf("%s: got %q, want %q", k, env[k], want)
		}
	}
	if v, ok := env["CODER_PARAMETER_"+digest("Größe")]; !ok || v != "" {
		t.Error("an empty value of a parameter is a value")
	}
	for _, k := range []string{"CODER_AGENT_SCRIPT_linux_amd64", "CODER_AGENT_SCRIPT_windows_amd64", "CODER_AGENT_SCRIPT_darwin_arm64", "CODER_AGENT_SCRIPT_linux_armv7"} {
		if !strings.Contains(env[k], "${ACCESS_URL}") {
			t.Errorf("%s is %q", k, env[k])
		}
	}
	if _, ok := env["CODER_TASK_ID"]; ok {
		t.Error("what is not given must be absent")
	}
	m.RunningAgentAuthTokens = append(m.RunningAgentAuthTokens, &provisioner.RunningAgentAuthToken{AgentId: "a2", Token: "t2"})
	if _, ok := Workspace(&provisioner.PlanRequest{Metadata: m})["CODER_RUNNING_WORKSPACE_AGENT_TOKEN_"+digest("")]; ok {
		t.Error("two agents cannot share a token")
	}
	var roles []ownerRole
	if err := json.Unmarshal([]byte(Workspace(&provisioner.PlanRequest{})["CODER_WORKSPACE_OWNER_RBAC_ROLES"]), &roles); err != nil {
		t.Error(err)
	}
}

func TestDaemonEnv(t *testing.T) {
	got := Daemon([]string{"PATH=/bin", "CODER_PG_CONNECTION_URL=secret", "CODER_PROVISIONER_DAEMON_PSK=secret", "TF_LOG=trace", "TF_LOG_PATH=/x",
		"TF_REATTACH_PROVIDERS={}", "TF_WORKSPACE=x", "TF_DATA_DIR=x", "AWS_PROFILE=p", "TF_VAR_x=1", "TF_CLI_ARGS_plan=-parallelism=1"})
	want := []string{"PATH=/bin", "AWS_PROFILE=p", "TF_VAR_x=1", "TF_CLI_ARGS_plan=-parallelism=1"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}
