package archtest

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// slim is all that the agent's own program may link, of ours and of others:
// every module more is megabytes that each workspace fetches and holds.
var slim = []string{
	"api/agentrpc", "codersdk", "cmd/coder-agent", "internal/agent", "internal/agent/logfile", "internal/agent/port", "internal/agent/report", "internal/agent/secretfile", "internal/devcontainer", "internal/gitauth", "internal/gitauth/askpass", "internal/pty", "internal/sshd", "internal/vt", "internal/startup", "internal/sysstat",
	"internal/tunnel", "internal/tunnel/lane", "internal/tunnel/path", "internal/tunnel/relay",
	"internal/tunnel/parity", "internal/tunnel/pcap", "internal/tunnel/probe", "internal/tunnel/seal", "internal/tunnel/sleep", "internal/tunnel/tcp", "internal/tunnel/udp",
	"internal/tunnel/stun",  // an agent asks for its public addresses, as clients do
	"internal/netcheck",     // support bundles check the network from the workspace; it links no other module
	"internal/rule/picture", // what codersdk accepts as icons
	"internal/lifecycle",    // waits and loops, as in all processes
	"internal/clock",        // the server's, by which certificates are checked
	"internal/agent/instanceid", "internal/agent/environ", "internal/cli/command", "internal/cli/agentcmd", "internal/cli/externalauth", "internal/cli/gitcmd", "internal/gitmirror/clone", "internal/gitmirror/seed", "internal/option", "internal/cli/section", "internal/cli/terminal",
}

var slimModules = []string{
	"github.com/coder/websocket", "github.com/creack/pty", "github.com/google/uuid", "github.com/hashicorp/yamux", "github.com/kr/fs",
	"github.com/pkg/sftp", "github.com/quic-go/quic-go", "github.com/robfig/cron", "github.com/urfave/cli", "github.com/zeebo/errs",
	"golang.org/x", "google.golang.org/protobuf", "go.yaml.in/yaml/v3", "storj.io/drpc",
}

func TestTheAgentIsSlim(t *testing.T) {
	cmd := exec.Command("go", "list", "-deps", "./cmd/coder-agent")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for path := range strings.FieldsSeq(string(out)) {
		if ours, ok := strings.CutPrefix(path, module); ok {
			if !slices.Contains(slim, strings.TrimPrefix(ours, "/")) {
				t.Errorf("cmd/coder-agent links %s", path)
			}
			continue
		}
		first, _, _ := strings.Cut(path, "/")
		if !strings.Contains(first, ".") {
			continue // the standard library
		}
		if !slices.ContainsFunc(slimModules, func(m string) bool { return path == m || strings.HasPrefix(path, m+"/") }) {
			t.Errorf("cmd/coder-agent links %s", path)
		}
	}
}

// TestAskpassStartsFirst: Go initializes a package after its imports, so a package with the imports of package
// os alone answers git before the rest of a program is initialized.
func TestAskpassStartsFirst(t *testing.T) {
	deps := func(pattern string) []string {
		cmd := exec.Command("go", "list", "-deps", pattern)
		cmd.Dir = "../.."
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.Fields(string(out))
	}
	allowed := append(deps("os"), module+"/internal/gitauth/askpass")
	for _, path := range deps("./internal/gitauth/askpass") {
		if !slices.Contains(allowed, path) {
			t.Errorf("internal/gitauth/askpass imports %s, which delays each answer to git", path)
		}
	}
}
