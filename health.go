package coder

import (
	"time"
)

// Values of HealthCode that are not about provisioners. (HC-01)
const (
	HealthCodeUnknown           HealthCode = "EUNKNOWN"
	HealthCodeAccessURLNotSet   HealthCode = "EACS01"
	HealthCodeAccessURLInvalid  HealthCode = "EACS02"
	HealthCodeAccessURLFetch    HealthCode = "EACS03"
	HealthCodeAccessURLNotOK    HealthCode = "EACS04"
	HealthCodeDatabasePing      HealthCode = "EDB01"
	HealthCodeDatabaseSlow      HealthCode = "EDB02"
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
)

// HealthSeverity says how bad something is.
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
	HealthSectionProvisionerDaemons HealthSection = "ProvisionerDaemons"
	HealthSectionWebsocket          HealthSection = "Websocket"
	HealthSectionWorkspaceProxy     HealthSection = "WorkspaceProxy"
)

// HealthSections are all of them.
func HealthSections() []HealthSection {
	return []HealthSection{
		HealthSectionAccessURL, HealthSectionDatabase, HealthSectionDERP, HealthSectionProvisionerDaemons, HealthSectionWebsocket, HealthSectionWorkspaceProxy,
	}
}

// HealthSettings are the sections that nobody wants to be warned of.
type HealthSettings struct {
	DismissedHealthchecks []HealthSection `json:"dismissed_healthchecks"`
}

// HealthcheckReport says how the deployment does. A section that is dismissed
// does not count in Healthy and Severity.
type HealthcheckReport struct {
	AccessURL          AccessURLReport          `json:"access_url"`
	CoderVersion       string                   `json:"coder_version"`
	Database           DatabaseReport           `json:"database"`
	DERP               DERPHealthReport         `json:"derp"`
	Healthy            bool                     `json:"healthy"`
	ProvisionerDaemons ProvisionerDaemonsReport `json:"provisioner_daemons"`
	Severity           HealthSeverity           `json:"severity"`
	Time               time.Time                `json:"time"`
	Websocket          WebsocketReport          `json:"websocket"`
	WorkspaceProxy     WorkspaceProxyReport     `json:"workspace_proxy"`
}

// HealthBase is what every section of a report has. Error says what failed,
// Warnings what may be better.
type HealthBase struct {
	Dismissed bool            `json:"dismissed"`
	Error     string          `json:"error"`
	Severity  HealthSeverity  `json:"severity"`
	Warnings  []HealthMessage `json:"warnings"`
}

// AccessURLReport says whether the server reaches itself at its access URL.
type AccessURLReport struct {
	HealthBase
	AccessURL       string `json:"access_url"`
	Healthy         bool   `json:"healthy"`
	HealthzResponse string `json:"healthz_response"`
	Reachable       bool   `json:"reachable"`
	StatusCode      int    `json:"status_code"`
}

// DatabaseReport says how fast the database answers: the median of five times.
type DatabaseReport struct {
	HealthBase
	Healthy     bool   `json:"healthy"`
	Latency     string `json:"latency"`
	LatencyMS   int64  `json:"latency_ms"`
	Reachable   bool   `json:"reachable"`
	ThresholdMS int64  `json:"threshold_ms"`
}

// WebsocketReport says whether WebSockets come through at the access URL.
type WebsocketReport struct {
	HealthBase
	Body    string `json:"body"`
	Code    int    `json:"code"`
	Healthy bool   `json:"healthy"`
}

// ProvisionerDaemonsReport lists the provisioners that are connected.
type ProvisionerDaemonsReport struct {
	HealthBase
	Items []ProvisionerDaemonsReportItem `json:"items"`
}

// ProvisionerDaemonsReportItem is a provisioner with what is wrong with it.
type ProvisionerDaemonsReportItem struct {
	ProvisionerDaemon ProvisionerDaemon `json:"provisioner_daemon"`
	Warnings          []HealthMessage   `json:"warnings"`
}

// WorkspaceProxyReport lists the workspace proxies.
type WorkspaceProxyReport struct {
	HealthBase
	Healthy          bool                    `json:"healthy"`
	WorkspaceProxies WorkspaceProxiesRegions `json:"workspace_proxies"`
}

// DERPHealthReport says how the relay does, and what direct connections may
// hope for. There is one region, and a node in it for every server.
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

// DERPNodeReport is one server's relay.
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

// DERPServerInfo is how much a relay lets through; 0 for no limit.
type DERPServerInfo struct {
	TokenBucketBytesBurst     int64 `json:"tokenBucketBytesBurst"`
	TokenBucketBytesPerSecond int64 `json:"tokenBucketBytesPerSecond"`
}

// STUNReport says whether anybody tells this server its public address.
type STUNReport struct {
	CanSTUN bool   `json:"canSTUN"`
	Enabled bool   `json:"enabled"`
	Error   string `json:"error"`
}

// NetcheckReport is what UDP can do from here. What is not looked at is "" or 0.
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

// RelayRegion names a region of relays.
type RelayRegion struct {
	Avoid         bool        `json:"avoid"`
	EmbeddedRelay bool        `json:"embeddedRelay"`
	Nodes         []RelayNode `json:"nodes"`
	RegionCode    string      `json:"regionCode"`
	RegionID      int64       `json:"regionID"`
	RegionName    string      `json:"regionName"`
}

// RelayNode is where a relay is reached.
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
