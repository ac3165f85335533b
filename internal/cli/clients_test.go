package cli

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
)

// commandLine is how a shipped client calls this program. Words in brackets are
// optional, those in angle brackets stand for a value.
type commandLine struct {
	Client string
	Args   []string
}

func commandLines(t *testing.T) []commandLine {
	t.Helper()
	b, err := os.ReadFile("../../api/contract/clients.json")
	if err != nil {
		t.Fatal(err)
	}
	var contract struct {
		Clients []struct {
			Name string
			CLI  []struct{ Args []string }
		}
	}
	if err := json.Unmarshal(b, &contract); err != nil {
		t.Fatal(err)
	}
	var out []commandLine
	for _, c := range contract.Clients {
		for _, l := range c.CLI {
			out = append(out, commandLine{c.Name, l.Args})
		}
	}
	return out
}

// optional are commands that a server of this API level need not have. While they
// do not exist they must fail, also with --help: scripts test with it whether a
// command exists.
var optional = []string{"agent-firewall", "boundary", "exp mcp", "support", "task"}

// exists reports whether the tree has a command.
func exists(name string) (found bool) {
	walk(testApp().Root, func(c *command.Command) { found = found || c.Path() == "coder "+name })
	return found
}

// values are what the words in angle brackets of the contract stand for.
var values = map[string]string{
	"<globals>": "--global-config=config --header-command=true", "<url>": "https://coder.example.com", "<token>": "id-secret",
	"<dir>": "dir", "<dir>/config": "dir/config", "<file>": "file", "<path>": "path", "<command>": "true", "<command>...": "true",
	"<d>": "8h", "<duration>": "8h", "<name>=<value>": "region=eu", "<name>=<value>]...": "region=eu", "<r>[,<r>]": "owner,auditor",
	"<local>:<remote>": "8080:80", "--tcp=<local>:<remote>": "--tcp=8080:80", "--url=<u>": "--url=https://coder.example.com", "--token=<t>": "--token=id-secret",
	"<u>:<role>,…": "ann:use", "<csv-quoted": "region=eu", "name=value>]...": "", "safe": "", "host>--": "", "…": "",
	"--first-user-email=<e>": "--first-user-email=a@example.com", "always|never]": "always", "--yes|-y]": "--yes",
}

// expand makes words to type of those of the contract: every optional part is
// given, and the first of alternatives.
func expand(args []string) []string {
	var out []string
	skip := false
	for _, word := range args {
		if word == "|" {
			skip = true // the alternative to the words before
			continue
		}
		ends := strings.HasSuffix(word, "]") || strings.HasSuffix(word, "]...")
		if skip {
			skip = !ends
			continue
		}
		if v, ok := values[word]; ok {
			out = append(out, strings.Fields(v)...)
			continue
		}
		word = strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(word, "["), "..."), "]")
		if v, ok := values[word]; ok {
			out = append(out, strings.Fields(v)...)
			continue
		}
		if flag, rest, ok := strings.Cut(word, "="); ok && strings.HasPrefix(flag, "--") {
			rest, _, _ = strings.Cut(rest, "|")
			word = flag + "=" + rest
		} else {
			word, _, _ = strings.Cut(word, "|")
		}
		out = append(out, strings.NewReplacer("<", "", ">", "").Replace(word))
	}
	return out
}

// TestCommandLinesOfClients parses every argument list that a shipped client is
// known to use, with all its optional parts.
func TestCommandLinesOfClients(t *testing.T) {
	t.Parallel()
	f := newFar(t)
	all := commandLines(t)
	if len(all) < 70 {
		t.Fatalf("the contract has %d command lines only", len(all))
	}
	for _, l := range all {
		args := expand(l.Args)
		line := strings.Join(args, " ")
		ahead, later := "", false
		command := strings.TrimPrefix(line, values["<globals>"]+" ")
		for _, name := range optional {
			if (strings.HasPrefix(command, name+" ") || command == name) && !exists(name) {
				ahead, later = name, true
			}
		}
		if later {
			for _, extra := range []string{"", "--help"} {
				_, errs, status := f.run("", append(strings.Fields(ahead), extra)...)
				if status == 0 || !strings.Contains(errs, "unknown command") {
					t.Errorf("coder %s %s does not exist, and ends with %d: %s", ahead, extra, status, errs)
				}
			}
			continue
		}
		out, errs, status := f.run("", append([]string{"--debug-options"}, args...)...)
		if status != 0 || !strings.Contains(out, "--global-config") {
			t.Errorf("%s: coder %s\n  status %d: %s", l.Client, line, status, errs)
		}
	}
}

// TestUnknownNamesFail: neither --help nor flags make a command that does not
// exist succeed.
func TestUnknownNamesFail(t *testing.T) {
	t.Parallel()
	f := newFar(t)
	for line, want := range map[string]string{
		"boundary --help":                    `unknown command "boundary" for "coder"`,
		"--help boundary":                    `unknown command "boundary" for "coder"`,
		"agent-firewall -- claude --help":    `unknown command "agent-firewall"`,
		"boundary --allow x --help":          `unknown command "boundary"`,
		"--global-config dir boundary -h":    `unknown command "boundary"`,
		"--global-config=dir -v boundary -h": `unknown command "boundary"`,
		"templates nonsense --help":          `unknown command "nonsense" for "coder templates"`,
		"exp nonsense -h":                    `unknown command "nonsense"`,
		"list --nonsense":                    "unknown flag: --nonsense",
		"version --outputs json":             "unknown flag: --outputs",
		"ssh --usage-app=../x --stdio dev":   "--usage-app",
		"ssh dev --wait=perhaps":             "--wait",
		"vscodessh coder-vscode--ann--dev":   "--session-token-file",
		"--use-keyring=perhaps version":      "--use-keyring",
	} {
		_, errs, status := f.run("", strings.Fields(line)...)
		if status == 0 || !strings.Contains(errs, want) {
			t.Errorf("coder %s: status %d, %q, want %q", line, status, errs, want)
		}
	}
	for _, line := range []string{"templates --help", "templates list --help", "--help", "exp sync --help", "ssh dev --help"} {
		if _, errs, status := f.run("", strings.Fields(line)...); status != 0 {
			t.Errorf("coder %s: status %d, %q", line, status, errs)
		}
	}
}
