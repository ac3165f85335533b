package codersdk

import (
	"strings"
	"time"

	"github.com/google/uuid"
)

// WorkspaceApp is a web page or command that a template adds to a workspace.
type WorkspaceApp struct {
	Command       string                   `json:"command"`
	DisplayName   string                   `json:"display_name"`
	External      bool                     `json:"external"`
	Group         string                   `json:"group"`
	Health        WorkspaceAppHealth       `json:"health"`
	Healthcheck   Healthcheck              `json:"healthcheck"`
	Hidden        bool                     `json:"hidden"`
	Icon          string                   `json:"icon"`
	ID            uuid.UUID                `json:"id"`
	OpenIn        WorkspaceAppOpenIn       `json:"open_in"`
	SharingLevel  WorkspaceAppSharingLevel `json:"sharing_level"`
	Slug          string                   `json:"slug"`
	Statuses      []WorkspaceAppStatus     `json:"statuses"`
	Subdomain     bool                     `json:"subdomain"`
	SubdomainName string                   `json:"subdomain_name"`
	Tooltip       string                   `json:"tooltip"`
	URL           string                   `json:"url"`
}

// WorkspaceAppHealth is the result of an app's health check.
type WorkspaceAppHealth string

// Values of WorkspaceAppHealth.
const (
	WorkspaceAppHealthDisabled     WorkspaceAppHealth = "disabled"
	WorkspaceAppHealthHealthy      WorkspaceAppHealth = "healthy"
	WorkspaceAppHealthInitializing WorkspaceAppHealth = "initializing"
	WorkspaceAppHealthUnhealthy    WorkspaceAppHealth = "unhealthy"
)

// WorkspaceAppSharingLevel selects the users that may open an app.
type WorkspaceAppSharingLevel string

// Values of WorkspaceAppSharingLevel.
const (
	WorkspaceAppSharingLevelAuthenticated WorkspaceAppSharingLevel = "authenticated"
	WorkspaceAppSharingLevelOrganization  WorkspaceAppSharingLevel = "organization"
	WorkspaceAppSharingLevelOwner         WorkspaceAppSharingLevel = "owner"
	WorkspaceAppSharingLevelPublic        WorkspaceAppSharingLevel = "public"
)

// SubdomainAppName returns the first host label of an app or port:
// slug--agent--workspace--owner. If that exceeds the 63 bytes of a DNS label, the
// agent is left out; slugs are unique within a workspace. (NET-07)
func SubdomainAppName(slugOrPort, agent, workspace, owner string) string {
	name := strings.ToLower(slugOrPort + "--" + agent + "--" + workspace + "--" + owner)
	if len(name) > 63 {
		name = strings.ToLower(slugOrPort + "--" + workspace + "--" + owner)
	}
	return name
}

// NameApps sets the host labels of the subdomain apps of a workspace.
func NameApps(resources []WorkspaceResource, workspace, owner string) {
	for _, r := range resources {
		for _, agent := range r.Agents {
			for i, app := range agent.Apps {
				if app.Subdomain {
					agent.Apps[i].SubdomainName = SubdomainAppName(app.Slug, agent.Name, workspace, owner)
				}
			}
		}
	}
}

// WorkspaceAppOpenIn selects where the browser opens an app.
type WorkspaceAppOpenIn string

// Values of WorkspaceAppOpenIn.
const (
	WorkspaceAppOpenInSlimWindow WorkspaceAppOpenIn = "slim-window"
	WorkspaceAppOpenInTab        WorkspaceAppOpenIn = "tab"
)

// WorkspaceAppStatus is the last status that an app reported.
type WorkspaceAppStatus struct {
	AgentID            uuid.UUID               `json:"agent_id"`
	AppID              uuid.UUID               `json:"app_id"`
	CreatedAt          time.Time               `json:"created_at"`
	Icon               string                  `json:"icon"`
	ID                 uuid.UUID               `json:"id"`
	Message            string                  `json:"message"`
	NeedsUserAttention bool                    `json:"needs_user_attention"`
	State              WorkspaceAppStatusState `json:"state"`
	URI                string                  `json:"uri"`
	WorkspaceID        uuid.UUID               `json:"workspace_id"`
}

// WorkspaceAppStatusState is a state that an app may report.
type WorkspaceAppStatusState string

// Values of WorkspaceAppStatusState.
const (
	WorkspaceAppStatusStateComplete WorkspaceAppStatusState = "complete"
	WorkspaceAppStatusStateFailure  WorkspaceAppStatusState = "failure"
	WorkspaceAppStatusStateIdle     WorkspaceAppStatusState = "idle"
	WorkspaceAppStatusStateWorking  WorkspaceAppStatusState = "working"
)

// WorkspaceAgentPortShareLevel selects the users that may open a shared port.
type WorkspaceAgentPortShareLevel string

// Values of WorkspaceAgentPortShareLevel.
const (
	WorkspaceAgentPortShareLevelAuthenticated WorkspaceAgentPortShareLevel = "authenticated"
	WorkspaceAgentPortShareLevelOrganization  WorkspaceAgentPortShareLevel = "organization"
	WorkspaceAgentPortShareLevelOwner         WorkspaceAgentPortShareLevel = "owner"
	WorkspaceAgentPortShareLevelPublic        WorkspaceAgentPortShareLevel = "public"
)

// Healthcheck is the health check of an app: URL, interval in seconds and threshold.
type Healthcheck struct {
	Interval  int32  `json:"interval"`
	Threshold int32  `json:"threshold"`
	URL       string `json:"url"`
}

// AppHostResponse is the wildcard host of workspace apps; empty when none is configured.
type AppHostResponse struct {
	Host string `json:"host"`
}
