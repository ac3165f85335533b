// Package rule is what the name, the value, the variable and the path of a user secret may be.
package rule

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Limits of one user, in bytes except for the number of secrets.
const (
	MaxSecrets     = 50
	MaxValue       = 32 << 10 // one value
	MaxValues      = 200 << 10
	MaxVariables   = 24 << 10 // values of enabled secrets with a variable
	MaxName        = 256      // names of secrets, and of variables
	MaxDescription = 1024
	MaxPath        = 4096
)

var (
	namePattern     = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)
	variablePattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// Variables that a workspace needs for itself, in upper case. A secret in their
// place would break shells, sessions, git or the agent, or load foreign code into
// every process.
var (
	reservedVariables = []string{
		"PATH", "HOME", "USER", "LOGNAME", "SHELL", "PWD", "OLDPWD", "SHLVL", "TERM", "LANG", "LANGUAGE", "TZ", "HOSTNAME", "MAIL", "EDITOR", "VISUAL", "PAGER",
		"IFS", "ENV", "BASH_ENV", "PS1", "PS2", "PS4", "PROMPT_COMMAND", "CDPATH", "ZDOTDIR", "HISTFILE",
		"TMP", "TEMP", "TMPDIR", "DISPLAY", "XAUTHORITY", "CODER",
		"SSH_AUTH_SOCK", "SSH_CLIENT", "SSH_CONNECTION", "SSH_TTY", "SSH_ASKPASS", "GIT_ASKPASS", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_EXEC_PATH",
		"NODE_OPTIONS", "PYTHONPATH", "PYTHONSTARTUP", "PYTHONHOME", "PERL5LIB", "PERL5OPT", "RUBYLIB", "RUBYOPT", "JAVA_TOOL_OPTIONS", "CLASSPATH",
		"VSCODE_PROXY_URI", "COMSPEC", "SYSTEMROOT", "WINDIR", "PATHEXT", "USERPROFILE", "APPDATA", "LOCALAPPDATA",
	}
	reservedPrefixes = []string{"CODER_", "LD_", "DYLD_", "LC_", "XDG_", "DBUS_", "BASH_FUNC_", "SYSTEMD_"}
)

// Check returns an error for a secret that breaks a rule. changed is the value if it
// changes, else nil.
func Check(s sqlc.UserSecret, changed *string) error {
	if err := checkName(s.Name); err != nil {
		return err
	}
	if changed != nil {
		if err := checkValue(*changed); err != nil {
			return err
		}
	}
	if len(s.Description) > MaxDescription {
		return codersdk.Invalid("description", "must be at most %d bytes long", MaxDescription)
	}
	if err := checkVariable(s.EnvName); err != nil {
		return err
	}
	if err := checkPath(s.FilePath); err != nil {
		return err
	}
	if s.Enabled && s.EnvName == "" && s.FilePath == "" {
		return codersdk.Invalid("env_name", "an env_name or a file_path is required for an enabled secret; set one, or disable the secret")
	}
	return nil
}

func checkName(name string) error {
	switch {
	case name == "":
		return codersdk.Invalid("name", "is required")
	case len(name) > MaxName:
		return codersdk.Invalid("name", "must be at most %d bytes long", MaxName)
	case !namePattern.MatchString(name):
		return codersdk.Invalid("name", "must consist of letters, digits, underscores, hyphens and dots, and begin with a letter, digit or underscore")
	}
	return nil
}

// checkValue never quotes the value.
func checkValue(value string) error {
	switch {
	case value == "":
		return codersdk.Invalid("value", "is required")
	case len(value) > MaxValue:
		return codersdk.Invalid("value", "has %d bytes; a secret can have at most %d", len(value), MaxValue)
	case !utf8.ValidString(value) || strings.ContainsRune(value, 0):
		return codersdk.Invalid("value", "must be text in UTF-8 without NUL; encode other data, for example with base64")
	}
	return nil
}

func checkVariable(name string) error {
	upper := strings.ToUpper(name)
	switch {
	case name == "":
		return nil
	case len(name) > MaxName:
		return codersdk.Invalid("env_name", "must be at most %d bytes long", MaxName)
	case !variablePattern.MatchString(name):
		return codersdk.Invalid("env_name", "must consist of letters, digits and underscores, and not begin with a digit")
	case slices.Contains(reservedVariables, upper),
		slices.ContainsFunc(reservedPrefixes, func(p string) bool { return strings.HasPrefix(upper, p) }):
		return codersdk.Invalid("env_name", "%s is reserved for the workspace; choose another name", name)
	}
	return nil
}

func checkPath(p string) error {
	if p == "" {
		return nil
	}
	rest, home := strings.CutPrefix(p, "~")
	switch {
	case len(p) > MaxPath:
		return codersdk.Invalid("file_path", "must be at most %d bytes long", MaxPath)
	case !strings.HasPrefix(rest, "/"):
		return codersdk.Invalid("file_path", "must begin with ~/ or /")
	case strings.ContainsFunc(p, unicode.IsControl) || !utf8.ValidString(p):
		return codersdk.Invalid("file_path", "cannot contain control characters")
	case path.Clean(rest) != rest || home && rest == "/" || rest == "/":
		return codersdk.Invalid("file_path", "must name a file, without .., empty elements or a slash at the end")
	}
	return nil
}

// CheckLimits returns an error if the secrets of a user are more than the limits allow.
func CheckLimits(all []sqlc.UserSecret) error {
	var values, variables int
	for _, s := range all {
		values += int(s.ValueBytes)
		if s.Enabled && s.EnvName != "" {
			variables += int(s.ValueBytes)
		}
	}
	switch {
	case len(all) > MaxSecrets:
		return codersdk.Errorf(codersdk.CodeInvalid, "A user can have at most %d secrets; delete one first", MaxSecrets)
	case values > MaxValues:
		return codersdk.Invalid("value", "makes your secrets larger than %d bytes in total; delete one first", MaxValues)
	case variables > MaxVariables:
		return codersdk.Invalid("value", "makes your environment variables larger than %d bytes in total; use a file instead", MaxVariables)
	}
	return nil
}
