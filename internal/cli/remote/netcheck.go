package remote

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/cli/app"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
)

// leastMTU is the least size of packets with which direct connections work for
// sure: one of ours with the headers around it.
const leastMTU = 1280 + 48

// netReport is what netcheck prints.
type netReport struct {
	Server     netServer      `json:"server"`
	Direct     netDirect      `json:"direct"`
	Interfaces []netInterface `json:"interfaces"`
	Warnings   []string       `json:"warnings"`
}

type netServer struct {
	URL       string  `json:"url"`
	Version   string  `json:"version,omitempty"`
	LatencyMS float64 `json:"latency_ms,omitempty"`
	// WebSocket is whether the relay can be reached, which every connection
	// begins with.
	WebSocket   bool    `json:"websocket"`
	WebSocketMS float64 `json:"websocket_ms,omitempty"`
	Error       string  `json:"error,omitempty"`
}

type netDirect struct {
	Allowed bool   `json:"allowed"`
	Why     string `json:"why,omitempty"` // not allowed
	IPv4    bool   `json:"udp_ipv4"`
	IPv6    bool   `json:"udp_ipv6"`
	// MappingVaries says that each peer sees another address of this machine,
	// which most direct connections through such a router fail at.
	MappingVaries bool      `json:"mapping_varies"`
	STUN          []netSTUN `json:"stun"`
}

type netSTUN struct {
	Server    string  `json:"server"`
	Address   string  `json:"address,omitempty"`
	Mapped    string  `json:"mapped_address,omitempty"`
	LatencyMS float64 `json:"latency_ms,omitempty"`
	Error     string  `json:"error,omitempty"`
}

type netInterface struct {
	Name      string   `json:"name"`
	MTU       int      `json:"mtu"`
	Addresses []string `json:"addresses"`
}

func netcheckCommand(a *app.Run) *app.Command {
	return &app.Command{
		Name: "netcheck", Max: 0,
		Short: "Check what connections to workspaces need of this network; prints JSON.",
		Run: func(ctx context.Context, _ []string) error {
			r, err := netcheck(ctx, a)
			if err != nil {
				return err
			}
			return app.WriteJSON(a.Stdout, r)
		},
	}
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func netcheck(ctx context.Context, a *app.Run) (*netReport, error) {
	c, err := a.Client(ctx)
	if err != nil {
		return nil, err
	}
	r := &netReport{Warnings: []string{}, Direct: netDirect{STUN: []netSTUN{}}, Server: netServer{URL: c.URL.String()}}
	start := time.Now()
	info, err := c.BuildInfo(ctx)
	if err != nil {
		return nil, err
	}
	r.Server.Version, r.Server.LatencyMS = info.Version, ms(time.Since(start))
	start = time.Now()
	if ws, err := c.Dial(ctx, "/changes", nil); err != nil {
		r.Server.Error = app.RootCause(err).Error()
		r.Warnings = append(r.Warnings, "WebSockets do not come through to the server: no workspace can be reached. Look at the proxies on the way.")
	} else {
		r.Server.WebSocket, r.Server.WebSocketMS = true, ms(time.Since(start))
		ws.CloseNow() //nolint:errcheck // it has answered
	}
	settings, err := c.TunnelSettings(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.direct(ctx, settings, a.DisableDirect); err != nil {
		return nil, err
	}
	return r, r.interfaces()
}

// direct looks at what direct connections need.
func (r *netReport) direct(ctx context.Context, s coder.TunnelSettings, off bool) error {
	d := &r.Direct
	switch {
	case off:
		d.Why = "turned off here (--disable-direct-connections)"
	case s.DisableDirectConnections:
		d.Why = "the server does not allow them (--block-direct-connections)"
	default:
		d.Allowed = true
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	answers, err := tunnel.CheckSTUN(ctx, s.STUNServers)
	if err != nil {
		r.Warnings = append(r.Warnings, "There is no UDP here: "+err.Error())
		return nil
	}
	mapped := map[bool]string{}
	for _, x := range answers {
		row := netSTUN{Server: x.Server}
		switch {
		case !x.Asked.IsValid():
			row.Error = "the name has no address"
		case !x.Mapped.IsValid():
			row.Address, row.Error = x.Asked.String(), "no answer"
		default:
			row.Address, row.Mapped, row.LatencyMS = x.Asked.String(), x.Mapped.String(), ms(x.Latency)
			v4 := x.Mapped.Addr().Is4()
			d.IPv4, d.IPv6 = d.IPv4 || v4, d.IPv6 || !v4
			if x.Asked.Addr().IsLoopback() || x.Asked.Addr().IsPrivate() {
				break // seen from inside, which is another address by right
			}
			if before := mapped[v4]; before != "" && before != row.Mapped {
				d.MappingVaries = true
			}
			mapped[v4] = row.Mapped
		}
		d.STUN = append(d.STUN, row)
	}
	if len(answers) > 0 && !d.IPv4 && !d.IPv6 && d.Allowed {
		r.Warnings = append(r.Warnings, "No STUN server answers: UDP may be blocked, and connections through the relay only.")
	}
	if d.MappingVaries {
		r.Warnings = append(r.Warnings, "The router gives each peer another address of this machine: direct connections need a workspace with a public address.")
	}
	return nil
}

func (r *netReport) interfaces() error {
	all, err := net.Interfaces()
	if err != nil {
		return fmt.Errorf("read the network interfaces: %w", err)
	}
	for _, i := range all {
		if i.Flags&net.FlagUp == 0 {
			continue
		}
		row := netInterface{Name: i.Name, MTU: i.MTU, Addresses: []string{}}
		addrs, err := i.Addrs()
		if err != nil {
			return fmt.Errorf("read the addresses of %s: %w", i.Name, err)
		}
		for _, x := range addrs {
			row.Addresses = append(row.Addresses, x.String())
		}
		r.Interfaces = append(r.Interfaces, row)
		if i.MTU > 0 && i.MTU < leastMTU {
			r.Warnings = append(r.Warnings, fmt.Sprintf("The interface %s takes packets of at most %d bytes; direct connections need %d.", i.Name, i.MTU, leastMTU))
		}
	}
	return nil
}
