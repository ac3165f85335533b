package remote

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/cli/build"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/option"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
)

func pingCommand(a *command.Run) *command.Command {
	var wait, timeout time.Duration
	var count int
	var stamp, utc bool
	return &command.Command{
		Name: "ping", Args: "<workspace>", Min: 1, Max: 1,
		Short: "Measure the round-trip time to a workspace",
		Options: []*option.Option{
			option.Duration(&wait, "wait", "Interval between pings").Def("1s"),
			option.Duration(&timeout, "timeout", "Time to wait for a reply").Short("t").Def("5s"),
			option.Int(&count, "num", "Number of pings; 0 means until Ctrl-C").Short("n"),
			option.Bool(&stamp, "time", "Show the local time of each ping"),
			option.Bool(&utc, "utc", "Show the UTC time of each ping"),
		},
		Complete: build.Names(a),
		Run: func(ctx context.Context, args []string) error {
			conn, err := connect(ctx, a, args[0], connecting{wait: "no"})
			if err != nil {
				return err
			}
			defer conn.Close() //nolint:errcheck // nothing is left to be written
			failed := 0
			for i := 0; count <= 0 || i < count; i++ {
				if i > 0 && command.Pause(ctx, wait) != nil {
					break
				}
				asking, cancel := context.WithTimeout(ctx, timeout)
				took, err := conn.Ping(asking)
				cancel()
				if ctx.Err() != nil {
					break
				}
				line := fmt.Sprintf("pong from %s %s in %s", conn.workspace.Name, byRoute(conn.Route()), took.Round(10*time.Microsecond))
				if err != nil {
					failed++
					line = fmt.Sprintf("no reply from %s: %v", conn.workspace.Name, command.RootCause(err))
				}
				switch {
				case utc:
					line = a.Now().UTC().Format(time.RFC3339) + " " + line
				case stamp:
					line = a.Now().Local().Format(time.RFC3339) + " " + line
				}
				fmt.Fprintln(a.Stdout, line)
			}
			for _, line := range describeRoute(conn.Route()) {
				fmt.Fprintln(a.Stdout, line)
			}
			if failed > 0 && count > 0 && failed == count {
				return fmt.Errorf("no reply from %s", conn.workspace.Name)
			}
			return nil
		},
	}
}

// byRoute describes the path of one packet.
func byRoute(r tunnel.Route) string {
	switch r.Name {
	case tunnel.RouteDirect:
		return "directly from " + r.Addr.String()
	case tunnel.RouteRelay:
		if r.Proxy != "" {
			return "through the workspace proxy " + r.Proxy
		}
		return "through the relay"
	}
	return "without a path"
}

// describeRoute describes whether a tunnel is direct, why not, and the latency of
// each path.
func describeRoute(r tunnel.Route) (lines []string) {
	switch {
	case r.Name == tunnel.RouteDirect:
		lines = append(lines, "The connection is direct, to "+r.Addr.String()+".")
	case r.Proxy != "":
		lines = append(lines, "The connection uses the relay of the workspace proxy "+r.Proxy+": "+r.Why+".")
	default:
		lines = append(lines, "The connection uses the server's relay: "+r.Why+".")
	}
	for _, p := range []struct {
		name string
		rtt  time.Duration
	}{{"direct path", r.DirectRTT}, {"relay", r.RelayRTT}} {
		if p.rtt > 0 {
			lines = append(lines, fmt.Sprintf(" %-11s  round trip %s", p.name, p.rtt.Round(10*time.Microsecond)))
		}
	}
	return lines
}

// networkInfo is the JSON that editors read about a connection.
type networkInfo struct {
	P2P              bool               `json:"p2p"`
	Latency          float64            `json:"latency"` // milliseconds
	PreferredDERP    string             `json:"preferred_derp"`
	DERPLatency      map[string]float64 `json:"derp_latency"`
	UploadBytesSec   int64              `json:"upload_bytes_sec"`
	DownloadBytesSec int64              `json:"download_bytes_sec"`
	CoderConnect     bool               `json:"using_coder_connect"`
}

// writeNetworkInfo keeps a status file up to date. The file is named after the
// parent process, which for a ProxyCommand is ssh.
func writeNetworkInfo(ctx context.Context, a *command.Run, conn *connection, o *sshFlags) {
	file := filepath.Join(o.infoDir, strconv.Itoa(os.Getppid())+".json")
	if os.MkdirAll(o.infoDir, 0o700) != nil {
		return
	}
	defer os.Remove(file) //nolint:errcheck // a stale file does no harm
	before, since := conn.Stats(), a.Now()
	for {
		if took, err := conn.Ping(ctx); err == nil {
			ms := float64(took.Microseconds()) / 1000
			now, at := conn.Stats(), a.Now()
			route := conn.Route()
			relay := cmp.Or(route.Proxy, "relay")
			b, err := json.Marshal(networkInfo{
				P2P: route.Name == tunnel.RouteDirect, Latency: ms, PreferredDERP: relay, DERPLatency: map[string]float64{relay: ms},
				UploadBytesSec: perSecond(now.TxBytes-before.TxBytes, at.Sub(since)), DownloadBytesSec: perSecond(now.RxBytes-before.RxBytes, at.Sub(since)),
			})
			before, since = now, at
			if err == nil && command.WriteFile(file, b, 0o600) != nil {
				return
			}
		}
		if command.Pause(ctx, max(o.infoInterval, time.Second)) != nil {
			return
		}
	}
}

// perSecond returns a rate in bytes per second. Periods under a second count as
// one second.
func perSecond(bytes uint64, period time.Duration) int64 {
	return int64(float64(bytes) / max(period, time.Second).Seconds())
}
