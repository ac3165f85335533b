// Package environ is the environment of processes that the agent starts, and paths that
// name variables of it.
package environ

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-2a7f8fe7/coder/api/agentrpc"
	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// Variable returns the last value of a variable in an environment.
func Variable(env []string, name string) string {
	for _, kv := range slices.Backward(env) {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}

// Boolean parses a boolean variable. It returns unset when the variable is not
// set.
func Boolean(env []string, name string, unset bool) (bool, error) {
	v := Variable(env, name)
	if v == "" {
		return unset, nil
	}
	b, err := strconv.ParseBool(v)
	if err != nil {
		return false, codersdk.Invalid(name, "%q is neither true nor false", v)
	}
	return b, nil
}

// Environment returns the environment of sessions and scripts: that of this
// process, the variables of every workspace, and those of the template, in
// which $NAME is expanded. binDir, where scripts install commands, comes first
// in PATH; the agent's directory comes last, so that coder is a command.
// (AG-19)
func Environment(base []string, m *agentrpc.Manifest, url, token, binDir string) []string {
	env := slices.DeleteFunc(slices.Clone(base), func(kv string) bool {
		// These are for this process only.
		return strings.HasPrefix(kv, "CODER_AGENT_AUTH=") || strings.HasPrefix(kv, "CODER_AGENT_NAME=") ||
			strings.HasPrefix(kv, "CODER_AGENT_SOCKET_PATH=")
	})
	env = append(env,
		"CODER=true",
		"CODER_WORKSPACE_NAME="+m.WorkspaceName,
		"CODER_WORKSPACE_AGENT_NAME="+m.AgentName,
		"CODER_WORKSPACE_OWNER_NAME="+m.OwnerUsername,
		"CODER_AGENT_URL="+url,
		"CODER_AGENT_TOKEN="+token,
	)
	path := Variable(env, "PATH")
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
		if Variable(env, "GIT_SSH_COMMAND") == "" {
			env = append(env, "GIT_SSH_COMMAND='"+strings.ReplaceAll(exe, "'", `'\''`)+"' gitssh --")
		}
		if Variable(env, "GIT_ASKPASS") == "" {
			env = append(env, "GIT_ASKPASS="+exe)
		}
	}
	if m.PortUrl != "" { // web editors build port URLs from it
		env = append(env, "VSCODE_PROXY_URI="+m.PortUrl)
	}
	names := make([]string, 0, len(m.Environment))
	for n := range m.Environment {
		names = append(names, n)
	}
	slices.Sort(names)
	before := slices.Clone(env)
	for _, n := range names {
		env = append(env, n+"="+os.Expand(m.Environment[n], func(name string) string { return Variable(before, name) }))
	}
	return Unique(env)
}

// Unique keeps the last value of each variable.
func Unique(env []string) []string {
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

// Expand returns an absolute path. It expands a leading ~ and $NAME, and joins
// relative paths to base. "" stays "".
func Expand(path, base string, env []string) string {
	path = os.Expand(path, func(name string) string { return Variable(env, name) })
	if path == "" {
		return ""
	}
	if path == "~" || strings.HasPrefix(path, "~/") {
		path = filepath.Join(Home(env), strings.TrimPrefix(path, "~"))
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(base, path)
	}
	return filepath.Clean(path)
}

// Home returns the user's home directory.
func Home(env []string) string {
	if h := Variable(env, "HOME"); h != "" {
		return h
	}
	if h, err := os.UserHomeDir(); err == nil {
		return h
	}
	return os.TempDir()
}
