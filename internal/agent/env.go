package agent

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/api/agentrpc"
)

// variable gives the last value of a variable in an environment.
func variable(env []string, name string) string {
	for _, kv := range slices.Backward(env) {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}

// boolean reads a variable that is true or false, and gives unset when it is not set.
func boolean(env []string, name string, unset bool) (bool, error) {
	v := variable(env, name)
	if v == "" {
		return unset, nil
	}
	b, err := strconv.ParseBool(v)
	if err != nil {
		return false, coder.Invalid(name, "%q is neither true nor false", v)
	}
	return b, nil
}

// environment gives what every session and script begins with: our own
// environment, what a workspace is always told, and what the template sets,
// where $NAME stands for what was set before. The agent's directory ends the
// PATH, so that coder is a command, and binDir begins it, where scripts put
// commands of their own. (AG-19)
func environment(base []string, m *agentrpc.Manifest, url, token, binDir string) []string {
	env := slices.DeleteFunc(slices.Clone(base), func(kv string) bool {
		return strings.HasPrefix(kv, "CODER_AGENT_AUTH=") || strings.HasPrefix(kv, "CODER_AGENT_SOCKET_PATH=") // of this process alone
	})
	env = append(env,
		"CODER=true",
		"CODER_WORKSPACE_NAME="+m.WorkspaceName,
		"CODER_WORKSPACE_AGENT_NAME="+m.AgentName,
		"CODER_WORKSPACE_OWNER_NAME="+m.OwnerUsername,
		"CODER_AGENT_URL="+url,
		"CODER_AGENT_TOKEN="+token,
	)
	path := variable(env, "PATH")
	if path == "" {
		path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	}
	list := string(filepath.ListSeparator)
	if binDir != "" {
		path = binDir + list + path
		env = append(env, "CODER_SCRIPT_BIN_DIR="+binDir)
	}
	if exe, err := os.Executable(); err == nil {
		path += list + filepath.Dir(exe)
	}
	env = append(env, "PATH="+path)
	if exe, err := os.Executable(); err == nil {
		if variable(env, "GIT_SSH_COMMAND") == "" {
			env = append(env, "GIT_SSH_COMMAND='"+strings.ReplaceAll(exe, "'", `'\''`)+"' gitssh --")
		}
		if variable(env, "GIT_ASKPASS") == "" {
			env = append(env, "GIT_ASKPASS="+exe)
		}
	}
	if m.PortUrl != "" { // by which editors in the browser show ports
		env = append(env, "VSCODE_PROXY_URI="+m.PortUrl)
	}
	names := make([]string, 0, len(m.Environment))
	for n := range m.Environment {
		names = append(names, n)
	}
	slices.Sort(names)
	before := slices.Clone(env)
	for _, n := range names {
		env = append(env, n+"="+os.Expand(m.Environment[n], func(name string) string { return variable(before, name) }))
	}
	return unique(env)
}

// unique keeps the last of each variable.
func unique(env []string) []string {
	last := map[string]int{}
	for i, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		last[name] = i
	}
	out := make([]string, 0, len(last))
	for i, kv := range env {
		if name, _, _ := strings.Cut(kv, "="); last[name] == i {
			out = append(out, kv)
		}
	}
	return out
}

// expand makes an absolute path of one that may begin with ~ or hold $NAME;
// one that is relative begins at base. "" stays "".
func expand(path, base string, env []string) string {
	path = os.Expand(path, func(name string) string { return variable(env, name) })
	if path == "" {
		return ""
	}
	if path == "~" || strings.HasPrefix(path, "~/") {
		path = filepath.Join(home(env), strings.TrimPrefix(path, "~"))
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(base, path)
	}
	return filepath.Clean(path)
}

// home gives the user's home directory.
func home(env []string) string {
	if h := variable(env, "HOME"); h != "" {
		return h
	}
	if h, err := os.UserHomeDir(); err == nil {
		return h
	}
	return os.TempDir()
}
