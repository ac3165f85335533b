package path

import (
	"context"
	"net/netip"
	"slices"
	"time"
)

// slept is the least time without a tick that counts as sleep: of the machine, during which
// only the wall clock goes on, or of the process, which was stopped.
const slept = 3 * time.Second

// watchSleep watches, until ctx ends, whether the machine or the process slept, and while
// there is no link, whether the addresses of the machine change. Either is followed by
// attempts at once: typing must flow again two seconds later, and waits that began before
// may last longer.
func (p *Path) watchSleep(ctx context.Context) {
	t := time.NewTicker(watchEvery)
	defer t.Stop()
	wall, mono := p.c.Now().Round(0), p.since()
	var addresses []netip.Addr
	var looked time.Duration
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		now, since := p.c.Now().Round(0), p.since()
		gap := max(now.Sub(wall), since-mono)
		wall, mono = now, since
		if gap > slept {
			p.c.Log.Debug("this machine or process was suspended", "for", gap)
			p.Wake()
			addresses = nil
			continue
		}
		if p.Online() {
			addresses = nil
		} else if since-looked >= lookAround {
			looked = since
			current := p.c.Addresses()
			if addresses != nil && !slices.Equal(addresses, current) {
				p.c.Log.Debug("the addresses of this machine changed; dialing the relay")
				p.Wake()
			}
			addresses = current
		}
	}
}

// wakeUp returns a channel that is closed when the machine wakes up.
func (p *Path) wakeUp() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.woke
}

// away is after how long without anything from a peer its return counts as one from sleep.
// It is more than the time between two signs of an idle one.
const away = 5 * time.Minute

// heard notes that something came from a peer. One that returns from sleep gets again what
// it may have missed, also where no relay reports its return. It does not block.
func (p *Path) heard(e *Peer) {
	now := int64(p.since())
	if last := e.heard.Swap(now); last != 0 && now-last > int64(away) {
		go p.Returned(e.session) // Returned waits for the link, and the caller reads from it
	}
}

// Wake has everything start again that may wait for what was lost in a sleep: the dialing
// of the relay, the link to it, and direct paths.
func (p *Path) Wake() {
	p.patience.Forget()
	p.mu.Lock()
	close(p.woke)
	p.woke = make(chan struct{})
	peers := make([]*Peer, 0, len(p.peers))
	for _, e := range p.peers {
		peers = append(peers, e)
	}
	p.mu.Unlock()
	p.suspect()
	for _, e := range peers {
		if q := e.prober.Load(); q != nil {
			q.woken.Store(true)
			q.poke()
		}
	}
}
