package httpapi

import (
	"net/http"
	"time"

	"github.com/seed-2a7f8fe7/coder"
)

const day = 24 * time.Hour

// deploymentRoutes are about the server itself.
func (a *API) deploymentRoutes() []Route {
	return []Route{
		{Method: "GET", Path: "/{$}", Summary: "That there is an API", Auth: AuthPublic, Out: coder.Response{}, Handler: a.getRoot},
		{Method: "GET", Path: "/buildinfo", Summary: "What the server is", Auth: AuthPublic, Out: coder.BuildInfoResponse{}, Handler: a.getBuildInfo},
		{Method: "GET", Path: "/updatecheck", Summary: "Whether there is a newer version", Auth: AuthPublic, Out: coder.UpdateCheckResponse{}, Handler: a.getUpdateCheck},
		{Method: "GET", Path: "/deployment/ssh", Summary: "What clients write into their SSH configuration", Out: coder.SSHConfigResponse{}, Handler: a.getSSHConfig},
		{Method: "GET", Path: "/entitlements", Summary: "The features, all of them free", Out: coder.Entitlements{}, Handler: a.getEntitlements},
		{Method: "GET", Path: "/experiments", Summary: "Experiments that are on", Out: []string{}, Handler: a.getExperiments},
		{Method: "GET", Path: "/experiments/available", Summary: "Experiments that could be on", Out: []string{}, Handler: a.getAvailableExperiments},
		{Method: "GET", Path: "/applications/host", Summary: "The host name of apps", Out: coder.AppHostResponse{}, Handler: a.getAppHost},
	}
}

func (a *API) getRoot(w http.ResponseWriter, _ *http.Request) error {
	return reply(w, http.StatusOK, coder.Response{Message: "This is the API of a coder server, version 2"})
}

func (a *API) getBuildInfo(w http.ResponseWriter, _ *http.Request) error {
	out := coder.BuildInfoResponse{
		ExternalURL: "https://github.com/seed-2a7f8fe7/coder", Version: a.Version, DashboardURL: a.AccessURL.String(),
		DeploymentID: a.DeploymentID, AgentAPIVersion: a.AgentAPIVersion, ProvisionerAPIVersion: a.ProvisionerAPIVersion,
	}
	if a.Site != nil {
		out.UpgradeMessage = a.Site.UpgradeMessage()
	}
	return reply(w, http.StatusOK, out)
}

func (a *API) getUpdateCheck(w http.ResponseWriter, _ *http.Request) error {
	return reply(w, http.StatusOK, coder.UpdateCheckResponse{Current: true, Version: a.Version, URL: ""})
}

func (a *API) getSSHConfig(w http.ResponseWriter, _ *http.Request) error {
	out := a.SSH
	if out.HostnamePrefix == "" {
		out.HostnamePrefix = "coder."
	}
	if out.HostnameSuffix == "" {
		out.HostnameSuffix = "coder"
	}
	if out.SSHConfigOptions == nil {
		out.SSHConfigOptions = map[string]string{}
	}
	return reply(w, http.StatusOK, out)
}

// features are the names by which clients ask whether they may. All may.
func features() []string {
	return []string{
		"access_control", "advanced_template_scheduling", "aibridge", "appearance", "audit_log", "boundary",
		"browser_only", "connection_log", "control_shared_ports", "custom_roles", "external_provisioner_daemons",
		"external_token_encryption", "high_availability", "managed_agent_limit", "multiple_external_auth",
		"multiple_organizations", "scim", "task_batch_actions", "template_rbac", "user_limit", "user_role_management",
		"workspace_batch_actions", "workspace_external_agent", "workspace_prebuilds", "workspace_proxy",
	}
}

func (a *API) getEntitlements(w http.ResponseWriter, _ *http.Request) error {
	out := coder.Entitlements{
		Features: map[string]coder.Feature{}, Errors: []string{}, Warnings: []string{},
		HasLicense: true, RefreshedAt: time.Now().UTC(),
	}
	for _, name := range features() {
		out.Features[name] = coder.Feature{Enabled: true, Entitlement: coder.EntitlementEntitled}
	}
	return reply(w, http.StatusOK, out)
}

func (a *API) getExperiments(w http.ResponseWriter, _ *http.Request) error {
	return reply(w, http.StatusOK, []string{})
}

func (a *API) getAvailableExperiments(w http.ResponseWriter, _ *http.Request) error {
	return reply(w, http.StatusOK, []string{})
}

func (a *API) getAppHost(w http.ResponseWriter, _ *http.Request) error {
	return reply(w, http.StatusOK, coder.AppHostResponse{Host: a.AppHosts.String()})
}
