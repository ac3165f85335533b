package tunnel

import (
	"io"
	"net/netip"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/tunnel/path"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel/udp"
)

// Direct configures the direct paths of an end.
type Direct struct {
	// Disabled is the reason why this end has no direct paths; "" enables them.
	Disabled string
	// STUN are servers, host:port, from which this end learns its public addresses.
	STUN []string

	// For tests.
	sock  udp.Socket
	local func() []netip.Addr
}

// openSocket opens the socket for the direct paths of p, or returns the reason why there is
// none.
func (d Direct) openSocket(p *path.Path) (why string) {
	if d.Disabled != "" {
		return d.Disabled
	}
	if d.local == nil {
		d.local = udp.LocalAddresses
	}
	if d.sock == nil {
		s, err := udp.Listen()
		if err != nil {
			return "there is no UDP here: " + err.Error()
		}
		d.sock = s
	}
	p.OpenDirect(d.sock, d.STUN, d.local)
	return ""
}

// Names of routes.
const (
	RouteDirect = "direct"
	RouteRelay  = "relay"
	RouteNone   = "none" // an outage
)

// Route is how packets travel now.
type Route struct {
	Name      string         // RouteDirect, RouteRelay or RouteNone
	Addr      netip.AddrPort // of the agent, when direct
	DirectRTT time.Duration  // of small packets on the direct path; 0: unknown
	RelayRTT  time.Duration  // through the relay; 0: unknown
	Why       string         // reason why packets do not travel directly; "" when direct
	Proxy     string         // name of the workspace proxy that relays; "" when direct or through the server
}

// Path returns the name of the current route.
func (c *Conn) Path() string { return c.Route().Name }

// Route returns how packets travel now, and the reason if not directly.
func (c *Conn) Route() Route {
	known, proxied := c.peer.State(), c.nearest.activeProxy()
	r := Route{Name: RouteNone, Addr: known.Direct, DirectRTT: known.DirectRTT, RelayRTT: known.RelayRTT, Why: known.Why}
	switch {
	case known.Direct.IsValid():
		r.Name = RouteDirect
	case proxied != nil:
		r.Name, r.Proxy = RouteRelay, proxied.proxy.Name
	case c.path.Online():
		r.Name = RouteRelay
	}
	if c.noDirect != "" {
		r.Why = c.noDirect
	}
	return r
}

// Capture writes all packets of the tunnel to w, as they travel: encrypted. After stop it no
// longer uses w. It does not retry a failed write.
func (c *Conn) Capture(w io.Writer) (stop func(), err error) { return c.path.Capture(w) }
