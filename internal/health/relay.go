package health

import (
	"context"
	"strconv"
	"time"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
)

const (
	// relayRegion is the only region of relays: this deployment's servers.
	relayRegion = 999
	// replicaSilent is how long ago a server may last have been heard of.
	replicaSilent = 2 * time.Minute
	// stunWait is how long STUN servers may take to answer.
	stunWait = 3 * time.Second
)

// relay looks whether the packets of tunnels come through: to this server by
// WebSocket, from it to the others, and what direct connections may hope for.
func (s *Service) relay(ctx context.Context) coder.DERPHealthReport {
	r := coder.DERPHealthReport{HealthBase: fine(), NetcheckLogs: []string{}, Regions: map[string]coder.DERPRegionReport{}}
	stun := coder.STUNReport{Enabled: len(s.c.STUN) > 0}
	r.Netcheck = s.netcheck(ctx, &r, &stun)
	replicas, err := s.c.Store.ReplicasAlive(ctx, s.c.Now().Add(-replicaSilent))
	if err != nil {
		fail(&r.HealthBase, coder.HealthCodeUnknown, "the servers of this deployment cannot be listed: %s", err)
		return r
	}
	region := coder.DERPRegionReport{
		Healthy: true, Severity: coder.HealthSeverityOK, Warnings: []coder.HealthMessage{}, NodeReports: []coder.DERPNodeReport{},
		Region: coder.RelayRegion{EmbeddedRelay: true, RegionCode: "coder", RegionID: relayRegion, RegionName: "Relay", Nodes: []coder.RelayNode{}},
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
	region.Healthy = region.Severity != coder.HealthSeverityError
	if !region.Healthy {
		fail(&r.HealthBase, coder.HealthCodeRelayUnhealthy, "%s", region.Error)
	}
	r.Regions[strconv.Itoa(relayRegion)] = region
	r.Healthy = r.Severity != coder.HealthSeverityError
	return r
}

// node looks at one server's relay: this one by a WebSocket at the access URL,
// the others at the address at which servers reach one another.
func (s *Service) node(ctx context.Context, replica sqlc.Replica, several bool) coder.DERPNodeReport {
	n := coder.DERPNodeReport{
		Severity: coder.HealthSeverityOK, UsesWebsocket: true, ClientErrs: [][]string{}, ClientLogs: [][]string{}, Warnings: []coder.HealthMessage{},
		Node: coder.RelayNode{Name: replica.Hostname, RegionID: relayRegion, HostName: replica.Hostname},
	}
	bad := func(text string) {
		n.Error, n.Severity = string(coder.HealthCodeRelayUnhealthy)+": "+text, coder.HealthSeverityError
	}
	start := time.Now()
	switch {
	case replica.ID == s.c.ReplicaID && s.c.AccessURL != nil:
		n.Node.HostName = s.c.AccessURL.Hostname()
		const text = "relay"
		if a, err := s.c.Echo(ctx, s.c.AccessURL.JoinPath(echoPath).String(), text); err != nil || a.Body != text {
			bad("no WebSocket comes through at the access URL, over which the packets of tunnels travel")
		}
	case replica.ID == s.c.ReplicaID:
		bad("no access URL is set: give --access-url")
	case replica.RelayAddress == "":
		bad("the server " + replica.Hostname + " has no address at which the others reach it: give it --derp-server-relay-url")
	default:
		a, err := s.c.Fetch(ctx, replica.RelayAddress+"/healthz")
		if err != nil {
			bad("the server " + replica.Hostname + " is not reached at " + replica.RelayAddress + ": " + err.Error())
		} else if a.Status != 200 {
			bad("the server " + replica.Hostname + " answers " + strconv.Itoa(a.Status) + " at " + replica.RelayAddress + "/healthz")
		}
	}
	took := time.Since(start)
	n.RoundTripPing, n.RoundTripPingMS = took.String(), took.Milliseconds()
	if several && replica.ID == s.c.ReplicaID && replica.RelayAddress == "" && n.Error == "" {
		n.Severity = coder.HealthSeverityWarning
		n.Warnings = append(n.Warnings, coder.HealthMessage{Code: coder.HealthCodeRelayUnhealthy,
			Message: "the other servers have no address at which they reach this one: give it --derp-server-relay-url"})
	}
	n.Healthy = n.Severity != coder.HealthSeverityError
	n.CanExchangeMessages = n.Healthy
	return n
}

// netcheck asks STUN servers for this server's public addresses.
func (s *Service) netcheck(ctx context.Context, r *coder.DERPHealthReport, report *coder.STUNReport) coder.NetcheckReport {
	out := coder.NetcheckReport{RegionLatency: map[string]int64{}, RegionV4Latency: map[string]int64{}, RegionV6Latency: map[string]int64{}}
	if len(s.c.STUN) == 0 {
		r.NetcheckLogs = append(r.NetcheckLogs, "direct connections are turned off (--block-direct-connections)")
		return out
	}
	ctx, cancel := context.WithTimeout(ctx, stunWait)
	defer cancel()
	answers, err := tunnel.CheckSTUN(ctx, s.c.STUN)
	if err != nil {
		r.NetcheckErr, report.Error = err.Error(), err.Error()
		warn(&r.HealthBase, coder.HealthCodeSTUNNone, "there is no UDP on the server: %s", err)
		return out
	}
	mapped := map[bool]map[string]bool{true: {}, false: {}}
	for _, a := range answers {
		if !a.Mapped.IsValid() {
			r.NetcheckLogs = append(r.NetcheckLogs, a.Server+": no answer")
			continue
		}
		r.NetcheckLogs = append(r.NetcheckLogs, a.Server+": "+a.Mapped.String()+" after "+a.Latency.Round(time.Microsecond).String())
		v4 := a.Mapped.Addr().Unmap().Is4()
		out.UDP, report.CanSTUN = true, true
		out.IPv4, out.IPv4CanSend = out.IPv4 || v4, out.IPv4CanSend || v4
		out.IPv6, out.IPv6CanSend, out.OSHasIPv6 = out.IPv6 || !v4, out.IPv6CanSend || !v4, out.OSHasIPv6 || !v4
		if a.Asked.Addr().IsLoopback() || a.Asked.Addr().IsPrivate() {
			continue // seen from inside, which is another address by right
		}
		mapped[v4][a.Mapped.String()] = true
		if v4 {
			out.GlobalV4 = a.Mapped.String()
		} else {
			out.GlobalV6 = a.Mapped.String()
		}
	}
	if !out.UDP {
		report.Error = "no STUN server answers"
		warn(&r.HealthBase, coder.HealthCodeSTUNNone, "no STUN server answers this one: connections to workspaces that run near it go through the relay. Let UDP through, or name a server that answers with --derp-server-stun-addresses")
	}
	if len(mapped[true]) > 0 || len(mapped[false]) > 0 {
		out.MappingVariesByDestIP = strconv.FormatBool(len(mapped[true]) > 1 || len(mapped[false]) > 1)
	}
	if out.MappingVariesByDestIP == "true" {
		warn(&r.HealthBase, coder.HealthCodeSTUNMappingVaries, "the address of this network differs from server to server (a hard NAT): connections out of it mostly go through the relay")
	}
	return out
}
