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

// openSSH returns OpenSSH with the options of the editors, over a command line
// of ours as ProxyCommand.
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

// overSSH runs a command in the workspace by openSSH.
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

// proxied checks a ProxyCommand: a command runs over it, and another one that
// fails returns its exit status.
func (s *session) proxied(host, sessionType string, proxy ...string) {
	s.t.Helper()
	if out := s.overSSH(host, sessionType, proxy, "echo", "over-$((1+1))"); out != "over-2\n" {
		s.t.Errorf("%q: %q", proxy, out)
	}
}

// background is a command that goes on while a row looks at it.
type background struct {
	cmd    *exec.Cmd
	s      *session
	output *os.File // its stdout and stderr
}

// begin starts the command line in the background.
func (s *session) begin(args ...string) *background {
	s.t.Helper()
	cmd := exec.Command(s.w.bin, args...)
	cmd.Env, cmd.Dir = s.environ(), s.dir
	return s.beginCommand(cmd)
}

func (s *session) beginCommand(cmd *exec.Cmd) *background {
	s.t.Helper()
	f, err := os.CreateTemp(s.dir, "output")
	s.must(err)
	cmd.Stdout, cmd.Stderr = f, f
	s.must(cmd.Start())
	b := &background{cmd: cmd, s: s, output: f}
	s.t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill() // it may have ended
			_ = cmd.Wait()
		}
		f.Close()
	})
	return b
}

// text returns what it has written.
func (b *background) text() string {
	b.s.t.Helper()
	out, err := os.ReadFile(b.output.Name())
	b.s.must(err)
	return string(out)
}

// until waits until its output matches.
func (b *background) until(pattern string) string {
	b.s.t.Helper()
	re := regexp.MustCompile(pattern)
	b.s.wait(func() bool { return re.MatchString(b.text()) }, func() string { return pattern + " in " + b.text() })
	return b.text()
}

// interrupt sends SIGINT and waits for the end.
func (b *background) interrupt() {
	b.s.t.Helper()
	b.s.must(b.cmd.Process.Signal(syscall.SIGINT))
	_ = b.cmd.Wait() // interrupted programs may report it
}

// wait waits until a condition holds; a failure shows state.
func (s *session) wait(done func() bool, state func() string) {
	s.t.Helper()
	testwait.Until(s.t, "the condition holds", done, testwait.Within(patience), testwait.Showing(state))
}

// networkInfo checks the file that editors read while a session lasts.
func networkInfo(sessionType string, proxy func(s *session, dir string) (host string, args []string)) func(*session) {
	return func(s *session) {
		dir := s.t.TempDir()
		host, args := proxy(s, dir)
		cmd := s.openSSH(host, sessionType, args, "cat")
		stdin, err := cmd.StdinPipe()
		s.must(err)
		b := s.beginCommand(cmd)
		path := filepath.Join(dir, strconv.Itoa(cmd.Process.Pid)+".json")
		var v any
		s.wait(func() bool {
			raw, err := os.ReadFile(path)
			return err == nil && json.Unmarshal(raw, &v) == nil
		}, func() string { return path + ": " + b.text() })
		checkFields(s.t, v, "p2p boolean", "latency number", "preferred_derp string", "derp_latency numbers", "upload_bytes_sec integer",
			"download_bytes_sec integer", "using_coder_connect boolean")
		if at(v, "p2p") == false {
			if latencies, _ := at(v, "derp_latency").(map[string]any); latencies[textAt(v, "preferred_derp")] == nil {
				s.t.Errorf("no latency of the preferred relay: %s", show(v))
			}
		}
		s.must(stdin.Close())
		if err := cmd.Wait(); err != nil {
			s.t.Errorf("%v: %s", err, b.text())
		}
	}
}

// logged checks the file that ssh writes with --log-dir and -v.
func logged(s *session, dir string) {
	s.t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "coder-ssh-*-*.log"))
	s.must(err)
	if len(names) == 0 || !regexp.MustCompile(`-\d+\.log$`).MatchString(names[0]) {
		entries, _ := os.ReadDir(dir)
		s.t.Errorf("no log coder-ssh-...-<pid>.log in %v", entries)
	}
}

// usedAs waits until the connection log has a session of a type.
func (s *session) usedAs(sessionType string) {
	s.t.Helper()
	s.eventually("/api/v2/connectionlog"+query("type:"+sessionType)+"&limit=10", func(v any) bool {
		logs, _ := at(v, "connection_logs").([]any)
		return len(logs) > 0
	})
}

// echoes checks that a listener in the workspace is reached at an address.
func (s *session) echoes(address string) {
	s.t.Helper()
	s.wait(func() bool {
		r := s.exec("", "curl", "-sS", "--max-time", "5", "http://"+address+"/healthz")
		return r.code == 0
	}, func() string { return "nothing answers at " + address })
}

// inWorkspace runs a shell command in the workspace.
func (s *session) inWorkspace(command string) result {
	s.t.Helper()
	return s.coder("ssh", "dev", "--", command)
}
