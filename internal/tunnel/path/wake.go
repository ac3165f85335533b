package path

import (
	"context"
	"net/netip"
	"slices"
	"time"
)

// minSleep is the least time without a tick that counts as sleep: of the machine, during
// which only the wall clock advances, or of the process, which was stopped.
const minSleep = 3 * time.Second

// watchSleep detects, until ctx ends, whether the machine or the process slept. While there
// is no link, it also detects changes of the machine's addresses. After either, attempts
// start at once: keystrokes must be echoed within two seconds, and older waits may last longer.
func (p *Path) watchSleep(ctx context.Context) {
	t := time.NewTicker(watchInterval)
	defer t.Stop()
	wall, mono := p.c.Now().Round(0), p.elapsed()
	var addresses []netip.Addr
	var lastCheck time.Duration
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		now, since := p.c.Now().Round(0), p.elapsed()
		gap := max(now.Sub(wall), since-mono)
		wall, mono = now, since
		if gap > minSleep {
			p.c.Log.Debug("this machine or process was suspended", "for", gap)
			p.Wake()
			addresses = nil
			continue
		}
		if p.Online() {
			addresses = nil
		} else if since-lastCheck >= addrCheckInterval {
			lastCheck = since
			current := p.c.Addresses()
			if addresses != nil && !slices.Equal(addresses, current) {
				p.c.Log.Debug("the addresses of this machine changed; dialing the relay")
				p.Wake()
			}
			addresses = current
		}
	}
}

// wakeChannel returns a channel that is closed when the machine wakes up.
func (p *Path) wakeChannel() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.woke
}

// peerSleep is the time without packets from a peer after which the peer counts as returned
// from sleep. It is longer than the interval between two keep-alives of an idle peer.
const peerSleep = 5 * time.Minute

// noteReceived records that a packet came from a peer. A peer that returns from sleep gets the
// last packets again, even where no relay reports its return. noteReceived does not block.
func (p *Path) noteReceived(e *Peer) {
	now := int64(p.elapsed())
	if last := e.lastReceived.Swap(now); last != 0 && now-last > int64(peerSleep) {
		go p.Returned(e.session) // Returned waits for the link, and the caller reads from it
	}
}

// Wake restarts everything that may wait for packets lost while the machine slept: it dials
// the relay again, checks the link to it, and searches for direct paths.
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
	p.checkRelayLink()
	for _, e := range peers {
		if q := e.prober.Load(); q != nil {
			q.woken.Store(true)
			q.signalWake()
		}
	}
}
