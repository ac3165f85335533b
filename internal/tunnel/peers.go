package tunnel

// Peers gives how many clients are reached directly now, and how many through
// the relay.
func (l *Listener) Peers() (direct, relayed int) { return l.path.Count() }
