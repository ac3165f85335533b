package httpapi

import (
	"net/http"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
)

const day = 24 * time.Hour

// deploymentRoutes describe the server itself.
func (a *API) deploymentRoutes() []rest.Route {
	return []rest.Route{
		{Method: "GET", Path: "/{$}", Summary: "Check that the API is available",
			Auth: rest.AuthPublic, Out: codersdk.Response{}, Handler: a.getRoot},
		{Method: "GET", Path: "/buildinfo", Summary: "Get build information",
			Auth: rest.AuthPublic, Out: codersdk.BuildInfoResponse{}, Handler: a.getBuildInfo},
		{Method: "GET", Path: "/updatecheck", Summary: "Get the newest known version",
			About: "The server asks for it once a day with --update-check. Otherwise the running version is reported as current.",
			Auth:  rest.AuthPublic, Out: codersdk.UpdateCheckResponse{}, Handler: a.getUpdateCheck},
		{Method: "GET", Path: "/deployment/ssh", Summary: "Get the SSH configuration for clients",
			Out: codersdk.SSHConfigResponse{}, Handler: a.getSSHConfig},
		{Method: "GET", Path: "/entitlements", Summary: "List features, all of them included",
			Out: codersdk.Entitlements{}, Handler: a.getEntitlements},
		{Method: "GET", Path: "/experiments", Summary: "List enabled experiments", Out: []string{}, Handler: a.getExperiments},
		{Method: "GET", Path: "/experiments/available", Summary: "List available experiments",
			Out: codersdk.AvailableExperiments{}, Handler: a.getAvailableExperiments},
		{Method: "GET", Path: "/applications/host", Summary: "Get the wildcard host name of apps",
			Out: codersdk.AppHostResponse{}, Handler: a.getAppHost},
	}
}

func (a *API) getRoot(w http.ResponseWriter, _ *http.Request) error {
	return rest.Reply(w, http.StatusOK, codersdk.Response{Message: "This is the API of a coder server, version 2"})
}

func (a *API) getBuildInfo(w http.ResponseWriter, _ *http.Request) error {
	out := codersdk.BuildInfoResponse{
		ExternalURL: codersdk.ExternalURL, Version: a.Version, DashboardURL: a.AccessURL.String(),
		DeploymentID: a.DeploymentID, WebpushPublicKey: a.WebpushPublicKey, AgentAPIVersion: a.AgentAPIVersion, ProvisionerAPIVersion: a.ProvisionerAPIVersion,
	}
	if a.Site != nil {
		out.UpgradeMessage = a.Site.UpgradeMessage()
	}
	return rest.Reply(w, http.StatusOK, out)
}

func (a *API) getUpdateCheck(w http.ResponseWriter, _ *http.Request) error {
	if a.Latest == nil {
		return rest.Reply(w, http.StatusOK, codersdk.UpdateCheckResponse{Current: true, Version: a.Version})
	}
	return rest.Reply(w, http.StatusOK, a.Latest())
}

func (a *API) getSSHConfig(w http.ResponseWriter, _ *http.Request) error {
	return rest.Reply(w, http.StatusOK, a.sshConfig())
}

// sshConfig returns the SSH settings for clients, with defaults for those that
// the deployment does not set.
func (a *API) sshConfig() codersdk.SSHConfigResponse {
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
	return out
}

// features returns the names of the features that this server has, as clients
// ask for them. Every deployment may use all of them.
func features() []string {
	return []string{
		"access_control", "advanced_template_scheduling", "appearance", "audit_log", "browser_only", "connection_log",
		"control_shared_ports", "custom_roles", "external_provisioner_daemons", "external_token_encryption",
		"high_availability", "multiple_organizations", "template_rbac", "user_role_management",
		"workspace_batch_actions", "workspace_external_agent", "workspace_prebuilds", "workspace_proxy",
	}
}

func (a *API) getEntitlements(w http.ResponseWriter, _ *http.Request) error {
	out := codersdk.Entitlements{
		Features: map[string]codersdk.Feature{}, Errors: []string{}, Warnings: []string{},
		HasLicense: true, RefreshedAt: time.Now().UTC(),
	}
	for _, name := range features() {
		out.Features[name] = codersdk.Feature{Enabled: true, Entitlement: codersdk.EntitlementEntitled}
	}
	return rest.Reply(w, http.StatusOK, out)
}

func (a *API) getExperiments(w http.ResponseWriter, _ *http.Request) error {
	return rest.Reply(w, http.StatusOK, append([]string{}, a.Experiments...))
}

func (a *API) getAvailableExperiments(w http.ResponseWriter, _ *http.Request) error {
	return rest.Reply(w, http.StatusOK, codersdk.AvailableExperiments{Safe: []string{}})
}

func (a *API) getAppHost(w http.ResponseWriter, _ *http.Request) error {
	return rest.Reply(w, http.StatusOK, codersdk.AppHostResponse{Host: a.AppHosts.String()})
}
