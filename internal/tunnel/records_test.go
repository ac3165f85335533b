package tunnel

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"
)

// TestEndsOfBefore connects an end that supports records with an older one that does not.
func TestEndsOfBefore(t *testing.T) {
	for name, change := range map[string]func(*ListenConfig, *DialConfig){
		"agent":  func(agent *ListenConfig, _ *DialConfig) { agent.protocols = []string{protocol1} },
		"client": func(_ *ListenConfig, client *DialConfig) { client.protocols = []string{protocol1} },
		"none":   nil,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, c := newTunnel(t, func(agent *ListenConfig, client *DialConfig) {
					agent.Direct, client.Direct = Direct{Disabled: "a test"}, Direct{Disabled: "a test"}
					if change != nil {
						change(agent, client)
					}
				})
				echoBytes(t, c, 4<<20, 1)
				if records := c.lane.Stats().TxRecords; (records > 100) != (name == "none") {
					t.Errorf("%d records were sent", records)
				}
			})
		})
	}
}

// TestRecordsAndDirectPaths carries a stream that alternates between records through the relay
// and packets on a direct path.
func TestRecordsAndDirectPaths(t *testing.T) {
	testBothDirections(t, 8<<20)
}

func testBothDirections(t *testing.T, size int64) {
	synctest.Test(t, func(t *testing.T) {
		n, c := newTunnel(t, nil)
		stop := make(chan struct{})
		defer close(stop)
		go func() {
			for lost := true; ; lost = !lost {
				n.setLoss(nil)
				if lost {
					n.setLoss(func(netip.AddrPort, int) bool { return true })
				}
				select {
				case <-stop:
					return
				case <-time.After(1700 * time.Millisecond):
				}
			}
		}()
		for seed := range uint64(3) {
			echoBytes(t, c, size, seed)
		}
		if c.lane.Stats().TxRecords == 0 || c.conn.ConnectionStats().BytesSent < 4<<20 {
			t.Error("records and QUIC packets were not both used")
		}
	})
}
