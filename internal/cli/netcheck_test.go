package cli

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// netReport is what editors read of netcheck, with the names that they use.
type netReport struct {
	DERP struct {
		Severity string
		Warnings []struct{ Code, Message string }
		Error    *string
		Regions  map[string]*struct {
			Severity string
			Error    *string
			Region   *struct {
				RegionID      int
				RegionName    string
				EmbeddedRelay bool
			}
			NodeReports []struct {
				CanExchangeMessages bool    `json:"can_exchange_messages"`
				RoundTripPingMS     float64 `json:"round_trip_ping_ms"`
				STUN                struct{ Enabled, CanSTUN bool }
				Node                struct{ STUNOnly bool }
			} `json:"node_reports"`
		}
		Netcheck *struct {
			UDP, IPv4, IPv6             *bool
			MappingVariesByDestIP, UPnP *bool
			HairPinning, PMP, PCP       *bool
			PreferredDERP               int
			RegionLatency               map[string]int64
		}
		NetcheckErr *string `json:"netcheck_err"`
	}
	Interfaces struct {
		Severity   string
		Warnings   []struct{ Code, Message string }
		Error      *string
		Interfaces []struct {
			Name      string
			MTU       int
			Addresses []string
		}
	}
}

func parseNetcheck(t *testing.T, out string) (r netReport) {
	t.Helper()
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("netcheck prints no JSON: %v\n%s", err, out)
	}
	return r
}

// TestNetcheck: the report has the form that editors parse, and what is in it
// was measured.
func TestNetcheck(t *testing.T) {
	h := newHouse(t, nil)
	out, _ := h.ok("netcheck")
	r := parseNetcheck(t, out)
	relay := r.DERP.Regions["999"]
	switch {
	case relay == nil || relay.Region == nil || len(relay.NodeReports) != 1 || !relay.Region.EmbeddedRelay:
		t.Fatalf("the relay's region: %s", out)
	case r.DERP.Error != nil, relay.Error != nil, relay.Severity != "ok":
		t.Errorf("a relay that works has an error: %s", out)
	case !relay.NodeReports[0].CanExchangeMessages || relay.NodeReports[0].RoundTripPingMS <= 0:
		t.Errorf("no message was exchanged: %s", out)
	case r.DERP.Netcheck == nil || r.DERP.Netcheck.RegionLatency["999"] <= 0 || r.DERP.Netcheck.PreferredDERP != 999:
		t.Errorf("no latency: %s", out)
	case !*r.DERP.Netcheck.IPv4 || r.DERP.Netcheck.IPv6 == nil:
		t.Errorf("the server was reached by IPv4: %s", out)
	case !*r.DERP.Netcheck.UDP || !relay.NodeReports[0].STUN.Enabled || !relay.NodeReports[0].STUN.CanSTUN:
		t.Errorf("the server answers STUN: %s", out)
	case r.DERP.Netcheck.HairPinning != nil || r.DERP.Netcheck.UPnP != nil:
		t.Errorf("what is not measured is not null: %s", out)
	case len(r.Interfaces.Interfaces) == 0 || r.Interfaces.Interfaces[0].MTU == 0 || len(r.Interfaces.Interfaces[0].Addresses) == 0:
		t.Errorf("no interfaces: %s", out)
	}
	if out, _ := h.ok("netcheck", "--disable-direct-connections"); *parseNetcheck(t, out).DERP.Netcheck.UDP || !strings.Contains(out, "disabled on this machine") {
		t.Errorf("without direct connections: %s", out)
	}
}

// TestNetcheckOfABrokenNetwork: JSON is printed also when nothing works, and
// the exit status is 1.
func TestNetcheckOfABrokenNetwork(t *testing.T) {
	f := newFar(t)
	out, errs, status := f.run("", "netcheck") // a server without WebSockets and STUN
	r := parseNetcheck(t, out)
	if status != 1 || r.DERP.Severity != "error" || r.DERP.Error == nil || !strings.Contains(errs, "WebSockets do not reach the server") {
		t.Errorf("a server without WebSockets: status %d, %s\n%s", status, errs, out)
	}
	f.answer("GET /tunnel", 200, codersdk.TunnelSettings{STUNServers: []string{"127.0.0.1:1"}})
	f.HandleFunc("GET /api/v2/debug/ws", func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer conn.CloseNow()
		kind, b, err := conn.Read(r.Context())
		if err == nil {
			_ = conn.Write(r.Context(), kind, b) // the test sees it
		}
	})
	f.answer("GET /regions", 200, codersdk.RegionsResponse{Regions: []codersdk.Region{{Name: "far", PathAppURL: "http://127.0.0.1:1"}}})
	out, errs, status = f.run("", "netcheck")
	r = parseNetcheck(t, out)
	far, stun := r.DERP.Regions["1000"], r.DERP.Regions["2000"]
	if status != 0 || r.DERP.Severity != "warning" || len(r.DERP.Warnings) != 2 || far == nil || far.Error == nil || far.NodeReports[0].CanExchangeMessages {
		t.Errorf("an unreachable proxy: status %d, %s\n%s", status, errs, out)
	}
	if *r.DERP.Netcheck.UDP || stun == nil && !r.DERP.Regions["999"].NodeReports[0].STUN.Enabled {
		t.Errorf("STUN servers that do not answer: %s", out)
	}
	if out, errs, status := runWith([]string{"HOME=" + t.TempDir()}, "netcheck"); status != 1 || out != "" || !strings.Contains(errs, "You are not logged in") {
		t.Errorf("not logged in: status %d, %q, %q", status, out, errs)
	}
}

// runWith runs a command with these variables alone.
func runWith(env []string, args ...string) (stdout, stderr string, status int) {
	var out, errs strings.Builder
	status = Main(context.Background(), append([]string{"coder"}, args...), strings.NewReader(""), &out, &errs, env)
	return out.String(), errs.String(), status
}
