package listen

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// Clients determines the addresses of clients. Headers are the headers in which
// reverse proxies pass the address; they are trusted only from Origins.
type Clients struct {
	Headers []string
	Origins []netip.Prefix
}

// NewClients parses the addresses and networks of trusted proxies.
func NewClients(headers, origins []string) (Clients, error) {
	c := Clients{Headers: headers}
	for _, t := range origins {
		p, err := netip.ParsePrefix(t)
		if a, err2 := netip.ParseAddr(t); err2 == nil {
			p, err = netip.PrefixFrom(a, a.BitLen()), nil
		}
		if err != nil {
			return c, codersdk.Errorf(codersdk.CodeInvalid, "--proxy-trusted-origins: %q is neither an address nor a network such as 10.0.0.0/8", t)
		}
		c.Origins = append(c.Origins, p)
	}
	return c, nil
}

// IP returns the address of the client: the connection's address, or the one
// that a trusted proxy reports.
func (c Clients) IP(r *http.Request) netip.Addr {
	ap, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	ip := ap.Addr().Unmap().WithZone("")
	if !c.trusts(ip) {
		return ip
	}
	for _, name := range c.Headers {
		hops := strings.Split(r.Header.Get(name), ",")
		for _, hop := range slices.Backward(hops) { // each proxy adds the address it saw at the end
			said, err := netip.ParseAddr(strings.TrimSpace(hop))
			if err != nil {
				break
			}
			if ip = said.Unmap().WithZone(""); !c.trusts(ip) {
				return ip
			}
		}
	}
	return ip
}

// trusts reports whether the address is that of a trusted proxy.
func (c Clients) trusts(ip netip.Addr) bool {
	return slices.ContainsFunc(c.Origins, func(p netip.Prefix) bool { return p.Contains(ip) })
}
