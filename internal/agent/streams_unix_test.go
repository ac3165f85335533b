//go:build unix

package agent_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/agenttest"
	"github.com/seed-2a7f8fe7/coder/internal/cli/agentcmd"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
)

// echoVariable makes a process of this test a program in a workspace that
// answers what it is told.
const echoVariable = "CODER_TEST_AGENT_ECHO"

// TestMain lets the test binary be that program, so that its files are not ours;
// and the programs of a machine with containers, and the agent there.
func TestMain(m *testing.M) {
	agenttest.DockerProgram()
	if len(os.Args) > 1 && os.Args[1] == "agent" {
		os.Exit(agentcmd.Main(context.Background(), os.Args, os.Stdin, os.Stdout, os.Stderr, os.Environ()))
	}
	if os.Getenv(echoVariable) == "" {
		os.Exit(m.Run())
	}
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(l.Addr())
	go func() {
		io.Copy(io.Discard, os.Stdin) //nolint:errcheck // the test has ended, in whatever way
		os.Exit(0)
	}()
	for {
		c, err := l.Accept()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		go io.Copy(struct{ io.Writer }{c}, c) //nolint:errcheck // it ends with the connection; as a socket it would take a pipe too
	}
}

// echo starts such a program and gives its address.
func echo(t *testing.T) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), echoVariable+"=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() }) //nolint:errcheck // it is killed
	addr, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(addr)
}

// maxStreams is how many streams one connection may have.
const maxStreams = 4096

// Many open streams: each works, each costs little, a connection with all that
// it may have makes the next one wait, and others are not disturbed.
func TestManyStreams(t *testing.T) {
	manyStreams(t, maxStreams-1)
}

func manyStreams(t *testing.T, streams int) {
	if n := fileLimit(t); n < 12_000 {
		t.Skipf("this process may open %d files only", n)
	}
	h := agenttest.New(t)
	u, _ := h.Serve("")
	a := h.Workspace("ws")
	process(t, u, a.Token)
	reaches(t, h, a.ID, codersdk.WorkspaceAgentLifecycleReady)
	addr := echo(t)
	var conns []*tunnel.Conn
	for range (streams + maxStreams - 1) / maxStreams {
		_, c := shell(t, h, a) // the shell is a stream of it
		conns = append(conns, c)
	}
	before := memory()
	var g errgroup.Group
	g.SetLimit(64)
	last := make([]*tunnel.Stream, streams)
	for i := range streams {
		g.Go(func() error {
			s, err := conns[i/(maxStreams-1)].Open(t.Context(), tunnel.KindTCP, addr)
			if err != nil {
				return fmt.Errorf("stream %d: %w", i, err)
			}
			last[i] = s
			b := []byte{byte(i)}
			if _, err := s.Write(b); err != nil {
				return fmt.Errorf("stream %d: %w", i, err)
			}
			if _, err := io.ReadFull(s, b); err != nil || b[0] != byte(i) {
				return fmt.Errorf("stream %d: %v, %w", i, b, err)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	// Both ends and the relay are in this process.
	if per := (memory() - before) / int64(streams); per > 128<<10 {
		t.Errorf("a stream takes %d bytes", per)
	}
	other, _ := shell(t, h, a)
	if out := output(t, other, "echo undisturbed"); out != "undisturbed\n" {
		t.Errorf("%q", out)
	}
	ctx, cancel := context.WithCancel(t.Context())
	next := make(chan error, 1)
	go func() {
		_, err := conns[0].Open(ctx, tunnel.KindTCP, addr)
		next <- err
	}()
	select {
	case err := <-next:
		t.Errorf("a connection has more streams than it may: %v", err)
	default:
	}
	last[0].Close() // the program in the workspace does not close its end
	if err := <-next; err != nil {
		t.Errorf("a stream that waited for its turn: %v", err)
	}
	go func() {
		_, err := conns[0].Open(ctx, tunnel.KindTCP, addr)
		next <- err
	}()
	cancel()
	if err := <-next; !errors.Is(err, context.Canceled) {
		t.Errorf("a stream that nobody waits for any more: %v", err)
	}
}

// fileLimit is how many files this process may open.
func fileLimit(t *testing.T) uint64 {
	t.Helper()
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		t.Fatal(err)
	}
	return uint64(l.Cur)
}

// memory is what this process holds now.
func memory() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}
