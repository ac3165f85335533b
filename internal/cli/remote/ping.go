package remote

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/cli/app"
	"github.com/seed-2a7f8fe7/coder/internal/cli/build"
	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
)

func pingCommand(a *app.Run) *app.Command {
	var wait, timeout time.Duration
	var count int
	var stamp, utc bool
	return &app.Command{
		Name: "ping", Args: "<workspace>", Min: 1, Max: 1,
		Short: "Measure how long a question to a workspace and its answer take.",
		Options: []*option.Option{
			option.Duration(&wait, "wait", "Time between two questions.").Def("1s"),
			option.Duration(&timeout, "timeout", "How long to wait for an answer.").Short("t").Def("5s"),
			option.Int(&count, "num", "How many questions; any number until Ctrl-C otherwise.").Short("n"),
			option.Bool(&stamp, "time", "Begin each line with the time."),
			option.Bool(&utc, "utc", "Begin each line with the time in UTC."),
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
				if i > 0 && app.Pause(ctx, wait) != nil {
					break
				}
				asking, cancel := context.WithTimeout(ctx, timeout)
				took, err := conn.Ping(asking)
				cancel()
				if ctx.Err() != nil {
					break
				}
				line := fmt.Sprintf("pong from %s %s in %s", conn.workspace.Name, byWay(conn.Way()), took.Round(10*time.Microsecond))
				if err != nil {
					failed++
					line = fmt.Sprintf("no answer from %s: %v", conn.workspace.Name, app.RootCause(err))
				}
				switch {
				case utc:
					line = a.Now().UTC().Format(time.RFC3339) + " " + line
				case stamp:
					line = a.Now().Local().Format(time.RFC3339) + " " + line
				}
				fmt.Fprintln(a.Stdout, line)
			}
			for _, line := range describeWay(conn.Way()) {
				fmt.Fprintln(a.Stdout, line)
			}
			if failed > 0 && count > 0 && failed == count {
				return fmt.Errorf("%s did not answer", conn.workspace.Name)
			}
			return nil
		},
	}
}

// byWay says how one packet went.
func byWay(w tunnel.Way) string {
	switch w.Name {
	case tunnel.WayDirect:
		return "directly from " + w.Addr.String()
	case tunnel.WayRelay:
		return "through the relay"
	}
	return "while there is no path"
}

// describeWay says whether a tunnel is direct, why not, and how far it is by
// each path.
func describeWay(w tunnel.Way) (lines []string) {
	if w.Name == tunnel.WayDirect {
		lines = append(lines, "The connection is direct, to "+w.Addr.String()+".")
	} else {
		lines = append(lines, "The connection goes through the server's relay: "+w.Why+".")
	}
	for _, p := range []struct {
		name string
		rtt  time.Duration
	}{{"direct path", w.DirectRTT}, {"relay", w.RelayRTT}} {
		if p.rtt > 0 {
			lines = append(lines, fmt.Sprintf("  %-11s  %s there and back", p.name, p.rtt.Round(10*time.Microsecond)))
		}
	}
	return lines
}

// networkInfo is what editors read of a connection.
type networkInfo struct {
	P2P              bool               `json:"p2p"`
	Latency          float64            `json:"latency"` // milliseconds
	PreferredDERP    string             `json:"preferred_derp"`
	DERPLatency      map[string]float64 `json:"derp_latency"`
	UploadBytesSec   int64              `json:"upload_bytes_sec"`
	DownloadBytesSec int64              `json:"download_bytes_sec"`
	CoderConnect     bool               `json:"using_coder_connect"`
}

// writeNetworkInfo keeps a file named after the process up to date.
func writeNetworkInfo(ctx context.Context, a *app.Run, conn *connection, o *sshFlags) {
	file := filepath.Join(o.infoDir, strconv.Itoa(os.Getppid())+".json")
	if os.MkdirAll(o.infoDir, 0o700) != nil {
		return
	}
	defer os.Remove(file) //nolint:errcheck // a stale file does no harm
	for {
		if took, err := conn.Ping(ctx); err == nil {
			ms := float64(took.Microseconds()) / 1000
			b, err := json.Marshal(networkInfo{
				P2P: conn.Path() == tunnel.WayDirect, Latency: ms, PreferredDERP: "relay", DERPLatency: map[string]float64{"relay": ms},
			})
			if err == nil && app.WriteFile(file, b, 0o600) != nil {
				return
			}
		}
		if app.Pause(ctx, max(o.infoInterval, time.Second)) != nil {
			return
		}
	}
}
