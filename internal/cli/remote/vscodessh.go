package remote

import (
	"context"
	"os"
	"strings"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/option"
)

// vscodeSSHCommand returns the command that older VS Code extensions call as
// ProxyCommand, in place of ssh --stdio.
func vscodeSSHCommand(a *command.Run) *command.Command {
	o := sshFlags{stdio: true, wait: "auto", usageApp: string(codersdk.UsageAppVSCode), pollInterval: time.Minute}
	var tokenFile, urlFile string
	return &command.Command{
		Name: "vscodessh", Args: "<host>", Min: 1, Max: 1, Hidden: true, Signals: true,
		Short: "Run the SSH protocol over standard input and output, for VS Code",
		Options: []*option.Option{
			option.String(&o.infoDir, "network-info-dir", "Directory for network information files").Env("CODER_SSH_NETWORK_INFO_DIR"),
			option.Duration(&o.infoInterval, "network-info-interval", "Interval between updates of the network information").Def("5s"),
			option.String(&o.logDir, "log-dir", "Directory for a log file of the connection").Short("l").Env("CODER_SSH_LOG_DIR"),
			option.String(&tokenFile, "session-token-file", "File with the session token").Env("CODER_SESSION_TOKEN_FILE"),
			option.String(&urlFile, "url-file", "File with the URL of the server").Env("CODER_URL_FILE"),
		},
		Run: func(ctx context.Context, args []string) error {
			ref, err := vscodeTarget(args[0])
			if err != nil {
				return err
			}
			if a.Token, err = readWord("--session-token-file", tokenFile); err != nil {
				return err
			}
			at, err := readWord("--url-file", urlFile)
			if err != nil {
				return err
			}
			if a.URL, err = command.ParseServer(at); err != nil {
				return err
			}
			return runSSH(ctx, a, []string{ref}, &o)
		},
	}
}

// readWord returns the content of a file that holds one word.
func readWord(flag, path string) (string, error) {
	if path == "" {
		return "", command.Failure("vscodessh requires %s", flag)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return "", command.Failure("%s: %s", flag, err)
	}
	word := strings.TrimSpace(string(b[:min(len(b), 4096)]))
	if word == "" {
		return "", command.Failure("%s: %s is empty", flag, path)
	}
	return word, nil
}

// vscodeTarget returns the workspace of a VS Code host name:
// coder-vscode[.<server>]--<owner>--<workspace>[.<agent>]. The oldest form has
// --<agent> and no server. The server name may contain dashes.
func vscodeTarget(host string) (string, error) {
	parts := strings.Split(host, "--")
	n := len(parts)
	switch {
	case n < 3 || !strings.HasPrefix(host, "coder-vscode"):
		return "", command.Failure("%q is not a host name of the VS Code extension, such as coder-vscode.example.com--owner--workspace", host)
	case n == 4 && parts[0] == "coder-vscode":
		return parts[1] + "/" + parts[2] + "." + parts[3], nil
	}
	return parts[n-2] + "/" + parts[n-1], nil
}
