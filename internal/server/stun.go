package server

import (
	"net"

	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
	"github.com/seed-2a7f8fe7/coder/internal/listen"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel/stun"
)

// stunServers are what tells the two ends of a tunnel their public addresses:
// this server, at the UDP port of the number of its access URL's, and those of
// the configuration. (NET-04)
func (s *Server) stunServers() []string {
	if s.c.DisableDirect {
		return nil
	}
	port := s.accessURL.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[s.accessURL.Scheme]
	}
	return append([]string{net.JoinHostPort(s.accessURL.Hostname(), port)}, s.c.stun()...)
}

// stunServices answer STUN at the addresses where HTTP is answered. A port that
// is taken is no reason not to start: there are other ways to be found.
func (s *Server) stunServices(ln *listen.Listeners) (all []lifecycle.Named) {
	if s.c.DisableDirect {
		return nil
	}
	for _, a := range ln.Addrs() {
		tcp, ok := a.(*net.TCPAddr)
		if !ok {
			continue
		}
		conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: tcp.IP, Port: tcp.Port, Zone: tcp.Zone})
		if err != nil {
			s.log.Warn("STUN is not answered here", "address", a, "error", err)
			continue
		}
		all = append(all, lifecycle.Named{Name: "stun", Service: &stun.Server{Conn: conn}})
	}
	return all
}
