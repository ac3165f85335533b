package server

import (
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
)

// foreignVariables matches variables of other programs that may be in a
// server's environment: those of agents and workspaces (for a server that runs
// in a workspace), Terraform, AI tools, installers and the tests of this
// project.
var foreignVariables = regexp.MustCompile(
	`^CODER_((AGENT|BOUNDARY|E2E|EXTERNAL_AUTH_ACCESS_TOKEN|EXTERNAL_AUTH_[0-9]+|GITAUTH_[0-9]+|` +
		`FIRST_USER|MCP|PARAMETER|RUNNING_WORKSPACE_AGENT_TOKEN|SCRIPT|SECRET_ENV|SECRET_FILE|TASK)_.*|` +
		`WORKSPACE_(AGENT_NAME|BUILD_ID|ID|IS_PREBUILD.*|NAME|OWNER.*|TEMPLATE_.*|TRANSITION)|SSH_(LOG_DIR|SESSION_TYPE)|BINARY_DESTINATION|IMAGE|VERSION)$`,
)

// warnUnknownVariables logs one warning with the names, but not the values, of
// CODER_* variables that no command knows. They are probably misspelled.
func warnUnknownVariables(a *command.Run, log *slog.Logger) {
	if names := unknownVariables(a.Env, knownVariables(a.Root)); len(names) > 0 {
		log.Warn("unknown environment variables are ignored", "variables", strings.Join(names, " "))
	}
}

// knownVariables returns the variables of c and of all its subcommands.
func knownVariables(c *command.Command) map[string]bool {
	known := map[string]bool{}
	if c == nil {
		return known
	}
	for _, o := range c.Options {
		known[o.Variable] = true
	}
	for _, s := range c.Subs {
		maps.Copy(known, knownVariables(s))
	}
	return known
}

// unknownVariables returns the names in env that start with CODER_ and belong
// neither to an option nor to another program, in alphabetical order.
func unknownVariables(env map[string]string, known map[string]bool) (names []string) {
	for name := range env {
		if strings.HasPrefix(name, "CODER_") && !known[name] && !foreignVariables.MatchString(name) && !ofKubernetes(name, env) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// kubernetesPort matches the variables that Kubernetes sets in pods for each
// port of a service, for services whose names start with "coder".
var kubernetesPort = regexp.MustCompile(
	`^(CODER(?:_[A-Z0-9_]+?)??)_(?:SERVICE_HOST|SERVICE_PORT(?:_[A-Z0-9_]+)?|PORT(?:_[0-9]+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)?)$`,
)

// ofKubernetes reports whether Kubernetes set the variable for a service.
func ofKubernetes(name string, env map[string]string) bool {
	m := kubernetesPort.FindStringSubmatch(name)
	return m != nil && env[m[1]+"_SERVICE_HOST"] != ""
}
