package remote

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/crypto/ssh"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/cli/build"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/option"
)

// remoteForward forwards connections to an address in the workspace to a local
// address.
type remoteForward struct{ remoteNet, remote, localNet, local string }

// parseRemoteForwards parses values of -R: remote_port:local_host:local_port,
// remote_host:remote_port:local_host:local_port, or two socket paths.
func parseRemoteForwards(in []string) ([]remoteForward, error) {
	var out []remoteForward
	for _, s := range in {
		f := remoteForward{remoteNet: "tcp", localNet: "tcp"}
		if r, l, ok := strings.Cut(s, ":"); ok && strings.HasPrefix(r, "/") {
			out = append(out, remoteForward{"unix", r, "unix", l})
			continue
		}
		parts := splitPorts(s)
		switch len(parts) {
		case 3:
			f.remote, f.local = net.JoinHostPort("localhost", parts[0]), net.JoinHostPort(parts[1], parts[2])
		case 4:
			f.remote, f.local = net.JoinHostPort(parts[0], parts[1]), net.JoinHostPort(parts[2], parts[3])
		default:
			return nil, command.Failure("--remote-forward %q must be remote_port:local_host:local_port", s)
		}
		for _, address := range []string{f.remote, f.local} {
			if _, port, _ := net.SplitHostPort(address); !validPort(port) {
				return nil, command.Failure("--remote-forward %q: %q is not a port", s, port)
			}
		}
		out = append(out, f)
	}
	return out, nil
}

func validPort(s string) bool {
	n, err := strconv.Atoi(s)
	return err == nil && n >= 1 && n <= 65535
}

// splitPorts splits at colons outside brackets, and removes the brackets.
func splitPorts(s string) []string {
	var parts []string
	if strings.HasSuffix(s, ":") {
		s += "?" // an empty last part is not a port
	}
	for s != "" {
		if rest, ok := strings.CutPrefix(s, "["); ok {
			if host, after, ok := strings.Cut(rest, "]"); ok {
				parts = append(parts, host)
				s = strings.TrimPrefix(after, ":")
				continue
			}
		}
		part, rest, _ := strings.Cut(s, ":")
		parts = append(parts, part)
		s = rest
	}
	return parts
}

// start listens in the workspace until the client is closed.
func (f remoteForward) start(client *ssh.Client, stderr io.Writer) error {
	ln, err := client.Listen(f.remoteNet, f.remote)
	if err != nil {
		return fmt.Errorf("listen at %s in the workspace: %w", f.remote, err)
	}
	go func() {
		for {
			from, err := ln.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial(f.localNet, f.local)
			if err != nil {
				fmt.Fprintf(stderr, "Cannot connect to %s: %v\n", f.local, command.RootCause(err))
				from.Close() //nolint:errcheck // it is of no more use
				continue
			}
			go join(from, to)
		}
	}()
	return nil
}

// join copies bytes in both directions until both are done.
func join(one, two net.Conn) {
	var both sync.WaitGroup
	carry := func(to, from net.Conn) {
		io.Copy(to, from) //nolint:errcheck // the copy in the other direction reports the same error
		if c, ok := to.(interface{ CloseWrite() error }); ok {
			c.CloseWrite() //nolint:errcheck // closed below in any case
			return
		}
		to.Close() //nolint:errcheck // likewise
	}
	both.Go(func() { carry(one, two) })
	both.Go(func() { carry(two, one) })
	both.Wait()
	one.Close() //nolint:errcheck // nothing is left to be written
	two.Close() //nolint:errcheck // likewise
}

// portForward is a local address to listen on and a port of the workspace.
type portForward struct{ local, remote string }

// parsePortForwards parses values of --tcp and --udp: port, local:remote,
// address:local:remote, and port ranges such as 9000-9010:8000-8010.
func parsePortForwards(flag string, in []string) ([]portForward, error) {
	var out []portForward
	for _, s := range in {
		host, parts := "127.0.0.1", splitPorts(s)
		if len(parts) == 3 || len(parts) == 2 && net.ParseIP(parts[0]) != nil {
			host, parts = parts[0], parts[1:]
		}
		if len(parts) == 1 {
			parts = append(parts, parts[0])
		}
		if len(parts) != 2 {
			return nil, command.Failure("%s %q must be port, local:remote or address:local:remote", flag, s)
		}
		local, err1 := portRange(parts[0])
		remote, err2 := portRange(parts[1])
		if err := cmp.Or(err1, err2); err != nil {
			return nil, command.Failure("%s %q: %s", flag, s, err)
		}
		if len(local) != len(remote) {
			return nil, command.Failure("%s %q: the two port ranges differ in size", flag, s)
		}
		for i := range local {
			out = append(out, portForward{net.JoinHostPort(host, local[i]), net.JoinHostPort("localhost", remote[i])})
		}
	}
	return out, nil
}

func portRange(s string) ([]string, error) {
	from, to, isRange := strings.Cut(s, "-")
	if !isRange {
		to = from
	}
	if !validPort(from) || !validPort(to) {
		return nil, fmt.Errorf("%q is not a port or a port range", s)
	}
	a, _ := strconv.Atoi(from)
	b, _ := strconv.Atoi(to)
	if b < a {
		return nil, fmt.Errorf("%q is not an ascending range", s)
	}
	var out []string
	for p := a; p <= b; p++ {
		out = append(out, strconv.Itoa(p))
	}
	return out, nil
}

// forwarding is a workspace with its forwarded ports.
type forwarding struct {
	ref      string
	tcp, udp []portForward
}

// assignPorts assigns the ports to the workspaces. With several workspaces each
// value names its own, as workspace=port, in the spelling of the arguments.
func assignPorts(refs, tcp, udp []string) ([]forwarding, error) {
	out := make([]forwarding, len(refs))
	for i, ref := range refs {
		if slices.Contains(refs[:i], ref) {
			return nil, command.Failure("%s is given twice; name each workspace once and repeat --tcp or --udp for its ports", ref)
		}
		out[i].ref = ref
	}
	taken := map[string]bool{}
	for _, kind := range []struct {
		flag   string
		values []string
		of     func(*forwarding) *[]portForward
	}{
		{"--tcp", tcp, func(f *forwarding) *[]portForward { return &f.tcp }}, {"--udp", udp, func(f *forwarding) *[]portForward { return &f.udp }},
	} {
		for _, s := range kind.values {
			i, ports := 0, s
			if ref, rest, named := strings.Cut(s, "="); named {
				ports = rest
				if i = slices.Index(refs, ref); i < 0 {
					return nil, command.Failure("%s %q: %s is not one of the workspaces %s", kind.flag, s, ref, strings.Join(refs, ", "))
				}
			} else if len(refs) > 1 {
				return nil, command.Failure("%s %q: name the workspace, for example %s=%s", kind.flag, s, refs[0], s)
			}
			forwards, err := parsePortForwards(kind.flag, []string{ports})
			if err != nil {
				return nil, err
			}
			for _, f := range forwards {
				if taken[kind.flag+f.local] {
					return nil, command.Failure("%s %q: %s is already forwarded; use another local port, such as 8081:8080", kind.flag, s, f.local)
				}
				taken[kind.flag+f.local] = true
			}
			list := kind.of(&out[i])
			*list = append(*list, forwards...)
		}
	}
	for _, f := range out {
		if len(f.tcp)+len(f.udp) > 0 {
			continue
		}
		if len(refs) > 1 {
			return nil, command.Failure("no ports given for %s; use --tcp or --udp, for example --tcp %s=8080", f.ref, f.ref)
		}
		return nil, command.Failure("no ports given; use --tcp or --udp, for example --tcp 8080")
	}
	return out, nil
}

func portForwardCommand(a *command.Run) *command.Command {
	var tcp, udp []string
	var noStart bool
	return &command.Command{
		Name: "port-forward", Aliases: []string{"tunnel"}, Args: "<workspace> [<workspace> ...]", Min: 1, Max: -1,
		Short: "Forward ports of workspaces to this machine",
		Long:  "With several workspaces, each port names its workspace. When the connection to one workspace ends, the others continue.",
		Examples: []command.Example{
			{Text: "Forward port 8080 of the workspace to local port 8080", Line: "coder port-forward dev --tcp 8080"},
			{Text: "Forward port 5432 to local port 6000, and a port range", Line: "coder port-forward dev --tcp 6000:5432 --tcp 9000-9005"},
			{Text: "Forward a UDP port", Line: "coder port-forward dev --udp 5353:53"},
			{Text: "Listen on all network interfaces", Line: "coder port-forward dev --tcp 0.0.0.0:8080:8080"},
			{Text: "Forward port 8080 of two workspaces", Line: "coder port-forward dev api --tcp dev=8080 --tcp api=8081:8080"},
		},
		Complete: build.Names(a),
		Options: []*option.Option{
			option.List(&tcp, "tcp", "TCP port, as [workspace=][[address:]local:]remote (repeatable)").Short("p").Env("CODER_PORT_FORWARD_TCP"),
			option.List(&udp, "udp", "UDP port, in the same forms (repeatable)").Env("CODER_PORT_FORWARD_UDP"),
			option.Bool(&noStart, "disable-autostart", "Do not start a stopped workspace").Env("CODER_SSH_DISABLE_AUTOSTART").Def("false"),
		},
		Run: func(ctx context.Context, args []string) error {
			all, err := assignPorts(args, tcp, udp)
			if err != nil {
				return err
			}
			return forwardPorts(ctx, a, all, noStart)
		},
	}
}

// forwardPorts forwards ports until ctx ends or the last workspace is lost.
func forwardPorts(ctx context.Context, a *command.Run, all []forwarding, noStart bool) error {
	lost := make(chan error)
	for _, f := range all {
		conn, err := connect(ctx, a, f.ref, connecting{noStart: noStart, wait: "no", what: codersdk.ConnectionTypePortForwarding})
		if err != nil {
			return err
		}
		defer conn.Close() //nolint:errcheck // nothing is left to be written
		stop, err := f.listen(ctx, a, conn)
		defer stop()
		if err != nil {
			return err
		}
		go func() {
			select {
			case <-ctx.Done():
				return
			case <-conn.Done():
			}
			stop() // refuse further connections
			select {
			case lost <- conn.lost(nil):
			case <-ctx.Done():
			}
		}()
	}
	fmt.Fprintln(a.Stderr, "Ready. Press Ctrl-C to stop.")
	for left := len(all); ; {
		select {
		case <-ctx.Done():
			return nil
		case err := <-lost:
			if left--; left == 0 {
				return err
			}
			message, _ := command.Describe(err)
			fmt.Fprintf(a.Stderr, "%s. The other workspaces continue.\n", strings.TrimSuffix(message, "."))
		}
	}
}

// listen starts to forward the ports. stop closes the listeners and must be
// called even after an error.
func (f forwarding) listen(ctx context.Context, a *command.Run, conn *connection) (stop func(), err error) {
	var open []io.Closer
	stop = sync.OnceFunc(func() {
		for _, c := range open {
			c.Close() //nolint:errcheck // nothing is left to be written
		}
	})
	for _, p := range f.tcp {
		ln, err := net.Listen("tcp", p.local)
		if err != nil {
			return stop, command.Failure("listen at %s: %s", p.local, command.RootCause(err))
		}
		open = append(open, ln)
		fmt.Fprintf(a.Stderr, "Forwarding %s to %s in %s.\n", ln.Addr(), p.remote, conn.workspace.Name)
		go acceptForward(ctx, a, conn, ln, p)
	}
	for _, p := range f.udp {
		u, err := listenForwardUDP(a, conn, p)
		if err != nil {
			return stop, command.Failure("listen at %s (UDP): %s", p.local, command.RootCause(err))
		}
		open = append(open, u.socket)
		fmt.Fprintf(a.Stderr, "Forwarding %s to %s in %s (UDP).\n", u.socket.LocalAddr(), p.remote, conn.workspace.Name)
		go u.run(ctx)
	}
	return stop, nil
}

// acceptForward accepts connections until the listener is closed.
func acceptForward(ctx context.Context, a *command.Run, conn *connection, ln net.Listener, f portForward) {
	for {
		from, err := ln.Accept()
		if err != nil {
			return
		}
		go func() {
			to, err := conn.Open(ctx, "tcp", f.remote)
			if err != nil {
				from.Close() //nolint:errcheck // it is of no more use
				message, _ := command.Describe(err)
				fmt.Fprintf(a.Stderr, "%s: %s\n", f.remote, message)
				return
			}
			join(from, to)
		}()
	}
}
