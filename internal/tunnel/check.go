package tunnel

import (
	"context"
	"net/netip"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/tunnel/stun"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel/udp"
)

// STUNAnswer is the response from one address of a STUN server.
type STUNAnswer struct {
	Server  string
	Asked   netip.AddrPort // address of the server; not valid if its name has no address
	Mapped  netip.AddrPort // our address as the server sees it; not valid without a response
	Latency time.Duration
}

// CheckSTUN sends requests to STUN servers, host:port each, from one new socket. It returns
// the responses received until the context ends. It returns an error if this machine has no
// UDP.
func CheckSTUN(ctx context.Context, servers []string) ([]STUNAnswer, error) {
	sock, err := udp.Listen()
	if err != nil {
		return nil, err
	}
	defer sock.Close()
	var all []STUNAnswer
	sent := make(map[stun.ID]int)
	var at []time.Time
	for _, s := range servers {
		addrs := udp.Resolve(ctx, s)
		if len(addrs) == 0 {
			addrs = []netip.AddrPort{{}}
		}
		for _, a := range addrs {
			id := stun.NewID()
			sent[id] = len(all)
			all, at = append(all, STUNAnswer{Server: s, Asked: a}), append(at, time.Now())
			if a.IsValid() {
				_ = sock.Write(stun.Request(id), 0, a) // a missing response reveals the failure
			}
		}
	}
	defer context.AfterFunc(ctx, func() { sock.Close() })()
	b := make([]byte, udp.MaxDatagram)
	for left := len(all); left > 0; {
		n, seg, _, err := sock.Read(b)
		if ctx.Err() != nil {
			return all, nil
		}
		if err != nil {
			continue
		}
		_ = udp.EachSegment(b[:n], seg, func(p []byte) error {
			id, mapped, err := stun.ParseResponse(p)
			if i, ok := sent[id]; err == nil && ok {
				all[i].Mapped, all[i].Latency = mapped, time.Since(at[i])
				delete(sent, id)
				left--
			}
			return nil
		})
	}
	return all, nil
}
