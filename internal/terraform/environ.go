package terraform

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/internal/initscript"
	"github.com/seed-2a7f8fe7/coder/internal/tfprovider"
)

// daemonEnv is what Terraform may see of the daemon's environment: everything
// that cloud providers log in with, nothing of the daemon's own settings and
// secrets, and nothing that would change how Terraform itself behaves.
func daemonEnv(environ []string) []string {
	banned := []string{"TF_REATTACH_PROVIDERS", "TF_PLUGIN_MAGIC_COOKIE", "TF_WORKSPACE", "TF_DATA_DIR", "TF_INPUT", "TF_IN_AUTOMATION", "TF_APPEND_USER_AGENT", "NO_COLOR"}
	var kept []string
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		if strings.HasPrefix(name, "CODER_") || strings.HasPrefix(name, "TF_LOG") || slices.Contains(banned, name) {
			continue
		}
		kept = append(kept, kv)
	}
	return kept
}

// maxEnv is the longest value that goes into Terraform's own environment; the
// kernel refuses 128 KiB. The provider gets longer ones too.
const maxEnv = 96 << 10

// workspaceEnv is everything that the coder provider reads for a plan. (TF-01)
func workspaceEnv(req *provisioner.PlanRequest) map[string]string {
	m := req.GetMetadata()
	env := map[string]string{
		"CODER_AGENT_URL":                         m.GetCoderUrl(),
		"CODER_WORKSPACE_TRANSITION":              strings.ToLower(m.GetWorkspaceTransition().String()),
		"CODER_WORKSPACE_NAME":                    m.GetWorkspaceName(),
		"CODER_WORKSPACE_ID":                      m.GetWorkspaceId(),
		"CODER_WORKSPACE_OWNER":                   m.GetWorkspaceOwner(),
		"CODER_WORKSPACE_OWNER_ID":                m.GetWorkspaceOwnerId(),
		"CODER_WORKSPACE_OWNER_NAME":              m.GetWorkspaceOwnerName(),
		"CODER_WORKSPACE_OWNER_EMAIL":             m.GetWorkspaceOwnerEmail(),
		"CODER_WORKSPACE_OWNER_GROUPS":            jsonText(m.GetWorkspaceOwnerGroups()),
		"CODER_WORKSPACE_OWNER_RBAC_ROLES":        jsonText(ownerRoles(m)),
		"CODER_WORKSPACE_OWNER_SSH_PUBLIC_KEY":    m.GetWorkspaceOwnerSshPublicKey(),
		"CODER_WORKSPACE_OWNER_SSH_PRIVATE_KEY":   m.GetWorkspaceOwnerSshPrivateKey(),
		"CODER_WORKSPACE_OWNER_SESSION_TOKEN":     m.GetWorkspaceOwnerSessionToken(),
		"CODER_WORKSPACE_OWNER_OIDC_ACCESS_TOKEN": m.GetWorkspaceOwnerOidcAccessToken(),
		"CODER_WORKSPACE_OWNER_LOGIN_TYPE":        m.GetWorkspaceOwnerLoginType(),
		"CODER_WORKSPACE_TEMPLATE_ID":             m.GetTemplateId(),
		"CODER_WORKSPACE_TEMPLATE_NAME":           m.GetTemplateName(),
		"CODER_WORKSPACE_TEMPLATE_VERSION":        m.GetTemplateVersion(),
		"CODER_WORKSPACE_BUILD_ID":                m.GetWorkspaceBuildId(),
		"CODER_TASK_ID":                           m.GetTaskId(),
		"CODER_TASK_PROMPT":                       m.GetTaskPrompt(),
	}
	switch m.GetPrebuiltWorkspaceBuildStage() {
	case provisioner.PrebuiltWorkspaceBuildStage_CREATE:
		env["CODER_WORKSPACE_IS_PREBUILD"] = "true"
	case provisioner.PrebuiltWorkspaceBuildStage_CLAIM:
		env["CODER_WORKSPACE_IS_PREBUILD_CLAIM"] = "true"
	}
	if m.GetWorkspaceBuildId() == "" {
		env[tfprovider.Placeholders] = "true"
	}
	for _, p := range initscript.Platforms() {
		env["CODER_AGENT_SCRIPT_"+p.OS+"_"+p.Arch], _ = initscript.Script(p.OS, p.Arch)
	}
	for _, p := range req.GetRichParameterValues() {
		env["CODER_PARAMETER_"+digest(p.GetName())] = p.GetValue()
	}
	for _, p := range req.GetPreviousParameterValues() {
		env["CODER_PARAMETER_PREVIOUS_"+digest(p.GetName())] = p.GetValue()
	}
	for _, a := range req.GetExternalAuthProviders() {
		env["CODER_EXTERNAL_AUTH_ACCESS_TOKEN_"+a.GetId()] = a.GetAccessToken()
	}
	tokens := m.GetRunningAgentAuthTokens()
	for _, t := range tokens {
		env["CODER_RUNNING_WORKSPACE_AGENT_TOKEN_"+digest(t.GetAgentId())] = t.GetToken()
	}
	// The provider asks for the token of no agent in particular, which can
	// only be answered when there is one agent.
	if len(tokens) == 1 {
		env["CODER_RUNNING_WORKSPACE_AGENT_TOKEN_"+digest("")] = tokens[0].GetToken()
	}
	maps.DeleteFunc(env, func(k, v string) bool {
		return v == "" && !strings.HasPrefix(k, "CODER_PARAMETER_")
	})
	return env
}

type ownerRole struct {
	Name  string `json:"name"`
	OrgID string `json:"org_id"`
}

func ownerRoles(m *provisioner.Metadata) []ownerRole {
	roles := []ownerRole{}
	for _, r := range m.GetWorkspaceOwnerRbacRoles() {
		roles = append(roles, ownerRole{r.GetName(), r.GetOrgId()})
	}
	return roles
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// jsonText writes strings or roles as JSON, an empty list as [].
func jsonText[T any](list []T) string {
	if len(list) == 0 {
		return "[]"
	}
	b, err := json.Marshal(list)
	if err != nil {
		return "[]"
	}
	return string(b)
}

// environ is the whole environment of one Terraform command: the daemon's, the
// workspace's, and what makes Terraform quiet, offline-minded and attached.
func (s *session) environ(extra ...string) []string {
	own := map[string]string{
		"CHECKPOINT_DISABLE":    "1",
		"TF_IN_AUTOMATION":      "1",
		"TF_INPUT":              "0",
		"NO_COLOR":              "1",
		"TF_REATTACH_PROVIDERS": s.provider.reattach,
	}
	for k, v := range s.workspace {
		if len(v) <= maxEnv {
			own[k] = v
		}
	}
	if s.config.GetProvisionerLogLevel() == "debug" || s.config.GetProvisionerLogLevel() == "trace" {
		own["TF_LOG"] = strings.ToUpper(s.config.GetProvisionerLogLevel())
	}
	var env []string
	for _, kv := range s.engine.baseEnv() {
		if name, _, _ := strings.Cut(kv, "="); own[name] == "" {
			env = append(env, kv)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(own)) {
		env = append(env, k+"="+own[k])
	}
	return append(env, extra...)
}
