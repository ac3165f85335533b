// Package configure is the command exp mcp configure: it adds the server to the
// configuration of programs.
package configure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/cli/section"
	"github.com/seed-2a7f8fe7/coder/internal/option"
)

// serverName names the server in the configuration of programs.
const serverName = "coder"

// Marks of the section of CLAUDE.md that configure replaces.
const (
	sectionBegin = "<!-- coder exp mcp configure: begin -->"
	sectionEnd   = "<!-- coder exp mcp configure: end -->"
)

// Command returns the command exp mcp configure.
func Command(a *command.Run) *command.Command {
	return &command.Command{
		Name:  "configure",
		Short: "Add the server to the configuration of a program",
		Examples: []command.Example{
			{Text: "Let Claude Desktop use your workspaces", Line: "coder exp mcp configure claude-desktop"},
			{Text: "Let Cursor use them in one project", Line: "coder exp mcp configure cursor --project"},
		},
		Subs: []*command.Command{claudeDesktopCommand(a), cursorCommand(a), claudeCodeCommand(a)},
	}
}

func claudeDesktopCommand(a *command.Run) *command.Command {
	return &command.Command{
		Name: "claude-desktop", Max: 0, Short: "Add the server to Claude Desktop",
		Run: func(context.Context, []string) error {
			return configure(a, claudeDesktopFile(a), "Claude Desktop", "mcpServers")
		},
	}
}

// claudeDesktopFile returns the path of the configuration of Claude Desktop.
func claudeDesktopFile(a *command.Run) string {
	dir := a.Env["XDG_CONFIG_HOME"]
	switch {
	case runtime.GOOS == "darwin":
		dir = filepath.Join(a.Home(), "Library", "Application Support")
	case runtime.GOOS == "windows" && a.Env["APPDATA"] != "":
		dir = a.Env["APPDATA"]
	case dir == "":
		dir = filepath.Join(a.Home(), ".config")
	}
	return filepath.Join(dir, "Claude", "claude_desktop_config.json")
}

func cursorCommand(a *command.Run) *command.Command {
	var project bool
	return &command.Command{
		Name: "cursor", Max: 0, Short: "Add the server to Cursor",
		Options: []*option.Option{option.Bool(&project, "project", "Configure the project in the current directory instead of all projects")},
		Run: func(context.Context, []string) error {
			dir := a.Home()
			if project {
				dir = "."
			}
			return configure(a, filepath.Join(dir, ".cursor", "mcp.json"), "Cursor", "mcpServers")
		},
	}
}

func claudeCodeCommand(a *command.Run) *command.Command {
	var config, memory, prompt string
	return &command.Command{
		Name: "claude-code", Args: "<directory>", Min: 1, Max: 1, Short: "Add the server to Claude Code for one project",
		Long: "Writes the server into ~/.claude.json, for the project in the directory. With a system prompt, also writes the " +
			"prompt into a section of ~/.claude/CLAUDE.md.",
		Options: []*option.Option{
			option.String(&config, "claude-config-path", "Configuration file of Claude Code (default: ~/.claude.json)").Env("CODER_MCP_CLAUDE_CONFIG_PATH"),
			option.String(&memory, "claude-md-path", "File for the system prompt (default: ~/.claude/CLAUDE.md)").Env("CODER_MCP_CLAUDE_MD_PATH"),
			option.String(&prompt, "claude-system-prompt", "System prompt to write").Env("CODER_MCP_CLAUDE_SYSTEM_PROMPT"),
		},
		Run: func(_ context.Context, args []string) error {
			dir, err := filepath.Abs(args[0])
			if err != nil {
				return err
			}
			if config == "" {
				config = filepath.Join(a.Home(), ".claude.json")
			}
			if err := configure(a, config, "Claude Code", "projects", dir, "mcpServers"); err != nil || prompt == "" {
				return err
			}
			if memory == "" {
				memory = filepath.Join(a.Home(), ".claude", "CLAUDE.md")
			}
			return writePrompt(memory, prompt)
		},
	}
}

// configure adds the server to the JSON object at keys in a file, and keeps
// everything else in the file.
func configure(a *command.Run, path, program string, keys ...string) error {
	root, mode, err := readObject(path)
	if err != nil {
		return err
	}
	at := root
	for _, k := range keys {
		next, ok := at[k].(map[string]any)
		if !ok && at[k] != nil {
			return command.Failure("%s: %q is not a JSON object; repair the file by hand", path, k)
		}
		if next == nil {
			next = map[string]any{}
			at[k] = next
		}
		at = next
	}
	if at[serverName], err = serverEntry(a); err != nil {
		return err
	}
	b, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := command.WriteFile(path, append(b, '\n'), mode); err != nil {
		return err
	}
	fmt.Fprintf(a.Stdout, "Added the server %q to %s. Restart %s to use it.\n", serverName, path, program)
	return nil
}

// readObject returns the JSON object in a file and the mode of the file; a missing
// or empty file is an empty object.
func readObject(path string) (map[string]any, fs.FileMode, error) {
	root := map[string]any{}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return root, 0o600, nil
	}
	if err != nil {
		return nil, 0, err
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, 0, err
	}
	if strings.TrimSpace(string(b)) == "" {
		return root, info.Mode().Perm(), nil
	}
	dec := json.NewDecoder(strings.NewReader(string(b)))
	dec.UseNumber()
	if err := dec.Decode(&root); err != nil || root == nil {
		return nil, 0, command.Failure("%s does not contain a JSON object (%v); repair the file by hand", path, err)
	}
	return root, info.Mode().Perm(), nil
}

// serverEntry returns the entry that starts this program. It contains no token: the
// server uses the stored session, or the environment.
func serverEntry(a *command.Run) (map[string]any, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the path of this program: %w", err)
	}
	args := []string{"exp", "mcp", "server"}
	if standard := filepath.Join(a.Home(), ".config", "coderv2"); a.ConfigDir != standard {
		args = append([]string{"--global-config", a.ConfigDir}, args...)
	}
	entry := map[string]any{"command": program, "args": args}
	env := map[string]string{}
	for _, k := range []string{"CODER_MCP_APP_STATUS_SLUG", "CODER_MCP_AI_AGENTAPI_URL", "CODER_MCP_ALLOWED_TOOLS"} {
		if v := a.Env[k]; v != "" {
			env[k] = v
		}
	}
	if len(env) > 0 {
		entry["env"] = env
	}
	return entry, nil
}

// writePrompt writes a prompt into its section of a file.
func writePrompt(path, prompt string) error {
	text, err := section.Read(path)
	if err != nil {
		return err
	}
	if text, err = section.Replace(text, sectionBegin, sectionEnd, prompt); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return command.WriteFile(path, []byte(text), 0o600)
}
