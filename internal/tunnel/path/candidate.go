package path

import (
	"context"
	"net/netip"
	"slices"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/tunnel/probe"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel/udp"
)

// stunTimeout bounds the wait for STUN responses.
const stunTimeout = 1500 * time.Millisecond

// gatherCandidates passes the addresses of this end to send: the known ones at once, and
// all of them again after each STUN response.
func (d *directSocket) gatherCandidates(send func([]netip.AddrPort)) {
	send(d.candidates())
	if len(d.stun) == 0 || !d.reflexive.StartQuery(d.p.elapsed()) {
		return
	}
	go func() {
		defer d.reflexive.EndQuery()
		ctx, cancel := context.WithTimeout(d.p.ctx, stunTimeout)
		defer cancel()
		d.queryServers(ctx)
		for {
			select {
			case <-d.reflexive.Updated():
				send(d.candidates())
			case <-ctx.Done():
				return
			}
		}
	}()
}

// queryServers sends a request to every STUN server, by IPv4 and by IPv6.
func (d *directSocket) queryServers(ctx context.Context) {
	for _, server := range d.stun {
		go func() {
			for _, to := range udp.Resolve(ctx, server) {
				_ = d.sock.Write(d.reflexive.NewRequest(), 0, to) // a failed write is like a lost request
			}
		}()
	}
}

// candidates returns the known addresses of this end, at most probe.MaxCandidates.
func (d *directSocket) candidates() (all []netip.AddrPort) {
	for _, a := range d.local() {
		all = append(all, netip.AddrPortFrom(a, d.sock.Port()))
	}
	for _, a := range d.reflexive.List(d.p.elapsed()) {
		if !slices.Contains(all, a) {
			all = append(all, a)
		}
	}
	return all[:min(len(all), probe.MaxCandidates)]
}
