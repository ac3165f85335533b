package sshd

import "sync"

// Counts holds the number of open sessions of each kind, without those whose clients are
// away.
type Counts struct {
	SSH, VSCode, JetBrains, ReconnectingPTY int64
}

// Counts returns the number of open sessions.
func (s *Server) Counts() Counts {
	var n [kinds]int64
	s.open.mu.Lock()
	defer s.open.mu.Unlock()
	for one := range s.open.all {
		if one.away == nil || !one.away() {
			n[one.kind]++
		}
	}
	return Counts{SSH: n[kindSSH], VSCode: n[kindVSCode], JetBrains: n[kindJetBrains], ReconnectingPTY: n[kindTerminal]}
}

// open are the open sessions that count.
type open struct {
	mu  sync.Mutex
	all map[*openSession]struct{}
}

// openSession counts as a session of a kind unless its client is away.
type openSession struct {
	kind kind
	away func() bool // nil: never
}

// add counts a session until done is called.
func (o *open) add(k kind, away func() bool) (done func()) {
	one := &openSession{k, away}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.all == nil {
		o.all = map[*openSession]struct{}{}
	}
	o.all[one] = struct{}{}
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.all, one)
	}
}
