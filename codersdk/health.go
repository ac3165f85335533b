package codersdk

import (
	"time"
)

// Values of HealthCode for sections other than provisioners. (HC-01)
const (
	HealthCodeUnknown           HealthCode = "EUNKNOWN"
	HealthCodeAccessURLNotSet   HealthCode = "EACS01"
	HealthCodeAccessURLInvalid  HealthCode = "EACS02"
	HealthCodeAccessURLFetch    HealthCode = "EACS03"
	HealthCodeAccessURLNotOK    HealthCode = "EACS04"
	HealthCodeDatabasePing      HealthCode = "EDB01"
	HealthCodeDatabaseSlow      HealthCode = "EDB02"
	HealthCodeDatabaseClear     HealthCode = "EDB03" // secrets are not encrypted
	HealthCodeRelayWebSocket    HealthCode = "EDERP01"
	HealthCodeRelayUnhealthy    HealthCode = "EDERP02"
	HealthCodeSTUNNone          HealthCode = "ESTUN01"
	HealthCodeSTUNMappingVaries HealthCode = "ESTUN02"
	HealthCodeWebSocketDial     HealthCode = "EWS01"
	HealthCodeWebSocketEcho     HealthCode = "EWS02"
	HealthCodeWebSocketMessage  HealthCode = "EWS03"
	HealthCodeProxyUpdate       HealthCode = "EWP01"
	HealthCodeProxyFetch        HealthCode = "EWP02"
	HealthCodeProxyUnhealthy    HealthCode = "EWP04"
	HealthCodeExternalAuth      HealthCode = "EEXT01" // a provider of external authentication does not answer

	HealthCodeNotificationsFailed HealthCode = "ENOT01" // messages that could not be delivered
	HealthCodeNotificationsLate   HealthCode = "ENOT02" // messages wait for long
	HealthCodeNotificationsPaused HealthCode = "ENOT03"
)

// HealthSeverity is the severity of a finding.
type HealthSeverity string

// Values of HealthSeverity.
const (
	HealthSeverityOK      HealthSeverity = "ok"
	HealthSeverityWarning HealthSeverity = "warning"
	HealthSeverityError   HealthSeverity = "error"
)

// HealthSection names a part of a health report.
type HealthSection string

// Values of HealthSection.
const (
	HealthSectionAccessURL          HealthSection = "AccessURL"
	HealthSectionDatabase           HealthSection = "Database"
	HealthSectionDERP               HealthSection = "DERP"
	HealthSectionExternalAuth       HealthSection = "ExternalAuth"
	HealthSectionNotifications      HealthSection = "Notifications"
	HealthSectionProvisionerDaemons HealthSection = "ProvisionerDaemons"
	HealthSectionWebsocket          HealthSection = "Websocket"
	HealthSectionWorkspaceProxy     HealthSection = "WorkspaceProxy"
)

// HealthSections returns all values of HealthSection.
func HealthSections() []HealthSection {
	return []HealthSection{
		HealthSectionAccessURL, HealthSectionDatabase, HealthSectionDERP, HealthSectionExternalAuth,
		HealthSectionNotifications, HealthSectionProvisionerDaemons, HealthSectionWebsocket, HealthSectionWorkspaceProxy,
	}
}

// HealthSettings lists the sections whose findings are dismissed.
type HealthSettings struct {
	DismissedHealthchecks []HealthSection `json:"dismissed_healthchecks"`
}

// HealthcheckReport is the health of the deployment. Dismissed sections do not
// count in Healthy and Severity.
type HealthcheckReport struct {
	AccessURL          AccessURLReport           `json:"access_url"`
	CoderVersion       string                    `json:"coder_version"`
	Database           DatabaseReport            `json:"database"`
	DERP               DERPHealthReport          `json:"derp"`
	ExternalAuth       ExternalAuthReport        `json:"external_auth"`
	Healthy            bool                      `json:"healthy"`
	Notifications      NotificationsHealthReport `json:"notifications"`
	ProvisionerDaemons ProvisionerDaemonsReport  `json:"provisioner_daemons"`
	Severity           HealthSeverity            `json:"severity"`
	Time               time.Time                 `json:"time"`
	Websocket          WebsocketReport           `json:"websocket"`
	WorkspaceProxy     WorkspaceProxyReport      `json:"workspace_proxy"`
}

// HealthBase is the common part of every section. Error is a failure; Warnings
// are possible improvements.
type HealthBase struct {
	Dismissed bool            `json:"dismissed"`
	Error     string          `json:"error"`
	Severity  HealthSeverity  `json:"severity"`
	Warnings  []HealthMessage `json:"warnings"`
}

// AccessURLReport reports whether the server reaches itself at its access URL.
type AccessURLReport struct {
	HealthBase
	AccessURL       string `json:"access_url"`
	Healthy         bool   `json:"healthy"`
	HealthzResponse string `json:"healthz_response"`
	Reachable       bool   `json:"reachable"`
	StatusCode      int    `json:"status_code"`
}

// DatabaseReport reports the database's latency: the median of five round trips.
type DatabaseReport struct {
	HealthBase
	Healthy     bool   `json:"healthy"`
	Latency     string `json:"latency"`
	LatencyMS   int64  `json:"latency_ms"`
	Reachable   bool   `json:"reachable"`
	ThresholdMS int64  `json:"threshold_ms"`
}

// WebsocketReport reports whether WebSockets work at the access URL.
type WebsocketReport struct {
	HealthBase
	Body    string `json:"body"`
	Code    int    `json:"code"`
	Healthy bool   `json:"healthy"`
}

// ProvisionerDaemonsReport lists the connected provisioners.
type ProvisionerDaemonsReport struct {
	HealthBase
	Items []ProvisionerDaemonsReportItem `json:"items"`
}

// ProvisionerDaemonsReportItem is a provisioner and the warnings about it.
type ProvisionerDaemonsReportItem struct {
	ProvisionerDaemon ProvisionerDaemon `json:"provisioner_daemon"`
	Warnings          []HealthMessage   `json:"warnings"`
}

// ExternalAuthReport lists the providers of external authentication.
type ExternalAuthReport struct {
	HealthBase
	Items []ExternalAuthHealth `json:"items"`
}

// ExternalAuthHealth reports whether a provider of external authentication answers.
type ExternalAuthHealth struct {
	DisplayName string `json:"display_name"`
	Error       string `json:"error"`
	Healthy     bool   `json:"healthy"`
	ID          string `json:"id"`
	URL         string `json:"url"` // the address that was requested
}

// WorkspaceProxyReport lists the workspace proxies.
type WorkspaceProxyReport struct {
	HealthBase
	Healthy          bool                    `json:"healthy"`
	WorkspaceProxies WorkspaceProxiesRegions `json:"workspace_proxies"`
}

// DERPHealthReport reports the state of the relay and the chances of direct
// connections. It has one region, with one node for each server.
type DERPHealthReport struct {
	HealthBase
	Healthy      bool                        `json:"healthy"`
	Netcheck     NetcheckReport              `json:"netcheck"`
	NetcheckErr  string                      `json:"netcheck_err"`
	NetcheckLogs []string                    `json:"netcheck_logs"`
	Regions      map[string]DERPRegionReport `json:"regions"`
}

// DERPRegionReport is the relay's region.
type DERPRegionReport struct {
	Error       string           `json:"error"`
	Healthy     bool             `json:"healthy"`
	NodeReports []DERPNodeReport `json:"node_reports"`
	Region      RelayRegion      `json:"region"`
	Severity    HealthSeverity   `json:"severity"`
	Warnings    []HealthMessage  `json:"warnings"`
}

// DERPNodeReport is the relay of one server.
type DERPNodeReport struct {
	CanExchangeMessages bool            `json:"can_exchange_messages"`
	ClientErrs          [][]string      `json:"client_errs"`
	ClientLogs          [][]string      `json:"client_logs"`
	Error               string          `json:"error"`
	Healthy             bool            `json:"healthy"`
	Node                RelayNode       `json:"node"`
	NodeInfo            DERPServerInfo  `json:"node_info"`
	RoundTripPing       string          `json:"round_trip_ping"`
	RoundTripPingMS     int64           `json:"round_trip_ping_ms"`
	Severity            HealthSeverity  `json:"severity"`
	STUN                STUNReport      `json:"stun"`
	UsesWebsocket       bool            `json:"uses_websocket"`
	Warnings            []HealthMessage `json:"warnings"`
}

// DERPServerInfo holds the rate limit of a relay; 0 means no limit.
type DERPServerInfo struct {
	TokenBucketBytesBurst     int64 `json:"tokenBucketBytesBurst"`
	TokenBucketBytesPerSecond int64 `json:"tokenBucketBytesPerSecond"`
}

// STUNReport reports whether a STUN server told this server its public address.
type STUNReport struct {
	CanSTUN bool   `json:"canSTUN"`
	Enabled bool   `json:"enabled"`
	Error   string `json:"error"`
}

// NetcheckReport lists what UDP connections this network allows. Values that are
// not checked are "" or 0.
type NetcheckReport struct {
	CaptivePortal         string           `json:"captivePortal"`
	GlobalV4              string           `json:"globalV4"`
	GlobalV6              string           `json:"globalV6"`
	HairPinning           string           `json:"hairPinning"`
	ICMPv4                bool             `json:"icmpv4"`
	IPv4                  bool             `json:"ipv4"`
	IPv4CanSend           bool             `json:"ipv4CanSend"`
	IPv6                  bool             `json:"ipv6"`
	IPv6CanSend           bool             `json:"ipv6CanSend"`
	MappingVariesByDestIP string           `json:"mappingVariesByDestIP"` // "true", "false", or "" for unknown
	OSHasIPv6             bool             `json:"oshasIPv6"`
	PCP                   string           `json:"pcp"`
	PMP                   string           `json:"pmp"`
	PreferredDERP         int64            `json:"preferredDERP"`
	RegionLatency         map[string]int64 `json:"regionLatency"` // nanoseconds
	RegionV4Latency       map[string]int64 `json:"regionV4Latency"`
	RegionV6Latency       map[string]int64 `json:"regionV6Latency"`
	UDP                   bool             `json:"udp"`
	UPnP                  string           `json:"upnP"`
}

// RelayRegion is a region of relays.
type RelayRegion struct {
	Avoid         bool        `json:"avoid"`
	EmbeddedRelay bool        `json:"embeddedRelay"`
	Nodes         []RelayNode `json:"nodes"`
	RegionCode    string      `json:"regionCode"`
	RegionID      int64       `json:"regionID"`
	RegionName    string      `json:"regionName"`
}

// RelayNode is the address of a relay.
type RelayNode struct {
	CanPort80        bool   `json:"canPort80"`
	CertName         string `json:"certName"`
	DERPPort         int64  `json:"derpport"`
	ForceHTTP        bool   `json:"forceHTTP"`
	HostName         string `json:"hostName"`
	InsecureForTests bool   `json:"insecureForTests"`
	IPv4             string `json:"ipv4"`
	IPv6             string `json:"ipv6"`
	Name             string `json:"name"`
	RegionID         int64  `json:"regionID"`
	STUNOnly         bool   `json:"stunonly"`
	STUNPort         int64  `json:"stunport"`
	STUNTestIP       string `json:"stuntestIP"`
}
