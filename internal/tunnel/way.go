package tunnel

import (
	"io"
	"net/netip"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/tunnel/path"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel/udp"
)

// Direct configures how an end takes part in direct paths.
type Direct struct {
	// Disabled is why it does not; "": it does.
	Disabled string
	// STUN are servers, host:port, that tell the end its public addresses.
	STUN []string

	// For tests.
	sock  udp.Socket
	local func() []netip.Addr
}

// open returns a path its socket, or says why there is none.
func (d Direct) open(p *path.Path) (why string) {
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

// Ways of packets.
const (
	WayDirect = "direct"
	WayRelay  = "relay"
	WayNone   = "none" // an outage
)

// Way reports how packets travel now.
type Way struct {
	Name      string         // WayDirect, WayRelay or WayNone
	Addr      netip.AddrPort // of the agent, when direct
	DirectRTT time.Duration  // of small packets on the direct path; 0: not known
	RelayRTT  time.Duration  // through the relay; 0: not known
	Why       string         // not direct; "" when direct
	Proxy     string         // name of the workspace proxy that relays; "" when direct or through the server
}

// Path names the way that packets take now.
func (c *Conn) Path() string { return c.Way().Name }

// Way reports how packets travel now, and why not directly.
func (c *Conn) Way() Way {
	known, proxied := c.peer.Ways(), c.nearest.live()
	w := Way{Name: WayNone, Addr: known.Direct, DirectRTT: known.DirectRTT, RelayRTT: known.RelayRTT, Why: known.Why}
	switch {
	case known.Direct.IsValid():
		w.Name = WayDirect
	case proxied != nil:
		w.Name, w.Proxy = WayRelay, proxied.proxy.Name
	case c.path.Online():
		w.Name = WayRelay
	}
	if c.why != "" {
		w.Why = c.why
	}
	return w
}

// Capture writes all packets of the tunnel to w, as they travel: encrypted, until
// stop is called, after which w is no longer used. A write that fails is not
// tried again.
func (c *Conn) Capture(w io.Writer) (stop func(), err error) { return c.path.Capture(w) }
