// Package netcheck measures what connections to workspaces require of this
// machine's network: whether WebSockets reach the server's relay and their
// round trip, whether UDP, IPv4 and IPv6 work, the addresses that STUN servers
// see, the distance of workspace proxies, and the network interfaces.
//
// A Report has the JSON form that clients of "coder netcheck" parse. Facilities
// that are not measured are null, never false: hair-pinning and the
// port-mapping protocols UPnP, NAT-PMP and PCP.
package netcheck

import (
	"slices"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// Report is the result of a check.
type Report struct {
	DERP       RelayReport     `json:"derp"`
	Interfaces InterfaceReport `json:"interfaces"`
}

// Section is the common part of the sections. Error is nil without a failure.
type Section struct {
	Severity  codersdk.HealthSeverity  `json:"severity"`
	Warnings  []codersdk.HealthMessage `json:"warnings"`
	Dismissed bool                     `json:"dismissed"` // always false
	Error     *string                  `json:"error"`
}

func newSection() Section {
	return Section{Severity: codersdk.HealthSeverityOK, Warnings: []codersdk.HealthMessage{}}
}

func (s *Section) warn(code codersdk.HealthCode, text string) {
	s.Warnings = append(s.Warnings, codersdk.HealthMessage{Code: code, Message: text})
	if s.Severity == codersdk.HealthSeverityOK {
		s.Severity = codersdk.HealthSeverityWarning
	}
}

func (s *Section) fail(code codersdk.HealthCode, text string) {
	text = string(code) + ": " + text
	s.Error, s.Severity = &text, codersdk.HealthSeverityError
}

// RelayReport describes the paths to workspaces: the relay, the workspace
// proxies and the STUN servers, each as a region.
type RelayReport struct {
	Section
	Healthy      bool               `json:"healthy"`
	Regions      map[string]*Region `json:"regions"`
	Netcheck     *UDPReport         `json:"netcheck"`
	NetcheckErr  *string            `json:"netcheck_err"`
	NetcheckLogs []string           `json:"netcheck_logs"`
}

// Region is one measured server.
type Region struct {
	Section
	Healthy     bool         `json:"healthy"`
	Region      RegionName   `json:"region"`
	NodeReports []NodeReport `json:"node_reports"`
}

// RegionName names a region.
type RegionName struct {
	EmbeddedRelay bool   // the region is the server itself
	RegionID      int    // a number within this report
	RegionCode    string // a short name
	RegionName    string // a name for users
	Nodes         []Node
}

// Node is the address of a region.
type Node struct {
	Name     string
	RegionID int
	HostName string
	STUNPort int  // 0 means the default
	STUNOnly bool // reports addresses only, relays nothing
}

// NodeReport is the measurement of one node. The round trip is 0 if nothing
// came back.
type NodeReport struct {
	Section
	Healthy             bool    `json:"healthy"`
	Node                Node    `json:"node"`
	CanExchangeMessages bool    `json:"can_exchange_messages"`
	RoundTripPing       string  `json:"round_trip_ping"`    // a Go duration
	RoundTripPingMS     float64 `json:"round_trip_ping_ms"` // milliseconds
	UsesWebSocket       bool    `json:"uses_websocket"`
	STUN                STUN    `json:"stun"`
}

// STUN reports whether a node returned this machine's address.
type STUN struct {
	Enabled bool
	CanSTUN bool
	Error   *string
}

// UDPReport describes the capabilities of this machine's network. A nil value
// was not measured.
type UDPReport struct {
	UDP                   bool
	IPv4                  bool // a STUN server or the server was reached by IPv4
	IPv6                  bool
	IPv4CanSend           bool
	IPv6CanSend           bool
	OSHasIPv6             bool
	MappingVariesByDestIP *bool
	HairPinning           *bool
	UPnP                  *bool
	PMP                   *bool
	PCP                   *bool
	PreferredDERP         int              // the nearest region that relays or serves workspaces; 0 means none
	RegionLatency         map[string]int64 // nanoseconds
	GlobalV4              string           // address and port as STUN servers see them; "" means none
	GlobalV6              string
}

// InterfaceReport lists the network interfaces that are up.
type InterfaceReport struct {
	Section
	Interfaces []Interface `json:"interfaces"`
}

// Interface is a network interface.
type Interface struct {
	Name      string   `json:"name"`
	MTU       int      `json:"mtu"`
	Addresses []string `json:"addresses"` // in CIDR notation
}

// Failed returns what prevents connections, or "".
func (r *Report) Failed() string {
	for _, s := range []Section{r.DERP.Section, r.Interfaces.Section} {
		if s.Error != nil {
			return *s.Error
		}
	}
	return ""
}

// Codes returns the codes of all warnings, sorted, each once.
func (r *Report) Codes() (codes []codersdk.HealthCode) {
	for _, m := range slices.Concat(r.DERP.Warnings, r.Interfaces.Warnings) {
		codes = append(codes, m.Code)
	}
	slices.Sort(codes)
	return slices.Compact(codes)
}
