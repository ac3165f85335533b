package udp

import (
	"context"
	"net"
	"net/netip"
	"slices"
)

// maxLocal is the maximum number of addresses that LocalAddresses returns.
const maxLocal = 16

// Resolve returns at most one address of each family for host:port.
func Resolve(ctx context.Context, server string) (all []netip.AddrPort) {
	host, port, err := net.SplitHostPort(server)
	if err != nil {
		return nil
	}
	n, err := net.DefaultResolver.LookupPort(ctx, "udp", port)
	if err != nil {
		return nil
	}
	for _, family := range []string{"ip4", "ip6"} {
		if ips, err := net.DefaultResolver.LookupNetIP(ctx, family, host); err == nil && len(ips) > 0 {
			all = append(all, netip.AddrPortFrom(ips[0].Unmap(), uint16(n)))
		}
	}
	return all
}

// LocalAddresses returns the addresses of this machine that others may reach, or its loopback
// addresses if it has no others.
func LocalAddresses() (all []netip.Addr) {
	ifs, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	var own []netip.Addr
	for _, i := range ifs {
		n, ok := i.(*net.IPNet)
		if !ok {
			continue
		}
		a, ok := netip.AddrFromSlice(n.IP)
		a = a.Unmap()
		switch {
		case !ok || a.IsLinkLocalUnicast() || a.IsMulticast() || a.IsUnspecified():
		case a.IsLoopback():
			own = append(own, a)
		default:
			all = append(all, a)
		}
	}
	if len(all) == 0 {
		all = own
	}
	slices.SortFunc(all, netip.Addr.Compare)
	return all[:min(len(all), maxLocal)]
}
