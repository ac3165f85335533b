package remote

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/cli/section"
	"github.com/seed-2a7f8fe7/coder/internal/option"
)

// Marker lines of the section. Editors search for them, and for the option
// lines inside.
const (
	sshBegin = "# ------------START-CODER-----------"
	sshEnd   = "# ------------END-CODER------------"
	// sshOption starts a comment line that records an option of config-ssh, as
	// name=value.
	sshOption = "# :"
)

// Marker lines of older versions.
const (
	oldBegin  = "# >>> coder workspaces: written by 'coder config-ssh', changes in here are lost >>>"
	oldEnd    = "# <<< coder workspaces <<<"
	oldOption = "# option: "
)

// sshConfigOptions holds the flags of config-ssh. The flags that affect the
// section are recorded in it as comments, for --use-previous-options.
type sshConfigOptions struct {
	file, binary, prefix, suffix, wait string
	options                            []string
	dryRun, previous, noStart, yes     bool
	remove                             bool
}

func configSSHCommand(a *command.Run) *command.Command {
	var o sshConfigOptions
	return &command.Command{
		Name: "config-ssh", Max: 0,
		Short: "Configure SSH access to your workspaces",
		Long: "Writes a section to your SSH configuration, so that 'ssh coder.dev' and 'ssh dev.coder' connect to " +
			"the workspace dev. The section covers all workspaces, including future ones. Host keys are not " +
			"checked by ssh, because the tunnel authenticates the workspace.",
		Examples: []command.Example{
			{Text: "Write the section", Line: "coder config-ssh"},
			{Text: "Preview the section", Line: "coder config-ssh --dry-run"},
			{Text: "Add an SSH option for all workspaces", Line: "coder config-ssh --ssh-option ForwardAgent=yes"},
			{Text: "Remove the section", Line: "coder config-ssh --remove"},
		},
		Options: []*option.Option{
			option.Path(&o.file, a.Home(), "ssh-config-file", "SSH configuration file").Env("CODER_SSH_CONFIG_FILE").Def("~/.ssh/config"),
			option.Path(&o.binary, a.Home(), "coder-binary-path", "Path of the coder binary in the section (default: this binary)").Env("CODER_SSH_CONFIG_BINARY_PATH"),
			option.List(&o.options, "ssh-option", "SSH option for all workspaces, as Key=value (repeatable)").Short("o").Env("CODER_SSH_CONFIG_OPTS"),
			option.Bool(&o.dryRun, "dry-run", "Print the changes without writing them").Short("n").Env("CODER_SSH_DRY_RUN"),
			option.Bool(&o.remove, "remove", "Remove the section"),
			option.Bool(&o.previous, "use-previous-options", "Reuse the options of the existing section").Env("CODER_SSH_USE_PREVIOUS_OPTIONS"),
			option.String(&o.prefix, "ssh-host-prefix", "Prefix of host names (default: set by the server)").Env("CODER_CONFIGSSH_SSH_HOST_PREFIX"),
			option.String(&o.suffix, "hostname-suffix", "Suffix of host names (default: set by the server)").Env("CODER_CONFIGSSH_HOSTNAME_SUFFIX"),
			option.Choice(&o.wait, "wait", "Wait for startup scripts; auto follows the template", "yes", "no", "auto").Env("CODER_CONFIGSSH_WAIT").Def("auto"),
			option.Bool(&o.noStart, "disable-autostart", "Do not start a stopped workspace").Env("CODER_CONFIGSSH_DISABLE_AUTOSTART").Def("false"),
			command.Yes(&o.yes),
		},
		Run: func(ctx context.Context, _ []string) error {
			if o.remove {
				return unconfigSSH(a, &o)
			}
			return configSSH(ctx, a, &o)
		},
	}
}

func configSSH(ctx context.Context, a *command.Run, o *sshConfigOptions) error {
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	server, err := c.SSHConfig(ctx)
	if err != nil {
		return err
	}
	old, before, found, err := readSSHConfig(o.file)
	if err != nil {
		return err
	}
	if o.previous && found {
		o.recall(before)
	}
	content, err := sshSection(a, o, server)
	if err != nil {
		return err
	}
	text, err := section.Replace(renewMarkers(old), sshBegin, sshEnd, content)
	if err != nil {
		return fmt.Errorf("%s: %w", o.file, err)
	}
	hosts := exampleHosts(o, server)
	switch {
	case o.dryRun:
		_, err := fmt.Fprintf(a.Stdout, "# New content of %s:\n%s\n%s%s\n", o.file, sshBegin, content, sshEnd)
		return err
	case text == old:
		_, err := fmt.Fprintf(a.Stdout, "No changes to make: %s is up to date. Connect with: ssh %s\n", o.file, hosts)
		return err
	}
	question := fmt.Sprintf("Write the section to %s?", o.file)
	if lost := forgotten(before, content); lost != "" {
		question = fmt.Sprintf("Replace the section in %s? Its options %s are removed; use --use-previous-options to keep them.", o.file, lost)
	}
	if err := a.Confirm(question, o.yes); err != nil {
		return err
	}
	if err := writeSSHConfig(o.file, text); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.Stdout, "Updated %s. Connect with: ssh %s\n", o.file, hosts)
	return err
}

// unconfigSSH removes the section.
func unconfigSSH(a *command.Run, o *sshConfigOptions) error {
	old, before, found, err := readSSHConfig(o.file)
	if err != nil {
		return err
	}
	if !found {
		_, err := fmt.Fprintf(a.Stdout, "%s has no coder section; nothing to remove.\n", o.file)
		return err
	}
	if o.dryRun {
		_, err := fmt.Fprintf(a.Stdout, "# Lines to remove from %s:\n%s\n%s%s\n", o.file, sshBegin, before, sshEnd)
		return err
	}
	if err := a.Confirm(fmt.Sprintf("Remove the section from %s?", o.file), o.yes); err != nil {
		return err
	}
	text, err := section.Replace(renewMarkers(old), sshBegin, sshEnd, "")
	if err != nil {
		return err
	}
	if err := writeSSHConfig(o.file, text); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.Stdout, "Removed the section from %s.\n", o.file)
	return err
}

// readSSHConfig returns an SSH configuration and the content of its coder
// section.
func readSSHConfig(path string) (text, content string, found bool, err error) {
	if text, err = section.Read(path); err != nil {
		return "", "", false, err
	}
	if _, content, _, found, err = section.Find(renewMarkers(text), sshBegin, sshEnd); err != nil {
		return "", "", false, fmt.Errorf("%s: %w", path, err)
	}
	return text, content, found, nil
}

// renewMarkers replaces the marker lines of older versions.
func renewMarkers(text string) string {
	return strings.NewReplacer(oldBegin, sshBegin, oldEnd, sshEnd).Replace(text)
}

// writeSSHConfig writes the file, or the target when path is a symbolic link.
func writeSSHConfig(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	return command.WriteFile(path, []byte(text), 0o600)
}

// hostPatterns returns the prefix and suffix of host names.
func hostPatterns(o *sshConfigOptions, server codersdk.SSHConfigResponse) (prefix, suffix string) {
	prefix, suffix = server.HostnamePrefix, server.HostnameSuffix
	if o.prefix != "" {
		prefix = o.prefix
	}
	if o.suffix != "" {
		suffix = o.suffix
	}
	if prefix == "" && suffix == "" {
		prefix = "coder."
	}
	return prefix, strings.TrimPrefix(suffix, ".")
}

func exampleHosts(o *sshConfigOptions, server codersdk.SSHConfigResponse) string {
	prefix, suffix := hostPatterns(o, server)
	if prefix != "" {
		return prefix + "<workspace>"
	}
	return "<workspace>." + suffix
}

// sshSection returns the content of the section.
func sshSection(a *command.Run, o *sshConfigOptions, server codersdk.SSHConfigResponse) (string, error) {
	own, err := option.SSHPairs(o.options)
	if err != nil {
		return "", err
	}
	if o.binary == "" {
		if o.binary, err = os.Executable(); err != nil {
			return "", err
		}
	}
	command := []string{o.binary}
	if dir, err := filepath.Abs(a.ConfigDir); err == nil && !a.KeyringInUse() { // an explicit directory would disable the keyring
		command = append(command, "--global-config", dir)
	}
	for _, h := range a.Headers {
		command = append(command, "--header", h)
	}
	if a.HeaderCommand != "" {
		command = append(command, "--header-command", a.HeaderCommand)
	}
	command = append(command, "ssh", "--stdio")
	if o.wait != "auto" {
		command = append(command, "--wait", o.wait)
	}
	if o.noStart {
		command = append(command, "--disable-autostart=true")
	}
	for i, word := range command {
		if command[i], err = quoteProxy(word); err != nil {
			return "", err
		}
	}
	proxy := strings.Join(command, " ")
	lines := sshOptionLines(server.SSHConfigOptions, own)
	var b strings.Builder
	b.WriteString("# Managed by 'coder config-ssh'. Changes in this section are overwritten.\n")
	for _, l := range o.remembered() {
		fmt.Fprintf(&b, "%s%s\n", sshOption, l)
	}
	prefix, suffix := hostPatterns(o, server)
	if prefix != "" {
		p, err := quoteProxy(prefix)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "Host %s*\n%s  ProxyCommand %s --ssh-host-prefix %s %%h\n", prefix, lines, proxy, p)
	}
	if suffix != "" {
		s, err := quoteProxy(suffix)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "Host *.%s\n%s  ProxyCommand %s --hostname-suffix %s %%h\n", suffix, lines, proxy, s)
	}
	return b.String(), nil
}

// sshOptionLines returns the SSH options of all hosts: the defaults, overridden
// by those of the server, overridden by those of the user. ServerAliveInterval
// is not set, because an interrupted tunnel resumes automatically.
func sshOptionLines(server, own map[string]string) string {
	values := map[string]string{}
	names := map[string]string{}
	for _, set := range []map[string]string{
		{"ConnectTimeout": "0", "StrictHostKeyChecking": "no", "UserKnownHostsFile": os.DevNull, "LogLevel": "ERROR", "ServerAliveInterval": "0"}, server, own,
	} {
		for k, v := range set {
			values[strings.ToLower(k)], names[strings.ToLower(k)] = v, k
		}
	}
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(values)) {
		fmt.Fprintf(&b, "  %s %s\n", names[k], values[k])
	}
	return b.String()
}

// quoteProxy quotes a word of a ProxyCommand. ssh expands % signs and the
// user's shell parses the rest; double quotes work in sh and cmd.
func quoteProxy(word string) (string, error) {
	if strings.ContainsAny(word, "\n\r\"") {
		return "", command.Failure("%q cannot be written to an SSH configuration: it contains a quote or a line break", word)
	}
	word = strings.ReplaceAll(word, "%", "%%")
	if word != "" && strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=@,+%") == "" {
		return word, nil
	}
	if !strings.Contains(word, `:\`) {
		word = strings.NewReplacer(`\`, `\\`, "$", `\$`, "`", "\\`").Replace(word)
	}
	return `"` + word + `"`, nil
}

// remembered returns the flags that recreate the section.
func (o *sshConfigOptions) remembered() []string {
	var out []string
	for _, s := range o.options {
		out = append(out, "ssh-option="+s)
	}
	for _, kv := range [][2]string{{"ssh-host-prefix", o.prefix}, {"hostname-suffix", o.suffix}} {
		if kv[1] != "" {
			out = append(out, kv[0]+"="+kv[1])
		}
	}
	if o.wait != "auto" {
		out = append(out, "wait="+o.wait)
	}
	if o.noStart {
		out = append(out, "disable-autostart=true")
	}
	return out
}

// optionLines returns the options that a section records.
func optionLines(content string) []string {
	var out []string
	for line := range strings.Lines(content) {
		line = strings.TrimSpace(line)
		s, ok := strings.CutPrefix(line, sshOption)
		if !ok {
			s, ok = strings.CutPrefix(line, oldOption)
		}
		if ok {
			out = append(out, s)
		}
	}
	return out
}

// recall restores the options that a section records.
func (o *sshConfigOptions) recall(content string) {
	for _, l := range optionLines(content) {
		k, v, _ := strings.Cut(l, "=")
		switch k {
		case "ssh-option":
			o.options = append(o.options, v)
		case "ssh-host-prefix":
			o.prefix = v
		case "hostname-suffix":
			o.suffix = v
		case "wait":
			o.wait = v
		case "disable-autostart":
			o.noStart = v == "true"
		}
	}
}

// forgotten returns the options of the old section that are missing in the new
// one.
func forgotten(before, now string) string {
	kept := optionLines(now)
	var lost []string
	for _, l := range optionLines(before) {
		if !slices.Contains(kept, l) {
			lost = append(lost, "--"+l)
		}
	}
	return strings.Join(lost, " ")
}
