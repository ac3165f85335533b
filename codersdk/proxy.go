package codersdk

import (
	"strings"
	"time"

	"github.com/google/uuid"
)

// PrimaryProxy is the name of the server itself in the list of workspace proxies.
const PrimaryProxy = "primary"

// ProxyStatus is what the last check of a workspace proxy found.
type ProxyStatus string

// Values of ProxyStatus.
const (
	ProxyStatusUnregistered ProxyStatus = "unregistered" // it never ran, or was stopped
	ProxyStatusUnreachable  ProxyStatus = "unreachable"  // it does not answer at its URL
	ProxyStatusUnhealthy    ProxyStatus = "unhealthy"    // it answers and reports errors
	ProxyStatusOK           ProxyStatus = "ok"
)

// WorkspaceProxiesRegions is a list of workspace proxies.
type WorkspaceProxiesRegions struct {
	Regions []WorkspaceProxy `json:"regions"`
}

// WorkspaceProxy is a server in another location through which users reach
// workspaces.
type WorkspaceProxy struct {
	CreatedAt        time.Time            `json:"created_at"`
	Deleted          bool                 `json:"deleted"` // always false: deleted proxies are removed
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

// WorkspaceProxyStatus is the time and the result of the last check of a proxy.
type WorkspaceProxyStatus struct {
	CheckedAt time.Time         `json:"checked_at"`
	Report    ProxyHealthReport `json:"report"`
	Status    ProxyStatus       `json:"status"`
}

// ProxyHealthReport lists errors and warnings about a proxy.
type ProxyHealthReport struct {
	Errors   []string `json:"errors"`
	Warnings []string `json:"warnings"`
}

// CreateWorkspaceProxyRequest creates a workspace proxy.
type CreateWorkspaceProxyRequest struct {
	Name        string `json:"name"`
	DisplayName string `json:"display_name"`
	Icon        string `json:"icon"`
}

// PatchWorkspaceProxy changes a proxy. An empty name keeps the current name.
type PatchWorkspaceProxy struct {
	ID              uuid.UUID `json:"id"`
	Name            string    `json:"name"`
	DisplayName     string    `json:"display_name"`
	Icon            string    `json:"icon"`
	RegenerateToken bool      `json:"regenerate_token"`
}

// WorkspaceProxyToken is a proxy and, if a token was created, its token. The token
// is returned once.
type WorkspaceProxyToken struct {
	WorkspaceProxy
	Proxy WorkspaceProxy `json:"proxy"`
	Token string         `json:"proxy_token"`
}

// RegisterWorkspaceProxyRequest is sent by a running proxy when it starts and every
// 30 seconds.
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

// RegisterWorkspaceProxyResponse is the server's reply. There is no mesh of DERP
// relays: tunnels use a relay of their own.
type RegisterWorkspaceProxyResponse struct {
	DERPForceWebSockets bool      `json:"derp_force_websockets"`
	DERPMap             any       `json:"derp_map"`
	DERPMeshKey         string    `json:"derp_mesh_key"`
	DERPRegionID        int64     `json:"derp_region_id"`
	SiblingReplicas     []Replica `json:"sibling_replicas"`
}

// DeregisterWorkspaceProxyRequest is sent by a proxy that stops.
type DeregisterWorkspaceProxyRequest struct {
	ReplicaID uuid.UUID `json:"replica_id"`
}

// AppRequest names an app that a user opens at a proxy.
type AppRequest struct {
	AccessMethod      string `json:"access_method"` // path or subdomain
	BasePath          string `json:"base_path"`
	AppPrefix         string `json:"app_prefix"`
	UsernameOrID      string `json:"username_or_id"`
	WorkspaceNameOrID string `json:"workspace_name_or_id"`
	AgentNameOrID     string `json:"agent_name_or_id"`
	AppSlugOrPort     string `json:"app_slug_or_port"`
}

// IssueAppTokenRequest requests a signed app token for a user of a proxy.
type IssueAppTokenRequest struct {
	AppRequest     AppRequest `json:"app_request"`
	AppHostname    string     `json:"app_hostname"`
	PathAppBaseURL string     `json:"path_app_base_url"`
	AppPath        string     `json:"app_path"`
	AppQuery       string     `json:"app_query"`
	SessionToken   string     `json:"session_token"` // empty if the user is not signed in
	// Visit requests the user and the target of the app request beside the token,
	// even when no token is issued because the app is not reachable. ClientIP and
	// UserAgent are then those of the browser.
	Visit     bool   `json:"visit,omitempty"`
	ClientIP  string `json:"client_ip,omitempty"`
	UserAgent string `json:"user_agent,omitempty"`
}

// IssueSignedAppTokenResponse carries the signed app token.
type IssueSignedAppTokenResponse struct {
	SignedTokenStr string    `json:"signed_token_str"`
	Visit          *AppVisit `json:"visit,omitempty"`
}

// AppVisit is the user and the target of an app request at a proxy.
type AppVisit struct {
	UserID   uuid.UUID `json:"user_id"` // zero if the user is not signed in
	Username string    `json:"username"`
	KeyID    string    `json:"key_id"`  // identifies the user's session
	Session  string    `json:"session"` // replaces the browser's session; empty keeps it
	App      AppTarget `json:"app"`
}

// AppTarget is the target of an app's address.
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

// ProxySessionRequest exchanges a code that a browser brought from the dashboard
// for a session on a host of a proxy.
type ProxySessionRequest struct {
	Ticket string `json:"ticket"`
	Host   string `json:"host"`
	State  string `json:"state"`
}

// ProxySession is the session of a browser on a host of a proxy.
type ProxySession struct {
	Session string `json:"session"`
}

// AppStatsReport is a period in which a user used an app at a proxy.
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

// ReportAppStatsRequest reports the usage that a proxy counted.
type ReportAppStatsRequest struct {
	Stats []AppStatsReport `json:"stats"`
}

// CryptoKey is a key that signs app tokens.
type CryptoKey struct {
	Feature   string     `json:"feature"`
	Secret    string     `json:"secret"` // 64 bytes in hexadecimal
	Sequence  int32      `json:"sequence"`
	StartsAt  time.Time  `json:"starts_at"`
	DeletesAt *time.Time `json:"deletes_at"`
}

// CryptoKeysResponse lists the valid keys of a feature.
type CryptoKeysResponse struct {
	CryptoKeys []CryptoKey `json:"crypto_keys"`
}

// CheckProxyName checks the name of a workspace proxy: a valid name that is not
// that of the server itself.
func CheckProxyName(field, name string) error {
	if strings.EqualFold(name, PrimaryProxy) {
		return Invalid(field, "%q is the name of the server itself; choose another name", name)
	}
	return CheckName(field, name)
}
