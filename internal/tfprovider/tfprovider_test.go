package tfprovider

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestMain lets the test binary be the provider.
func TestMain(m *testing.M) {
	if Requested(os.Args, os.Getenv) {
		os.Exit(Serve(os.Args[1:]))
	}
	os.Exit(m.Run())
}

func TestRequested(t *testing.T) {
	cookie := func(name string) string { return map[string]string{CookieKey: CookieValue}[name] }
	none := func(string) string { return "" }
	for _, c := range []struct {
		args []string
		env  func(string) string
		want bool
	}{
		{[]string{"/x/terraform-provider-coder_v2.19.0"}, cookie, true},
		{[]string{Name, SessionArgument}, cookie, true},
		{[]string{Name}, none, false},
		{[]string{"coder"}, cookie, false},
		{nil, cookie, false},
	} {
		if got := Requested(c.args, c.env); got != c.want {
			t.Errorf("%v: got %v", c.args, got)
		}
	}
}

// TestSession speaks with a session process to its end.
func TestSession(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Args = []string{Name, SessionArgument}
	cmd.Env = append(os.Environ(), CookieKey+"="+CookieValue, "PLUGIN_UNIX_SOCKET_DIR="+t.TempDir())
	cmd.WaitDelay = time.Second
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	answers := json.NewDecoder(bufio.NewReader(out))
	ask := func(line string) (a Answer) {
		t.Helper()
		if line != "" {
			if _, err := in.Write([]byte(line + "\n")); err != nil {
				t.Fatal(err)
			}
		}
		if err := answers.Decode(&a); err != nil {
			t.Fatal(err)
		}
		return a
	}
	if a := ask(""); a.Reattach == nil || a.Reattach.Pid != cmd.Process.Pid || !a.Reattach.Test || a.Reattach.Addr.String == "" || a.Reattach.ProtocolVersion != 5 {
		t.Errorf("got %+v", a.Reattach)
	}
	if a := ask(`{"env":{"CODER_WORKSPACE_NAME":"` + strings.Repeat("x", 300<<10) + `"}}`); a.Error != "" {
		t.Error(a.Error)
	}
	if a := ask(`{"env":{"CODER_PARAMETER_x":"a\u0000b"}}`); !strings.Contains(a.Error, "CODER_PARAMETER_x") {
		t.Errorf("a value with a NUL byte: %q", a.Error)
	}
	if _, err := in.Write([]byte("{\"quit\":true}\n")); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

func TestReplaceEnv(t *testing.T) {
	t.Setenv("CODER_OLD", "1")
	t.Setenv("KEPT", "1")
	t.Setenv("CODER_NEW", "")
	if err := replaceEnv(map[string]string{"CODER_NEW": "2"}); err != "" {
		t.Fatal(err)
	}
	if _, ok := os.LookupEnv("CODER_OLD"); ok || os.Getenv("CODER_NEW") != "2" || os.Getenv("KEPT") != "1" {
		t.Errorf("got %q", os.Environ())
	}
}
