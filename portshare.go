package coder

import (
	"slices"

	"github.com/google/uuid"
)

// WorkspaceAgentPortShare lets others than its owner open a port of a
// workspace. (NET-09)
type WorkspaceAgentPortShare struct {
	AgentName   string                          `json:"agent_name"`
	Port        int32                           `json:"port"`
	Protocol    WorkspaceAgentPortShareProtocol `json:"protocol"`
	ShareLevel  WorkspaceAgentPortShareLevel    `json:"share_level"`
	WorkspaceID uuid.UUID                       `json:"workspace_id"`
}

// WorkspaceAgentPortShares are the shared ports of a workspace.
type WorkspaceAgentPortShares struct {
	Shares []WorkspaceAgentPortShare `json:"shares"`
}

// UpsertWorkspaceAgentPortShareRequest shares a port, or changes how it is
// shared. No protocol means http.
type UpsertWorkspaceAgentPortShareRequest struct {
	AgentName  string                          `json:"agent_name"`
	Port       int32                           `json:"port"`
	Protocol   WorkspaceAgentPortShareProtocol `json:"protocol"`
	ShareLevel WorkspaceAgentPortShareLevel    `json:"share_level"`
}

// DeleteWorkspaceAgentPortShareRequest ends the sharing of a port.
type DeleteWorkspaceAgentPortShareRequest struct {
	AgentName string `json:"agent_name"`
	Port      int32  `json:"port"`
}

// WorkspaceAgentPortShareProtocol is what a shared port speaks.
type WorkspaceAgentPortShareProtocol string

// Values of WorkspaceAgentPortShareProtocol.
const (
	WorkspaceAgentPortShareProtocolHTTP  WorkspaceAgentPortShareProtocol = "http"
	WorkspaceAgentPortShareProtocolHTTPS WorkspaceAgentPortShareProtocol = "https"
)

// portShareLevels are the levels, each open to more people than the one before.
func portShareLevels() []WorkspaceAgentPortShareLevel {
	return []WorkspaceAgentPortShareLevel{
		WorkspaceAgentPortShareLevelOwner, WorkspaceAgentPortShareLevelOrganization,
		WorkspaceAgentPortShareLevelAuthenticated, WorkspaceAgentPortShareLevelPublic,
	}
}

// Known says whether the level is one.
func (l WorkspaceAgentPortShareLevel) Known() bool { return slices.Contains(portShareLevels(), l) }

// AtMost gives the level, or most where that lets fewer people in. What is
// unknown counts as owner.
func (l WorkspaceAgentPortShareLevel) AtMost(most WorkspaceAgentPortShareLevel) WorkspaceAgentPortShareLevel {
	all := portShareLevels()
	i := min(max(0, slices.Index(all, l)), max(0, slices.Index(all, most)))
	return all[i]
}

// IssueReconnectingPTYSignedTokenRequest asks for a token with which a
// terminal can be opened at a URL without a session.
type IssueReconnectingPTYSignedTokenRequest struct {
	URL     string    `json:"url"`
	AgentID uuid.UUID `json:"agentID"`
}

// IssueReconnectingPTYSignedTokenResponse is that token, good for a minute.
type IssueReconnectingPTYSignedTokenResponse struct {
	SignedToken string `json:"signed_token"`
}

// PatchAppStatus is what an app says it is doing. (AG-27)
type PatchAppStatus struct {
	AppSlug            string                  `json:"app_slug"`
	Icon               string                  `json:"icon"`                 // accepted and without effect
	NeedsUserAttention bool                    `json:"needs_user_attention"` // the same: idle says so
	Message            string                  `json:"message"`
	State              WorkspaceAppStatusState `json:"state"`
	URI                string                  `json:"uri"`
}
