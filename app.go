package coder

import (
	"strings"
	"time"

	"github.com/google/uuid"
)

// WorkspaceApp is a web page or command that a workspace offers.
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

// WorkspaceAppHealth says whether an app answers.
type WorkspaceAppHealth string

// Values of WorkspaceAppHealth.
const (
	WorkspaceAppHealthDisabled     WorkspaceAppHealth = "disabled"
	WorkspaceAppHealthHealthy      WorkspaceAppHealth = "healthy"
	WorkspaceAppHealthInitializing WorkspaceAppHealth = "initializing"
	WorkspaceAppHealthUnhealthy    WorkspaceAppHealth = "unhealthy"
)

// WorkspaceAppSharingLevel says who may open an app.
type WorkspaceAppSharingLevel string

// Values of WorkspaceAppSharingLevel.
const (
	WorkspaceAppSharingLevelAuthenticated WorkspaceAppSharingLevel = "authenticated"
	WorkspaceAppSharingLevelOrganization  WorkspaceAppSharingLevel = "organization"
	WorkspaceAppSharingLevelOwner         WorkspaceAppSharingLevel = "owner"
	WorkspaceAppSharingLevelPublic        WorkspaceAppSharingLevel = "public"
)

// SubdomainAppName gives the first label of the host name of an app or port:
// slug--agent--workspace--owner. Where that is longer than the 63 bytes of a
// label, the agent is left out, which slugs do not need. (NET-07)
func SubdomainAppName(slugOrPort, agent, workspace, owner string) string {
	name := strings.ToLower(slugOrPort + "--" + agent + "--" + workspace + "--" + owner)
	if len(name) > 63 {
		name = strings.ToLower(slugOrPort + "--" + workspace + "--" + owner)
	}
	return name
}

// NameApps fills in the host labels of the subdomain apps of a workspace.
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

// WorkspaceAppOpenIn says where the browser opens an app.
type WorkspaceAppOpenIn string

// Values of WorkspaceAppOpenIn.
const (
	WorkspaceAppOpenInSlimWindow WorkspaceAppOpenIn = "slim-window"
	WorkspaceAppOpenInTab        WorkspaceAppOpenIn = "tab"
)

// WorkspaceAppStatus is what an app last said it is doing.
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

// WorkspaceAgentPortShareLevel says who may open a shared port.
type WorkspaceAgentPortShareLevel string

// Values of WorkspaceAgentPortShareLevel.
const (
	WorkspaceAgentPortShareLevelAuthenticated WorkspaceAgentPortShareLevel = "authenticated"
	WorkspaceAgentPortShareLevelOrganization  WorkspaceAgentPortShareLevel = "organization"
	WorkspaceAgentPortShareLevelOwner         WorkspaceAgentPortShareLevel = "owner"
	WorkspaceAgentPortShareLevelPublic        WorkspaceAgentPortShareLevel = "public"
)

// Healthcheck says where and how often an app is asked whether it does well.
type Healthcheck struct {
	Interval  int32  `json:"interval"`
	Threshold int32  `json:"threshold"`
	URL       string `json:"url"`
}

// AppHostResponse is the host under which apps have names of their own.
type AppHostResponse struct {
	Host string `json:"host"`
}
