package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/bench/distance"
	"github.com/seed-2a7f8fe7/coder/internal/bench/openssh"
)

const (
	// distantCopy is the number of bytes that scp copies over the distance.
	distantCopy = 1 << 30
	// distantStream is the duration of a stream.
	distantStream = 8 * time.Second
	// distantTurns is the number of measurements of each kind, in turns.
	distantTurns = 3
	// distantKeys is the number of keys typed beside a copy, distantPause
	// apart, starting after distantSettled.
	distantKeys    = 60
	distantPause   = 40 * time.Millisecond
	distantSettled = 2 * time.Second
)

// distantWays are the paths of a distant client.
var distantWays = []struct {
	name, flags string
	least       float64
}{{"direct", "", 1}, {"relayed", "--disable-direct-connections", 0.7}}

// distanceRows measures copies and typing over an emulated distance.
func distanceRows(ctx context.Context, c Config, bin string) ([]row, error) {
	d, err := distance.New(ctx)
	if errors.Is(err, distance.ErrNone) {
		fmt.Fprintf(c.Progress, "no distance is measured: %v\n", err)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return inWorkspaceAt(ctx, distance.Far, c, bin, func(s *server, _ codersdk.Workspace) ([]row, error) {
		rows, err := s.distantCopies(ctx, d)
		if err != nil {
			return rows, err
		}
		for _, way := range distantWays {
			took, err := s.echoBesideCopy(ctx, d, way.flags)
			if err != nil {
				return rows, err
			}
			rows = append(rows, atMost("distant_echo_beside_copy_"+way.name, ms(quantile(took, 0.5)), ms(2*distance.Delay+10*time.Millisecond), "ms"))
		}
		return rows, nil
	})
}

// distantCopies measures streams, and scp through the tunnel against OpenSSH's
// own scp on the same path.
func (s *server) distantCopies(ctx context.Context, d *distance.Path) ([]row, error) {
	sshd, err := openssh.Start(ctx, distance.Far, filepath.Join(s.dir, "sshd"))
	if err != nil {
		return nil, err
	}
	defer sshd.Stop()
	from, to := filepath.Join(s.dir, "from"), filepath.Join(s.dir, "to")
	if err := errors.Join(os.WriteFile(from, nil, 0o600), os.Truncate(from, distantCopy)); err != nil {
		return nil, err
	}
	scp, streams := map[string][]float64{}, map[string][]float64{}
	var rates []float64
	for range distantTurns {
		var floor time.Duration
		args := d.Command(append([]string{"scp"}, append(sshd.Options(), "-P", sshd.Port, from, distance.Far+":"+to)...)...)
		if err := s.timed(ctx, &floor, args[0], args[1:]...); err != nil {
			return nil, err
		}
		rates = append(rates, distantCopy/1e6/floor.Seconds())
		for _, way := range distantWays {
			var took time.Duration
			args := d.Command(append([]string{"scp"}, append(s.openSSH(way.flags), from, "ws:"+to)...)...)
			if err := s.timed(ctx, &took, args[0], args[1:]...); err != nil {
				return nil, fmt.Errorf("%s: %w", way.name, err)
			}
			scp[way.name] = append(scp[way.name], float64(floor)/float64(took))
			rate, err := s.distantStream(ctx, d, way.flags)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", way.name, err)
			}
			streams[way.name] = append(streams[way.name], rate*floor.Seconds()/distantCopy)
		}
	}
	rows := []row{atLeast("distant_openssh_scp", median(rates), 0, "MB/s")}
	for _, way := range distantWays {
		rows = append(rows,
			atLeast("distant_stream_"+way.name+"_over_openssh_scp", median(streams[way.name]), way.least, "x"),
			atLeast("distant_scp_"+way.name+"_over_openssh", median(scp[way.name]), way.least, "x"))
	}
	return rows, nil
}

// distantStream fills a stream to the workspace and returns its bytes per
// second.
func (s *server) distantStream(ctx context.Context, d *distance.Path, flags string) (float64, error) {
	words := s.distant(d, flags, "speedtest", "shell", "--direction", "up", "--output", "json", "--time", distantStream.String())
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Env = s.env
	out, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("speedtest: %w", err)
	}
	var said struct {
		Overall struct {
			Mbits float64 `json:"throughput_mbits"`
		} `json:"overall"`
	}
	err = json.Unmarshal(out, &said)
	return said.Overall.Mbits * 1e6 / 8, err
}

// echoBesideCopy types into a shell during a copy and returns the round trip of
// each key.
func (s *server) echoBesideCopy(ctx context.Context, d *distance.Path, flags string) (took []time.Duration, err error) {
	copying := d.Command(append([]string{"scp"}, append(s.openSSH(flags), filepath.Join(s.dir, "from"), "ws:/dev/null")...)...)
	_, end, err := s.among(ctx, copying, nil)
	if err != nil {
		return nil, err
	}
	defer end()
	var out *bufio.Reader
	in, end2, err := s.among(ctx, s.distant(d, flags, "ssh", "shell", "exec cat"), &out)
	if err != nil {
		return nil, err
	}
	defer end2()
	wait := time.NewTimer(distantSettled)
	defer wait.Stop()
	for i := range distantKeys + 1 { // the first waits for the session
		start := time.Now()
		if _, err := in.Write([]byte("x\n")); err != nil {
			return nil, err
		}
		if _, err := out.ReadString('\n'); err != nil {
			return nil, fmt.Errorf("the shell beside a copy: %w", err)
		}
		if i > 0 {
			took = append(took, time.Since(start))
			wait.Reset(distantPause)
		}
		<-wait.C
	}
	return took, nil
}

// distant returns the command line that runs the binary as a distant client
// with the flags of a path.
func (s *server) distant(d *distance.Path, flags string, args ...string) []string {
	words := []string{s.bin}
	if flags != "" {
		words = append(words, flags)
	}
	return d.Command(append(words, args...)...)
}

// among starts a command with the environment of this server's clients, until
// end is called.
func (s *server) among(ctx context.Context, words []string, out **bufio.Reader) (in interface{ Write([]byte) (int, error) }, end func(), err error) {
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Env = s.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err = cmd.StdinPipe()
	if out != nil && err == nil {
		stdout, perr := cmd.StdoutPipe()
		*out, err = bufio.NewReader(stdout), perr
	}
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, nil, err
	}
	return in, func() {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) //nolint:errcheck // it may be gone
		cmd.Wait()                                      //nolint:errcheck // killed
	}, nil
}
