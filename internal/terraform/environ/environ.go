// Package environ builds the environment in which Terraform and the coder
// provider run.
package environ

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/internal/initscript"
	"github.com/seed-2a7f8fe7/coder/internal/tfprovider/placeholder"
)

// Daemon returns the part of the daemon's environment that Terraform may see:
// the credentials of cloud providers, but not the daemon's own settings and
// secrets, and nothing that changes how Terraform behaves.
func Daemon(environ []string) []string {
	banned := []string{
		"TF_REATTACH_PROVIDERS",
		"TF_PLUGIN_MAGIC_COOKIE",
		"TF_WORKSPACE",
		"TF_DATA_DIR",
		"TF_INPUT",
		"TF_IN_AUTOMATION",
		"TF_APPEND_USER_AGENT",
		"NO_COLOR",
	}
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

// Base returns Daemon's part of the environment with the plug-in cache below cacheDir.
func Base(environ []string, cacheDir string) []string {
	env := Daemon(environ)
	defaults := map[string]string{
		"TF_PLUGIN_CACHE_DIR":                            filepath.Join(cacheDir, "plugins"),
		"TF_PLUGIN_CACHE_MAY_BREAK_DEPENDENCY_LOCK_FILE": "1",
	}
	for i, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		delete(defaults, name)
		if name != "TF_CLI_CONFIG_FILE" {
			continue
		}
		// Terraform would warn in every command about a missing file.
		if _, err := os.Stat(value); err != nil {
			env[i] = name + "=" + os.DevNull
		}
	}
	for k, v := range defaults {
		env = append(env, k+"="+v)
	}
	slices.Sort(env)
	return env
}

// Workspace returns the variables that the coder provider reads for a plan.
// (TF-01)
func Workspace(req *provisioner.PlanRequest) map[string]string {
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
		env[placeholder.Placeholders] = "true"
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
	// The provider asks for a token without naming an agent, which is
	// unambiguous only with one agent.
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

// jsonText returns strings or roles as JSON; an empty list is [].
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
