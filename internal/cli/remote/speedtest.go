package remote

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/cli/build"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/option"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
)

// directWait bounds the wait for a direct path.
const directWait = 15 * time.Second

// speedRow is an interval of a measurement, in the JSON form that scripts read.
type speedRow struct {
	Start      float64 `json:"start_time_seconds"`
	End        float64 `json:"end_time_seconds"`
	Throughput float64 `json:"throughput_mbits"`
	total      bool
}

func newSpeedRow(p tunnel.SpeedPart) speedRow {
	took := max(p.End-p.Start, time.Microsecond)
	return speedRow{Start: p.Start.Seconds(), End: p.End.Seconds(), Throughput: float64(p.Bytes) * 8 / 1e6 / took.Seconds()}
}

func speedtestCommand(a *command.Run) *command.Command {
	var direct bool
	var direction, pcap string
	var last time.Duration
	list := &command.Listing[speedRow]{All: []command.Column[speedRow]{
		{Name: "Interval", Show: func(r speedRow) string {
			text := fmt.Sprintf("%.2f-%.2f sec", r.Start, r.End)
			if r.total {
				text += " total"
			}
			return text
		}},
		{Name: "Throughput", Show: func(r speedRow) string { return fmt.Sprintf("%.2f Mbit/s", r.Throughput) }},
	}}
	return &command.Command{
		Name: "speedtest", Args: "<workspace>", Min: 1, Max: 1,
		Short: "Measure the throughput to a workspace",
		Options: []*option.Option{
			option.Bool(&direct, "direct", "Wait for a direct connection and fail without one").Short("d"),
			option.Choice(&direction, "direction", "Direction of the transfer: to the workspace (up) or from it (down)", tunnel.SpeedUp, tunnel.SpeedDown).
				Def(tunnel.SpeedDown),
			option.Duration(&last, "time", "Duration of the measurement").Short("t").Def("5s"),
			option.String(&pcap, "pcap-file", "File to capture the encrypted packets in"),
			list.ColumnOption("Interval,Throughput"), list.FormatOption(),
		},
		Complete: build.Names(a),
		Run: func(ctx context.Context, args []string) error {
			if last < time.Millisecond || last > 5*time.Minute {
				return command.Failure("--time must be between 1ms and 5m")
			}
			conn, err := connect(ctx, a, args[0], connecting{wait: "no"})
			if err != nil {
				return err
			}
			defer conn.Close() //nolint:errcheck // nothing is left to be written
			if direct {
				if err := awaitDirect(ctx, a, conn); err != nil {
					return err
				}
			}
			finish, err := capturePackets(conn, pcap)
			if err != nil {
				return err
			}
			rows, err := measure(ctx, conn, direction, last)
			if ferr := finish(); err == nil {
				err = ferr
			}
			if err != nil {
				return err
			}
			fmt.Fprintf(a.Stderr, "Measured %s, %s.\n", direction, byRoute(conn.Route()))
			result := struct {
				Overall   speedRow   `json:"overall"`
				Intervals []speedRow `json:"intervals"`
			}{rows[len(rows)-1], rows[:len(rows)-1]}
			if list.Format == "json" {
				return command.WriteJSON(a.Stdout, result)
			}
			return list.Write(a, rows)
		},
	}
}

func measure(ctx context.Context, conn *connection, direction string, last time.Duration) (rows []speedRow, err error) {
	err = conn.Speed(ctx, direction, last, func(p tunnel.SpeedPart) { rows = append(rows, newSpeedRow(p)) })
	if err != nil {
		return nil, err
	}
	rows[len(rows)-1].total = true
	return rows, nil
}

// awaitDirect waits until the connection is direct.
func awaitDirect(ctx context.Context, a *command.Run, conn *connection) error {
	ctx, cancel := context.WithTimeout(ctx, directWait)
	defer cancel()
	s := a.Spin("Waiting for a direct connection to " + conn.workspace.Name)
	for conn.Path() != tunnel.RouteDirect {
		if command.Pause(ctx, 50*time.Millisecond) != nil {
			s.Done(false)
			return command.Failure("no direct connection: %s", conn.Route().Why)
		}
	}
	s.Done(true)
	return nil
}

// capturePackets writes the packets of a tunnel to a file until finish is
// called.
func capturePackets(conn *connection, file string) (finish func() error, err error) {
	if file == "" {
		return func() error { return nil }, nil
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, command.Failure("--pcap-file: %s", command.RootCause(err))
	}
	w := bufio.NewWriterSize(f, 1<<20)
	stop, err := conn.Capture(w)
	if err != nil {
		f.Close() //nolint:errcheck // the first error says more
		return nil, err
	}
	return func() error {
		stop()
		err := w.Flush()
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		return err
	}, nil
}
