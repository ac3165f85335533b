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
	"", "api/agentrpc", "client", "cmd/coder-agent", "internal/agent", "internal/devcontainer", "internal/gitauth", "internal/pty", "internal/sshd", "internal/screen", "internal/startup", "internal/usage",
	"internal/tunnel", "internal/tunnel/lane", "internal/tunnel/path", "internal/tunnel/relay",
	"internal/tunnel/parity", "internal/tunnel/udp",
	"internal/tunnel/stun", // an agent asks for its public addresses, as clients do
	"internal/cli/app", "internal/cli/inside", "internal/cli/option", "internal/cli/section", "internal/cli/terminal",
}

var slimModules = []string{
	"github.com/coder/websocket", "github.com/creack/pty", "github.com/google/uuid", "github.com/hashicorp/yamux", "github.com/kr/fs",
	"github.com/pkg/sftp", "github.com/quic-go/quic-go", "github.com/robfig/cron", "github.com/urfave/cli", "github.com/zeebo/errs",
	"golang.org/x", "google.golang.org/protobuf", "gopkg.in/yaml.v3", "storj.io/drpc",
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
