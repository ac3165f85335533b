package health

import (
	"context"
	"strconv"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
)

const (
	// replicaSilent is the age of the last heartbeat after which a server counts as offline.
	replicaSilent = 2 * time.Minute
	// stunWait is the timeout of STUN requests.
	stunWait = 3 * time.Second
)

// relay checks whether tunnel packets pass: to this server by WebSocket, from it to the other servers,
// and the chances of direct connections.
func (s *Service) relay(ctx context.Context) codersdk.DERPHealthReport {
	r := codersdk.DERPHealthReport{HealthBase: fine(), NetcheckLogs: []string{}, Regions: map[string]codersdk.DERPRegionReport{}}
	stun := codersdk.STUNReport{Enabled: len(s.c.STUN) > 0}
	r.Netcheck = s.netcheck(ctx, &r, &stun)
	replicas, err := s.c.Store.ReplicasAlive(ctx, s.c.Now().Add(-replicaSilent))
	if err != nil {
		fail(&r.HealthBase, codersdk.HealthCodeUnknown, "cannot list the servers of this deployment: %s", err)
		return r
	}
	region := codersdk.DERPRegionReport{
		Healthy: true, Severity: codersdk.HealthSeverityOK, Warnings: []codersdk.HealthMessage{}, NodeReports: []codersdk.DERPNodeReport{},
		Region: codersdk.RelayRegion{
			EmbeddedRelay: true,
			RegionCode:    s.c.Relay.Code,
			RegionID:      int64(s.c.Relay.ID),
			RegionName:    s.c.Relay.Name,
			Nodes:         []codersdk.RelayNode{},
		},
	}
	for _, replica := range replicas {
		node := s.node(ctx, replica, len(replicas) > 1)
		node.STUN = stun
		region.NodeReports = append(region.NodeReports, node)
		region.Region.Nodes = append(region.Region.Nodes, node.Node)
		region.Severity = worse(region.Severity, node.Severity)
		if !node.Healthy {
			region.Error = node.Error
		}
		for _, m := range node.Warnings {
			warn(&r.HealthBase, m.Code, "%s", m.Message)
		}
	}
	region.Healthy = region.Severity != codersdk.HealthSeverityError
	if !region.Healthy {
		fail(&r.HealthBase, codersdk.HealthCodeRelayUnhealthy, "%s", region.Error)
	}
	r.Regions[strconv.Itoa(s.c.Relay.ID)] = region
	r.Healthy = r.Severity != codersdk.HealthSeverityError
	return r
}

// node checks one server's relay: this server by a WebSocket at the access URL, other servers at their
// relay address.
func (s *Service) node(ctx context.Context, replica sqlc.Replica, several bool) codersdk.DERPNodeReport {
	n := codersdk.DERPNodeReport{
		Severity: codersdk.HealthSeverityOK, UsesWebsocket: true, ClientErrs: [][]string{}, ClientLogs: [][]string{}, Warnings: []codersdk.HealthMessage{},
		Node: codersdk.RelayNode{Name: replica.Hostname, RegionID: int64(s.c.Relay.ID), HostName: replica.Hostname},
	}
	bad := func(text string) {
		n.Error, n.Severity = string(codersdk.HealthCodeRelayUnhealthy)+": "+text, codersdk.HealthSeverityError
	}
	start := time.Now()
	switch {
	case replica.ID == s.c.ReplicaID && s.c.AccessURL != nil:
		n.Node.HostName = s.c.AccessURL.Hostname()
		const text = "relay"
		if a, err := s.c.Echo(ctx, s.c.AccessURL.JoinPath(echoPath).String(), text); err != nil || a.Body != text {
			bad("WebSocket connections to the access URL fail, so tunnels cannot use the relay; check the proxies in between")
		}
	case replica.ID == s.c.ReplicaID:
		bad("no access URL is set; set --access-url")
	case replica.RelayAddress == "":
		bad("the server " + replica.Hostname + " has no address for the other servers; set its --derp-server-relay-url")
	default:
		a, err := s.c.Fetch(ctx, replica.RelayAddress+"/healthz")
		if err != nil {
			bad("the server " + replica.Hostname + " cannot be reached at " + replica.RelayAddress + ": " + err.Error())
		} else if a.Status != 200 {
			bad("the server " + replica.Hostname + " responds with status " + strconv.Itoa(a.Status) + " at " + replica.RelayAddress + "/healthz")
		}
	}
	took := time.Since(start)
	n.RoundTripPing, n.RoundTripPingMS = took.String(), took.Milliseconds()
	if several && replica.ID == s.c.ReplicaID && replica.RelayAddress == "" && n.Error == "" {
		n.Severity = codersdk.HealthSeverityWarning
		n.Warnings = append(n.Warnings, codersdk.HealthMessage{Code: codersdk.HealthCodeRelayUnhealthy,
			Message: "this server has no address for the other servers; set its --derp-server-relay-url"})
	}
	n.Healthy = n.Severity != codersdk.HealthSeverityError
	n.CanExchangeMessages = n.Healthy
	return n
}

// netcheck requests this server's public addresses from STUN servers.
func (s *Service) netcheck(ctx context.Context, r *codersdk.DERPHealthReport, report *codersdk.STUNReport) codersdk.NetcheckReport {
	out := codersdk.NetcheckReport{RegionLatency: map[string]int64{}, RegionV4Latency: map[string]int64{}, RegionV6Latency: map[string]int64{}}
	if len(s.c.STUN) == 0 {
		r.NetcheckLogs = append(r.NetcheckLogs, "direct connections are disabled (--block-direct-connections)")
		return out
	}
	ctx, cancel := context.WithTimeout(ctx, stunWait)
	defer cancel()
	answers, err := tunnel.CheckSTUN(ctx, s.c.STUN)
	if err != nil {
		r.NetcheckErr, report.Error = err.Error(), err.Error()
		warn(&r.HealthBase, codersdk.HealthCodeSTUNNone, "UDP is not available on this server: %s", err)
		return out
	}
	mapped := map[bool]map[string]bool{true: {}, false: {}}
	for _, a := range answers {
		if !a.Mapped.IsValid() {
			r.NetcheckLogs = append(r.NetcheckLogs, a.Server+": no response")
			continue
		}
		r.NetcheckLogs = append(r.NetcheckLogs, a.Server+": "+a.Mapped.String()+" after "+a.Latency.Round(time.Microsecond).String())
		v4 := a.Mapped.Addr().Unmap().Is4()
		out.UDP, report.CanSTUN = true, true
		out.IPv4, out.IPv4CanSend = out.IPv4 || v4, out.IPv4CanSend || v4
		out.IPv6, out.IPv6CanSend, out.OSHasIPv6 = out.IPv6 || !v4, out.IPv6CanSend || !v4, out.OSHasIPv6 || !v4
		if a.Asked.Addr().IsLoopback() || a.Asked.Addr().IsPrivate() {
			continue // a STUN server in the same network sees another address
		}
		mapped[v4][a.Mapped.String()] = true
		if v4 {
			out.GlobalV4 = a.Mapped.String()
		} else {
			out.GlobalV6 = a.Mapped.String()
		}
	}
	if !out.UDP {
		report.Error = "no STUN server responds"
		warn(
			&r.HealthBase,
			codersdk.HealthCodeSTUNNone,
			"no STUN server responds, so connections to workspaces near this server use the relay; allow UDP, or set --derp-server-stun-addresses to a server that responds",
		)
	}
	if len(mapped[true]) > 0 || len(mapped[false]) > 0 {
		out.MappingVariesByDestIP = strconv.FormatBool(len(mapped[true]) > 1 || len(mapped[false]) > 1)
	}
	if out.MappingVariesByDestIP == "true" {
		warn(&r.HealthBase, codersdk.HealthCodeSTUNMappingVaries, "the public address differs between STUN servers (hard NAT), so most connections use the relay")
	}
	return out
}
