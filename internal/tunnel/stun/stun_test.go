package stun_test

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/testwait"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel/stun"
)

func TestServer(t *testing.T) {
	for _, local := range []string{"127.0.0.1:0", "[::1]:0"} {
		c, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.MustParseAddrPort(local)))
		if err != nil {
			t.Skip("no such network here: ", err)
		}
		s := &stun.Server{Conn: c}
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		client, err := net.DialUDP("udp", nil, c.LocalAddr().(*net.UDPAddr))
		if err != nil {
			t.Fatal(err)
		}
		id := stun.NewID()
		for _, p := range [][]byte{nil, []byte("rubbish"), stun.Response(id, netip.MustParseAddrPort("1.2.3.4:5")), stun.Request(id)} {
			if _, err := client.Write(p); err != nil {
				t.Fatal(err)
			}
		}
		b := make([]byte, 1500)
		_ = client.SetReadDeadline(time.Now().Add(testwait.Limit))
		n, err := client.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		got, mapped, err := stun.ParseResponse(b[:n])
		if err != nil || got != id || mapped.String() != client.LocalAddr().String() {
			t.Errorf("%v, %v, %v: we are %v", got, mapped, err, client.LocalAddr())
		}
		_ = client.Close()
		if err := s.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestOldMappedAddress(t *testing.T) {
	id := stun.ID{1, 2, 3}
	b := stun.Response(id, netip.MustParseAddrPort("9.9.9.9:9"))[:20]
	b[3] = 12 + 8 // an unknown attribute first, then MAPPED-ADDRESS
	b = append(b, 0x80, 0x22, 0, 3, 'a', 'b', 'c', 0, 0, 1, 0, 8, 0, 1, 0x1f, 0x90, 10, 0, 0, 1)
	got, mapped, err := stun.ParseResponse(b)
	if err != nil || got != id || mapped.String() != "10.0.0.1:8080" {
		t.Errorf("%v, %v, %v", got, mapped, err)
	}
}

func FuzzParse(f *testing.F) {
	id := stun.ID{1}
	f.Add(stun.Request(id))
	f.Add(stun.Response(id, netip.MustParseAddrPort("1.2.3.4:5")))
	f.Add(stun.Response(id, netip.MustParseAddrPort("[2001:db8::1]:65535")))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = stun.ParseRequest(b)
		id, mapped, err := stun.ParseResponse(b)
		if err != nil {
			return
		}
		again, same, err := stun.ParseResponse(stun.Response(id, mapped))
		if err != nil || again != id || same != mapped {
			t.Errorf("%v came back as %v, %v, %v", mapped, again, same, err)
		}
	})
}
