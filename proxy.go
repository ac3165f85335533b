package coder

import (
	"strings"
	"time"

	"github.com/google/uuid"
)

// PrimaryProxy is the name of the server itself among its workspace proxies.
const PrimaryProxy = "primary"

// ProxyStatus is what the last check of a workspace proxy found.
type ProxyStatus string

// Values of ProxyStatus.
const (
	ProxyStatusUnregistered ProxyStatus = "unregistered" // it has never run, or was stopped
	ProxyStatusUnreachable  ProxyStatus = "unreachable"  // it does not answer at its URL
	ProxyStatusUnhealthy    ProxyStatus = "unhealthy"    // it answers, and says what is wrong
	ProxyStatusOK           ProxyStatus = "ok"
)

// WorkspaceProxiesRegions is a list of workspace proxies.
type WorkspaceProxiesRegions struct {
	Regions []WorkspaceProxy `json:"regions"`
}

// WorkspaceProxy is a server that people reach workspaces through from
// somewhere else.
type WorkspaceProxy struct {
	CreatedAt        time.Time            `json:"created_at"`
	Deleted          bool                 `json:"deleted"` // always false: what is deleted is gone
	DERPEnabled      bool                 `json:"derp_enabled"`
	DERPOnly         bool                 `json:"derp_only"` // it relays tunnels and serves no apps
	DisplayName      string               `json:"display_name"`
	Healthy          bool                 `json:"healthy"`
	IconURL          string               `json:"icon_url"`
	ID               uuid.UUID            `json:"id"`
	Name             string               `json:"name"`
	PathAppURL       string               `json:"path_app_url"`
	Status           WorkspaceProxyStatus `json:"status"`
	UpdatedAt        time.Time            `json:"updated_at"`
	Version          string               `json:"version"`
	WildcardHostname string               `json:"wildcard_hostname"`
}

// WorkspaceProxyStatus is when a proxy was last checked, and what came of it.
type WorkspaceProxyStatus struct {
	CheckedAt time.Time         `json:"checked_at"`
	Report    ProxyHealthReport `json:"report"`
	Status    ProxyStatus       `json:"status"`
}

// ProxyHealthReport is what is wrong with a proxy.
type ProxyHealthReport struct {
	Errors   []string `json:"errors"`
	Warnings []string `json:"warnings"`
}

// CreateWorkspaceProxyRequest makes a proxy known.
type CreateWorkspaceProxyRequest struct {
	Name        string `json:"name"`
	DisplayName string `json:"display_name"`
	Icon        string `json:"icon"`
}

// PatchWorkspaceProxy says how a proxy shall be. An empty name keeps the old one.
type PatchWorkspaceProxy struct {
	ID              uuid.UUID `json:"id"`
	Name            string    `json:"name"`
	DisplayName     string    `json:"display_name"`
	Icon            string    `json:"icon"`
	RegenerateToken bool      `json:"regenerate_token"`
}

// WorkspaceProxyToken is a proxy and, when one was made, the token that it runs
// with, which is told this once.
type WorkspaceProxyToken struct {
	WorkspaceProxy
	Proxy WorkspaceProxy `json:"proxy"`
	Token string         `json:"proxy_token"`
}

// RegisterWorkspaceProxyRequest is what a running proxy says of itself, when it
// starts and every half minute from then on.
type RegisterWorkspaceProxyRequest struct {
	AccessURL           string    `json:"access_url"`
	WildcardHostname    string    `json:"wildcard_hostname"`
	DERPEnabled         bool      `json:"derp_enabled"`
	DERPOnly            bool      `json:"derp_only"`
	ReplicaID           uuid.UUID `json:"replica_id"`
	ReplicaHostname     string    `json:"hostname"`
	ReplicaError        string    `json:"replica_error"`
	ReplicaRelayAddress string    `json:"replica_relay_address"`
	Version             string    `json:"version"`
}

// RegisterWorkspaceProxyResponse is what a server answers. It has no mesh of
// DERP relays: tunnels have a relay of their own.
type RegisterWorkspaceProxyResponse struct {
	DERPForceWebSockets bool      `json:"derp_force_websockets"`
	DERPMap             any       `json:"derp_map"`
	DERPMeshKey         string    `json:"derp_mesh_key"`
	DERPRegionID        int64     `json:"derp_region_id"`
	SiblingReplicas     []Replica `json:"sibling_replicas"`
}

// DeregisterWorkspaceProxyRequest is the good-bye of a proxy's process.
type DeregisterWorkspaceProxyRequest struct {
	ReplicaID uuid.UUID `json:"replica_id"`
}

// AppRequest names an app that somebody wants to open at a proxy.
type AppRequest struct {
	AccessMethod      string `json:"access_method"` // path or subdomain
	BasePath          string `json:"base_path"`
	AppPrefix         string `json:"app_prefix"`
	UsernameOrID      string `json:"username_or_id"`
	WorkspaceNameOrID string `json:"workspace_name_or_id"`
	AgentNameOrID     string `json:"agent_name_or_id"`
	AppSlugOrPort     string `json:"app_slug_or_port"`
}

// IssueAppTokenRequest asks on behalf of a proxy's visitor for a pass to an app.
type IssueAppTokenRequest struct {
	AppRequest     AppRequest `json:"app_request"`
	AppHostname    string     `json:"app_hostname"`
	PathAppBaseURL string     `json:"path_app_base_url"`
	AppPath        string     `json:"app_path"`
	AppQuery       string     `json:"app_query"`
	SessionToken   string     `json:"session_token"` // "" for somebody who is not signed in
	// Visit asks for what is known of the visit beside the pass, also where there
	// is none because the app cannot be reached now. ClientIP and UserAgent are
	// then the visitor's.
	Visit     bool   `json:"visit,omitempty"`
	ClientIP  string `json:"client_ip,omitempty"`
	UserAgent string `json:"user_agent,omitempty"`
}

// IssueSignedAppTokenResponse is the pass.
type IssueSignedAppTokenResponse struct {
	SignedTokenStr string    `json:"signed_token_str"`
	Visit          *AppVisit `json:"visit,omitempty"`
}

// AppVisit is who visits an app at a proxy, and where it is.
type AppVisit struct {
	UserID   uuid.UUID `json:"user_id"` // zero for somebody who is not signed in
	Username string    `json:"username"`
	KeyID    string    `json:"key_id"`  // names the visitor's session
	Session  string    `json:"session"` // in place of the browser's; "" keeps that
	App      AppTarget `json:"app"`
}

// AppTarget is where the address of an app leads, as proxies are told.
type AppTarget struct {
	WorkspaceID   uuid.UUID                `json:"workspace_id"`
	OwnerID       uuid.UUID                `json:"owner_id"`
	AgentID       uuid.UUID                `json:"agent_id"`
	AgentName     string                   `json:"agent_name"`
	WorkspaceName string                   `json:"workspace_name"`
	OwnerName     string                   `json:"owner_name"`
	SlugOrPort    string                   `json:"slug_or_port"`
	Port          int                      `json:"port"` // 0 for an app
	Title         string                   `json:"title"`
	URL           string                   `json:"url"`
	SharingLevel  WorkspaceAppSharingLevel `json:"sharing_level"`
	CORSBehavior  CORSBehavior             `json:"cors_behavior"`
	Command       string                   `json:"command"`
	External      bool                     `json:"external"`
	Health        WorkspaceAppHealth       `json:"health"`
	Status        WorkspaceStatus          `json:"status"`
	AgentStatus   WorkspaceAgentStatus     `json:"agent_status"`
	Running       bool                     `json:"running"`
}

// ProxySessionRequest trades what a browser brought from the dashboard for its
// session on a host of a proxy.
type ProxySessionRequest struct {
	Ticket string `json:"ticket"`
	Host   string `json:"host"`
	State  string `json:"state"`
}

// ProxySession is that session.
type ProxySession struct {
	Session string `json:"session"`
}

// AppStatsReport is one while in which somebody used an app at a proxy.
type AppStatsReport struct {
	UserID           uuid.UUID `json:"user_id"`
	WorkspaceID      uuid.UUID `json:"workspace_id"`
	AgentID          uuid.UUID `json:"agent_id"`
	AccessMethod     string    `json:"access_method"`
	SlugOrPort       string    `json:"slug_or_port"`
	SessionID        uuid.UUID `json:"session_id"`
	SessionStartedAt time.Time `json:"session_started_at"`
	SessionEndedAt   time.Time `json:"session_ended_at"`
	Requests         int64     `json:"requests"`
}

// ReportAppStatsRequest is what a proxy counted.
type ReportAppStatsRequest struct {
	Stats []AppStatsReport `json:"stats"`
}

// CryptoKey is a key with which passes are signed.
type CryptoKey struct {
	Feature   string     `json:"feature"`
	Secret    string     `json:"secret"` // 64 bytes, in hexadecimal
	Sequence  int32      `json:"sequence"`
	StartsAt  time.Time  `json:"starts_at"`
	DeletesAt *time.Time `json:"deletes_at"`
}

// CryptoKeysResponse is the keys of a feature that count now.
type CryptoKeysResponse struct {
	CryptoKeys []CryptoKey `json:"crypto_keys"`
}

// CheckProxyName refuses names of workspace proxies that are no names, or the
// server's own.
func CheckProxyName(field, name string) error {
	if strings.EqualFold(name, PrimaryProxy) {
		return Invalid(field, "%q is the server itself", name)
	}
	return CheckName(field, name)
}
