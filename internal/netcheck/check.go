package netcheck

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
)

const (
	// relayRegion is the region of the server's own relay, with the same number
	// as in the health report.
	relayRegion = 999
	// proxyRegions and stunRegions are the first region numbers of their kind.
	proxyRegions, stunRegions = 1000, 2000
	// stepLimit bounds each measurement.
	stepLimit = 5 * time.Second
	// maxProxies bounds how many workspace proxies are measured.
	maxProxies = 100
	// leastMTU is the minimum packet size, in bytes, with which direct
	// connections work.
	leastMTU = 1280 + 48
	// smallMTU is the code of the warning about an interface below leastMTU.
	smallMTU codersdk.HealthCode = "EIF01"
)

// Options change what is checked.
type Options struct {
	// NoDirect skips STUN, because this machine does not use direct
	// connections.
	NoDirect bool
	// Agent checks the network of a workspace agent, which has no permission to
	// list workspace proxies and the STUN servers. STUN has those, host:port.
	Agent bool
	STUN  []string
}

// Run checks the network between this machine and the server of c, in at most
// about 15 s. Failures are part of the report.
func Run(ctx context.Context, c *codersdk.Client, o Options) *Report {
	r := &Report{
		DERP:       RelayReport{Section: newSection(), Regions: map[string]*Region{}, NetcheckLogs: []string{}},
		Interfaces: interfaces(),
	}
	r.DERP.Netcheck = &UDPReport{RegionLatency: map[string]int64{}}
	k := &check{report: &r.DERP, client: c}
	var all sync.WaitGroup
	steps := []func(context.Context){k.relay, k.families, func(ctx context.Context) { k.stun(ctx, o) }}
	if !o.Agent {
		steps = append(steps, k.proxies)
	}
	for _, step := range steps {
		all.Go(func() { step(ctx) })
	}
	all.Wait()
	k.prefer()
	r.DERP.Healthy = r.DERP.Severity != codersdk.HealthSeverityError
	return r
}

// check is one run; mu guards the report.
type check struct {
	client *codersdk.Client
	mu     sync.Mutex
	report *RelayReport
}

func (k *check) logf(format string, args ...any) {
	k.report.NetcheckLogs = append(k.report.NetcheckLogs, fmt.Sprintf(format, args...))
}

// region returns the region with the number and creates it if needed.
func (k *check) region(name RegionName, node Node) *Region {
	id := strconv.Itoa(name.RegionID)
	if k.report.Regions[id] == nil {
		node.RegionID = name.RegionID
		name.Nodes = []Node{node}
		k.report.Regions[id] = &Region{Section: newSection(), Healthy: true, Region: name, NodeReports: []NodeReport{{
			Section: newSection(), Healthy: true, Node: node, RoundTripPing: "0s",
		}}}
	}
	return k.report.Regions[id]
}

// measured records a round trip to a region, or its error.
func (k *check) measured(r *Region, took time.Duration, err error) {
	n := &r.NodeReports[0]
	if err != nil {
		n.fail(codersdk.HealthCodeRelayUnhealthy, err.Error())
		n.Healthy, r.Healthy = false, false
		r.Severity, r.Error = n.Severity, n.Error
		return
	}
	n.CanExchangeMessages = !n.Node.STUNOnly
	n.RoundTripPing, n.RoundTripPingMS = took.String(), float64(took.Microseconds())/1000
	k.report.Netcheck.RegionLatency[strconv.Itoa(r.Region.RegionID)] = took.Nanoseconds()
}

func (k *check) relayRegion() *Region {
	host := k.client.URL.Hostname()
	return k.region(RegionName{
		RegionID:      relayRegion,
		RegionCode:    "coder",
		RegionName:    "Relay of " + host,
		EmbeddedRelay: true,
	}, Node{Name: "relay", HostName: host})
}

// relay measures the server's relay, on which every connection depends.
func (k *check) relay(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, stepLimit)
	defer cancel()
	took, err := k.client.RelayLatency(ctx)
	k.mu.Lock()
	defer k.mu.Unlock()
	r := k.relayRegion()
	r.NodeReports[0].UsesWebSocket = true
	k.measured(r, took, err)
	if err != nil {
		k.report.fail(codersdk.HealthCodeRelayUnhealthy,
			fmt.Sprintf("WebSockets do not reach the server at %s, so workspaces are not reachable: %s. Check the address and the proxies in between",
				k.client.URL.Redacted(), err))
	}
}

// proxies measures the workspace proxies, which serve apps and terminals.
func (k *check) proxies(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 2*stepLimit)
	defer cancel()
	found, err := k.client.Regions(ctx)
	k.mu.Lock()
	defer k.mu.Unlock()
	if err != nil {
		k.logf("listing workspace proxies failed: %s", err)
		return
	}
	var all sync.WaitGroup
	for i, p := range found.Regions[:min(len(found.Regions), maxProxies)] {
		u, err := url.Parse(p.PathAppURL)
		if err != nil || u.Host == "" || u.Host == k.client.URL.Host {
			continue // the server itself
		}
		r := k.region(RegionName{RegionID: proxyRegions + i, RegionCode: p.Name, RegionName: p.DisplayName}, Node{Name: p.Name, HostName: u.Hostname()})
		all.Go(func() {
			took, err := k.client.Latency(ctx, u)
			k.mu.Lock()
			defer k.mu.Unlock()
			k.measured(r, took, err)
			if err != nil {
				k.report.warn(codersdk.HealthCodeProxyUnhealthy, fmt.Sprintf("The workspace proxy %s is not reachable: %s", p.Name, err))
			}
		})
	}
	k.mu.Unlock()
	all.Wait()
	k.mu.Lock()
}

// families checks whether the server is reachable over IPv4 and over IPv6.
func (k *check) families(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, stepLimit)
	defer cancel()
	port := k.client.URL.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[k.client.URL.Scheme]
	}
	var all sync.WaitGroup
	for network, reached := range map[string]*bool{"tcp4": &k.report.Netcheck.IPv4, "tcp6": &k.report.Netcheck.IPv6} {
		all.Go(func() {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, net.JoinHostPort(k.client.URL.Hostname(), port))
			k.mu.Lock()
			defer k.mu.Unlock()
			if err != nil {
				k.logf("%s to the server: %s", network, err)
				return
			}
			conn.Close() //nolint:errcheck // opening it is sufficient
			*reached = true
		})
	}
	all.Wait()
}

// stun requests the addresses of this machine from the deployment's STUN
// servers, unless direct connections are disabled.
func (k *check) stun(ctx context.Context, o Options) {
	ctx, cancel := context.WithTimeout(ctx, 2*stepLimit)
	defer cancel()
	settings, err := codersdk.TunnelSettings{STUNServers: o.STUN}, error(nil)
	if !o.Agent {
		settings, err = k.client.TunnelSettings(ctx)
	}
	var answers []tunnel.STUNAnswer
	off := o.NoDirect || settings.DisableDirectConnections
	if err == nil && !off {
		asking, cancel := context.WithTimeout(ctx, stepLimit/2)
		answers, err = tunnel.CheckSTUN(asking, settings.STUNServers)
		cancel()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case err != nil:
		text := err.Error()
		k.report.NetcheckErr = &text
		k.report.warn(codersdk.HealthCodeSTUNNone, "Direct connections cannot be checked: "+text)
	case o.NoDirect:
		k.logf("direct connections are disabled on this machine (--disable-direct-connections)")
	case off:
		k.logf("the server does not allow direct connections (--block-direct-connections)")
	default:
		k.mapped(answers)
	}
}

// mapped records the responses of STUN servers. The caller holds mu.
func (k *check) mapped(answers []tunnel.STUNAnswer) {
	out, seen := k.report.Netcheck, map[bool]string{}
	servers, compared, varies := map[string]*Region{}, false, false
	for _, a := range answers {
		r := servers[a.Server]
		if r == nil {
			r = k.stunRegion(a.Server, len(servers))
			servers[a.Server] = r
		}
		n := &r.NodeReports[0]
		n.STUN.Enabled = true
		if !a.Mapped.IsValid() {
			k.logf("STUN %s %s: no response", a.Server, address(a.Asked))
			continue
		}
		k.logf("STUN %s %s: this machine is %s, after %s", a.Server, address(a.Asked), a.Mapped, a.Latency.Round(time.Microsecond))
		if n.STUN.CanSTUN = true; n.Node.STUNOnly {
			k.measured(r, a.Latency, nil)
		}
		v4 := a.Mapped.Addr().Unmap().Is4()
		out.UDP, out.IPv4, out.IPv6 = true, out.IPv4 || v4, out.IPv6 || !v4
		out.IPv4CanSend, out.IPv6CanSend = out.IPv4CanSend || v4, out.IPv6CanSend || !v4
		if a.Asked.Addr().IsLoopback() || a.Asked.Addr().IsPrivate() {
			continue // these servers see another address by design
		}
		if v4 {
			out.GlobalV4 = a.Mapped.String()
		} else {
			out.GlobalV6 = a.Mapped.String()
		}
		if seen[v4] != "" {
			compared, varies = true, varies || seen[v4] != a.Mapped.String()
		}
		seen[v4] = a.Mapped.String()
	}
	if compared {
		out.MappingVariesByDestIP = &varies
	}
	k.judge(servers)
}

// judge adds warnings about what prevents direct connections.
func (k *check) judge(servers map[string]*Region) {
	for name, r := range servers {
		n := &r.NodeReports[0]
		if n.STUN.CanSTUN {
			continue
		}
		text := "no response from " + name
		n.STUN.Error = &text
		if n.Node.STUNOnly {
			n.warn(codersdk.HealthCodeSTUNNone, text)
			r.warn(codersdk.HealthCodeSTUNNone, text)
		}
	}
	out := k.report.Netcheck
	if len(servers) > 0 && !out.UDP {
		k.report.warn(codersdk.HealthCodeSTUNNone, "No STUN server responds; a firewall may block UDP. Connections use the relay")
	}
	if out.MappingVariesByDestIP != nil && *out.MappingVariesByDestIP {
		k.report.warn(codersdk.HealthCodeSTUNMappingVaries,
			"The router maps this machine to a different address for each peer (hard NAT). Direct connections require a workspace with a public address")
	}
}

// stunRegion returns the region of a STUN server: the relay's, if the server
// itself answers STUN.
func (k *check) stunRegion(server string, i int) *Region {
	host, port, err := net.SplitHostPort(server)
	if err != nil {
		host = server
	}
	if host == k.client.URL.Hostname() && i == 0 {
		return k.relayRegion()
	}
	number, _ := strconv.Atoi(port) // 0 is the default port
	return k.region(RegionName{
		RegionID:   stunRegions + i,
		RegionCode: "stun",
		RegionName: "STUN " + server,
	}, Node{Name: "stun", HostName: host, STUNPort: number, STUNOnly: true})
}

// prefer chooses the nearest region that relays or serves workspaces.
func (k *check) prefer() {
	out := k.report.Netcheck
	for _, r := range k.report.Regions {
		took, ok := out.RegionLatency[strconv.Itoa(r.Region.RegionID)]
		if !ok || r.NodeReports[0].Node.STUNOnly {
			continue
		}
		if best, ok := out.RegionLatency[strconv.Itoa(out.PreferredDERP)]; !ok || took < best {
			out.PreferredDERP = r.Region.RegionID
		}
	}
	out.OSHasIPv6 = hasIPv6()
}

func address(a netip.AddrPort) string {
	if !a.IsValid() {
		return "(the name does not resolve)"
	}
	return "at " + a.String()
}

// hasIPv6 reports whether the operating system has an IPv6 loopback address.
func hasIPv6() bool {
	conn, err := net.ListenPacket("udp6", "[::1]:0")
	if err != nil {
		return false
	}
	conn.Close() //nolint:errcheck // nothing was sent
	return true
}

// interfaces lists the network interfaces that are up.
func interfaces() InterfaceReport {
	r := InterfaceReport{Section: newSection(), Interfaces: []Interface{}}
	all, err := net.Interfaces()
	if err != nil {
		r.fail(codersdk.HealthCodeUnknown, "read the network interfaces: "+err.Error())
		return r
	}
	for _, i := range all {
		if i.Flags&net.FlagUp == 0 {
			continue
		}
		row := Interface{Name: i.Name, MTU: i.MTU, Addresses: []string{}}
		addrs, err := i.Addrs()
		if err != nil {
			r.warn(codersdk.HealthCodeUnknown, fmt.Sprintf("Reading the addresses of %s failed: %s", i.Name, err))
		}
		for _, a := range addrs {
			row.Addresses = append(row.Addresses, a.String())
		}
		r.Interfaces = append(r.Interfaces, row)
		if i.MTU > 0 && i.MTU < leastMTU {
			r.warn(smallMTU, fmt.Sprintf("The MTU of interface %s is %d bytes; direct connections require %d", i.Name, i.MTU, leastMTU))
		}
	}
	return r
}
