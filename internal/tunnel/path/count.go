package path

// Count gives how many tunnels go directly now, and how many through the relay.
func (p *Path) Count() (direct, relayed int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.peers {
		switch {
		case e.conn.Load() == nil: // not a tunnel yet
		case e.direct.Load() != nil:
			direct++
		default:
			relayed++
		}
	}
	return direct, relayed
}
