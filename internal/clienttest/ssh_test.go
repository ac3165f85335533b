package clienttest

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"

	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// openSSH returns an ssh command with the options of the editors. proxy is the
// command line of the ProxyCommand.
func (s *session) openSSH(host, sessionType string, proxy []string, command ...string) *exec.Cmd {
	words := []string{"'" + s.w.bin + "'"}
	for _, word := range proxy {
		if word != "%h" {
			word = "'" + word + "'"
		}
		words = append(words, word)
	}
	args := []string{
		"-F", "/dev/null", "-o", "ProxyCommand=" + strings.Join(words, " "), "-o", "ConnectTimeout=0", "-o", "StrictHostKeyChecking=no",
		"-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR", "-o", "ServerAliveInterval=10", "-o", "ServerAliveCountMax=3",
	}
	if sessionType != "" {
		args = append(args, "-o", "SetEnv=CODER_SSH_SESSION_TYPE="+sessionType)
	}
	cmd := exec.Command("ssh", append(append(args, host), command...)...)
	cmd.Env, cmd.Dir = s.environ(), s.dir
	return cmd
}

// overSSH runs a command in the workspace with openSSH and returns its output.
func (s *session) overSSH(host, sessionType string, proxy []string, command ...string) string {
	s.t.Helper()
	cmd := s.openSSH(host, sessionType, proxy, command...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		s.t.Fatalf("%q: %v\n%s%s", cmd.Args, err, &out, &errs)
	}
	return out.String()
}

// proxied checks a ProxyCommand. A command runs over it, and a failing command
// returns its exit status.
func (s *session) proxied(host, sessionType string, proxy ...string) {
	s.t.Helper()
	if out := s.overSSH(host, sessionType, proxy, "echo", "over-$((1+1))"); out != "over-2\n" {
		s.t.Errorf("%q: %q", proxy, out)
	}
}

// background is a command that runs in the background.
type background struct {
	cmd    *exec.Cmd
	s      *session
	output *os.File // its stdout and stderr
}

// startCoder starts the CLI in the background.
func (s *session) startCoder(args ...string) *background {
	s.t.Helper()
	cmd := exec.Command(s.w.bin, args...)
	cmd.Env, cmd.Dir = s.environ(), s.dir
	return s.startCommand(cmd)
}

func (s *session) startCommand(cmd *exec.Cmd) *background {
	s.t.Helper()
	f, err := os.CreateTemp(s.dir, "output")
	s.must(err)
	cmd.Stdout, cmd.Stderr = f, f
	s.must(cmd.Start())
	b := &background{cmd: cmd, s: s, output: f}
	s.t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill() // fails if the command has exited
			_ = cmd.Wait()
		}
		f.Close()
	})
	return b
}

// readOutput returns the output so far.
func (b *background) readOutput() string {
	b.s.t.Helper()
	out, err := os.ReadFile(b.output.Name())
	b.s.must(err)
	return string(out)
}

// waitForOutput waits until the output matches a regular expression, and returns
// the output.
func (b *background) waitForOutput(pattern string) string {
	b.s.t.Helper()
	re := regexp.MustCompile(pattern)
	b.s.waitUntil(func() bool { return re.MatchString(b.readOutput()) }, func() string { return pattern + " in " + b.readOutput() })
	return b.readOutput()
}

// interrupt sends SIGINT and waits until the command has exited.
func (b *background) interrupt() {
	b.s.t.Helper()
	b.s.must(b.cmd.Process.Signal(syscall.SIGINT))
	_ = b.cmd.Wait() // an interrupted program may return an error
}

// waitUntil waits until done returns true. The failure message shows state.
func (s *session) waitUntil(done func() bool, state func() string) {
	s.t.Helper()
	testwait.Until(s.t, "the condition holds", done, testwait.Within(waitTimeout), testwait.Showing(state))
}

// networkInfo checks the network information file, which editors read during a
// session.
func networkInfo(sessionType string, proxy func(s *session, dir string) (host string, args []string)) func(*session) {
	return func(s *session) {
		dir := s.t.TempDir()
		host, args := proxy(s, dir)
		cmd := s.openSSH(host, sessionType, args, "cat")
		stdin, err := cmd.StdinPipe()
		s.must(err)
		b := s.startCommand(cmd)
		path := filepath.Join(dir, strconv.Itoa(cmd.Process.Pid)+".json")
		var v any
		s.waitUntil(func() bool {
			raw, err := os.ReadFile(path)
			return err == nil && json.Unmarshal(raw, &v) == nil
		}, func() string { return path + ": " + b.readOutput() })
		checkFields(s.t, v, "p2p boolean", "latency number", "preferred_derp string", "derp_latency numbers", "upload_bytes_sec integer",
			"download_bytes_sec integer", "using_coder_connect boolean")
		if at(v, "p2p") == false {
			if latencies, _ := at(v, "derp_latency").(map[string]any); latencies[textAt(v, "preferred_derp")] == nil {
				s.t.Errorf("no latency of the preferred relay: %s", shortJSON(v))
			}
		}
		s.must(stdin.Close())
		if err := cmd.Wait(); err != nil {
			s.t.Errorf("%v: %s", err, b.readOutput())
		}
	}
}

// checkLogFile checks the file that coder ssh writes with --log-dir and -v.
func checkLogFile(s *session, dir string) {
	s.t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "coder-ssh-*-*.log"))
	s.must(err)
	if len(names) == 0 || !regexp.MustCompile(`-\d+\.log$`).MatchString(names[0]) {
		entries, _ := os.ReadDir(dir)
		s.t.Errorf("no log coder-ssh-...-<pid>.log in %v", entries)
	}
}

// waitForSessionType waits until the connection log has a session of a type.
func (s *session) waitForSessionType(sessionType string) {
	s.t.Helper()
	s.eventually("/api/v2/connectionlog"+query("type:"+sessionType)+"&limit=10", func(v any) bool {
		logs, _ := at(v, "connection_logs").([]any)
		return len(logs) > 0
	})
}

// waitReachable waits until a listener in the workspace is reachable at an address.
func (s *session) waitReachable(address string) {
	s.t.Helper()
	s.waitUntil(func() bool {
		r := s.exec("", "curl", "-sS", "--max-time", "5", "http://"+address+"/healthz")
		return r.code == 0
	}, func() string { return "no response from " + address })
}

// inWorkspace runs a shell command in the workspace.
func (s *session) inWorkspace(command string) result {
	s.t.Helper()
	return s.coder("ssh", "dev", "--", command)
}
