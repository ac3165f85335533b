package codersdk

import (
	"slices"

	"github.com/google/uuid"
)

// WorkspaceAgentPortShare is a port of a workspace that other users than the owner
// can open. (NET-09)
type WorkspaceAgentPortShare struct {
	AgentName   string                          `json:"agent_name"`
	Port        int32                           `json:"port"`
	Protocol    WorkspaceAgentPortShareProtocol `json:"protocol"`
	ShareLevel  WorkspaceAgentPortShareLevel    `json:"share_level"`
	WorkspaceID uuid.UUID                       `json:"workspace_id"`
}

// WorkspaceAgentPortShares lists the shared ports of a workspace.
type WorkspaceAgentPortShares struct {
	Shares []WorkspaceAgentPortShare `json:"shares"`
}

// UpsertWorkspaceAgentPortShareRequest shares a port, or changes its sharing. The
// default protocol is http.
type UpsertWorkspaceAgentPortShareRequest struct {
	AgentName  string                          `json:"agent_name"`
	Port       int32                           `json:"port"`
	Protocol   WorkspaceAgentPortShareProtocol `json:"protocol"`
	ShareLevel WorkspaceAgentPortShareLevel    `json:"share_level"`
}

// DeleteWorkspaceAgentPortShareRequest stops sharing a port.
type DeleteWorkspaceAgentPortShareRequest struct {
	AgentName string `json:"agent_name"`
	Port      int32  `json:"port"`
}

// WorkspaceAgentPortShareProtocol is the protocol of a shared port.
type WorkspaceAgentPortShareProtocol string

// Values of WorkspaceAgentPortShareProtocol.
const (
	WorkspaceAgentPortShareProtocolHTTP  WorkspaceAgentPortShareProtocol = "http"
	WorkspaceAgentPortShareProtocolHTTPS WorkspaceAgentPortShareProtocol = "https"
)

// portShareLevels returns the levels from the most to the least restrictive.
func portShareLevels() []WorkspaceAgentPortShareLevel {
	return []WorkspaceAgentPortShareLevel{
		WorkspaceAgentPortShareLevelOwner, WorkspaceAgentPortShareLevelOrganization,
		WorkspaceAgentPortShareLevelAuthenticated, WorkspaceAgentPortShareLevelPublic,
	}
}

// Known reports whether l is a valid level.
func (l WorkspaceAgentPortShareLevel) Known() bool { return slices.Contains(portShareLevels(), l) }

// AtMost returns the more restrictive of l and most. An unknown level counts as
// owner.
func (l WorkspaceAgentPortShareLevel) AtMost(most WorkspaceAgentPortShareLevel) WorkspaceAgentPortShareLevel {
	all := portShareLevels()
	i := min(max(0, slices.Index(all, l)), max(0, slices.Index(all, most)))
	return all[i]
}

// IssueReconnectingPTYSignedTokenRequest requests a signed token that opens a web
// terminal at a URL without a session.
type IssueReconnectingPTYSignedTokenRequest struct {
	URL     string    `json:"url"`
	AgentID uuid.UUID `json:"agentID"`
}

// IssueReconnectingPTYSignedTokenResponse carries the token, which is valid for one minute.
type IssueReconnectingPTYSignedTokenResponse struct {
	SignedToken string `json:"signed_token"`
}

// PatchAppStatus reports the status of an app. (AG-27)
type PatchAppStatus struct {
	AppSlug            string                  `json:"app_slug"`
	Icon               string                  `json:"icon"`                 // accepted and ignored
	NeedsUserAttention bool                    `json:"needs_user_attention"` // accepted and ignored; use the state idle
	Message            string                  `json:"message"`
	State              WorkspaceAppStatusState `json:"state"`
	URI                string                  `json:"uri"`
}
