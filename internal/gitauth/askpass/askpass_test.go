//go:build unix

package askpass

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// prompts are those of git, as they arrive, one for each answer of the agent below.
const (
	known   = "Password for 'https://ann%40x@git.example.com/a b?c=1&d=\u00e9':"
	unknown = "Username for 'https://other.example.com':"
	cut     = "Username for 'https://cut.example.com':"
	empty   = "Username for 'https://empty.example.com':"
	long    = "Username for 'https://long.example.com':"
)

// serve starts an agent's socket and returns its path.
func serve(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "askpass") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "s")
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch question := r.FormValue("question"); {
		case r.URL.Path != Path:
			w.WriteHeader(http.StatusNotFound)
		case question == known:
			fmt.Fprintln(w, "hush")
		case question == cut:
			fmt.Fprint(w, "hus")
		case question == empty:
			fmt.Fprintln(w)
		case question == long:
			fmt.Fprintln(w, strings.Repeat("x", maxAnswer))
		default:
			w.WriteHeader(http.StatusNoContent)
		}
	})}
	go s.Serve(ln) //nolint:errcheck // ends with the test
	t.Cleanup(func() { s.Close() })
	return path
}

func TestAsk(t *testing.T) {
	path := serve(t)
	for question, want := range map[string]string{known: "hush\n", unknown: "", cut: "", empty: "", long: ""} {
		if got, ok := ask(path, question); got != want || ok != (want != "") {
			t.Errorf("%s: got %.20q, %v", question, got, ok)
		}
	}
	for _, path := range []string{path + "-absent", filepath.Dir(path), strings.Repeat("x", 200)} {
		if got, ok := ask(path, known); ok {
			t.Errorf("a socket at %.20s answered %q", path, got)
		}
	}
}

func TestAsked(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		env  map[string]string
		want bool
	}{
		"git":                 {[]string{"coder", known}, map[string]string{"GIT_ASKPASS": "coder", "CODER_AGENT_SOCKET_PATH": "/s"}, true},
		"a username":          {[]string{"coder", unknown}, map[string]string{"GIT_ASKPASS": "coder", "CODER_AGENT_SOCKET_PATH": "/s"}, true},
		"a command":           {[]string{"coder", "list"}, map[string]string{"GIT_ASKPASS": "coder", "CODER_AGENT_SOCKET_PATH": "/s"}, false},
		"more arguments":      {[]string{"coder", known, "x"}, map[string]string{"GIT_ASKPASS": "coder", "CODER_AGENT_SOCKET_PATH": "/s"}, false},
		"no argument":         {[]string{"coder"}, map[string]string{"GIT_ASKPASS": "coder", "CODER_AGENT_SOCKET_PATH": "/s"}, false},
		"not git":             {[]string{"coder", known}, map[string]string{"CODER_AGENT_SOCKET_PATH": "/s"}, false},
		"outside a workspace": {[]string{"coder", known}, map[string]string{"GIT_ASKPASS": "coder"}, false},
	} {
		if _, _, ok := asked(c.args, func(name string) string { return c.env[name] }); ok != c.want {
			t.Errorf("%s: %v", name, ok)
		}
	}
}

// TestInit: a program that links this package answers git, and is itself otherwise.
func TestInit(t *testing.T) {
	path := serve(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	run := func(question string) string {
		cmd := exec.CommandContext(t.Context(), exe, question)
		cmd.Env = append(os.Environ(), "GIT_ASKPASS="+exe, "CODER_AGENT_SOCKET_PATH="+path, "AS_ASKPASS=1")
		out, err := cmd.Output()
		if err != nil {
			t.Errorf("%s: %v", question, err)
		}
		return string(out)
	}
	if got := run(known); got != "hush\n" {
		t.Errorf("git got %q", got)
	}
	if got := run(unknown); got != "the program\n" {
		t.Errorf("without an answer the program printed %q", got)
	}
}

func TestMain(m *testing.M) {
	if os.Getenv("AS_ASKPASS") != "" {
		fmt.Println("the program")
		return
	}
	os.Exit(m.Run())
}
