package network

import (
	"net"

	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
	"github.com/seed-2a7f8fe7/coder/internal/listen"
	"github.com/seed-2a7f8fe7/coder/internal/server/base"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel/stun"
)

// STUN returns the servers that report to the two ends of a tunnel their public
// addresses: this server, at the UDP port of its access URL's number, and those
// of the configuration. (NET-04)
func (c Config) STUN(b *base.Base) []string {
	if c.DisableDirect {
		return nil
	}
	port := b.AccessURL.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[b.AccessURL.Scheme]
	}
	return append([]string{net.JoinHostPort(b.AccessURL.Hostname(), port)}, c.otherSTUNServers()...)
}

// STUNServices answer STUN at the addresses of HTTP. The server starts although
// such a UDP port is in use: tunnels then use the other STUN servers.
func (c Config) STUNServices(b *base.Base, ln *listen.Listeners) (all []lifecycle.Named) {
	if c.DisableDirect {
		return nil
	}
	for _, a := range ln.Addrs() {
		tcp, ok := a.(*net.TCPAddr)
		if !ok {
			continue
		}
		conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: tcp.IP, Port: tcp.Port, Zone: tcp.Zone})
		if err != nil {
			b.Log.Warn("cannot answer STUN at an address", "address", a, "error", err)
			continue
		}
		all = append(all, lifecycle.Named{Name: "stun", Service: &stun.Server{Conn: conn}})
	}
	return all
}
