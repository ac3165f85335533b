package attempt

import (
	"net/netip"
	"testing"
)

// TestAddressesOfOneNetworkCountTogether: a client with an IPv6 network can use any of
// its addresses.
func TestAddressesOfOneNetworkCountTogether(t *testing.T) {
	for _, c := range []struct{ a, b string }{{"2001:db8::1", "2001:db8::ffff:2"}, {"192.0.2.1", "::ffff:192.0.2.1"}} {
		if ByAddress(netip.MustParseAddr(c.a)) != ByAddress(netip.MustParseAddr(c.b)) {
			t.Errorf("%s and %s count apart", c.a, c.b)
		}
	}
	if ByAddress(netip.MustParseAddr("192.0.2.1")) == ByAddress(netip.MustParseAddr("192.0.2.2")) {
		t.Error("addresses of different IPv4 clients count together")
	}
}
