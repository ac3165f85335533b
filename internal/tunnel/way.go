package tunnel

import (
	"net/netip"
	"time"
)

// Direct says how an end takes part in direct paths.
type Direct struct {
	// Disabled is why it does not; "": it does.
	Disabled string
	// STUN are servers, host:port, that tell the end its public addresses.
	STUN []string

	// For tests.
	sock  socket
	local func() []netip.Addr
}

// open gives a path its socket, or says why there is none.
func (d Direct) open(p *path) (why string) {
	if d.Disabled != "" {
		return d.Disabled
	}
	if d.local == nil {
		d.local = localAddresses
	}
	if d.sock == nil {
		s, err := listenUDP()
		if err != nil {
			return "there is no UDP here: " + err.Error()
		}
		d.sock = s
	}
	p.openDirect(d.sock, d.STUN, d.local)
	return ""
}

// Ways of packets.
const (
	WayDirect = "direct"
	WayRelay  = "relay"
	WayNone   = "none" // an outage
)

// Way says how packets travel now.
type Way struct {
	Name      string         // WayDirect, WayRelay or WayNone
	Addr      netip.AddrPort // of the agent, when direct
	DirectRTT time.Duration  // of small packets on the direct path; 0: not known
	RelayRTT  time.Duration  // through the relay; 0: not known
	Why       string         // not direct; "" when direct
}

// Path names the way that packets take now.
func (c *Conn) Path() string { return c.Way().Name }

// Way says how packets travel now, and why not directly.
func (c *Conn) Way() Way {
	w := Way{Name: WayNone, Why: c.why}
	if c.path.online() {
		w.Name = WayRelay
	}
	q := c.peer.prober
	if q == nil {
		return w
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	w.RelayRTT, w.DirectRTT, w.Why = q.rtts[netip.AddrPort{}], q.rtts[q.chosen], q.why
	if q.chosen.IsValid() {
		w.Name, w.Addr = WayDirect, q.chosen
	} else {
		w.DirectRTT = 0
	}
	return w
}
