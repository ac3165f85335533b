package remote

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/cli/app"
	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
	"github.com/seed-2a7f8fe7/coder/internal/cli/section"
)

// The lines between which everything is ours.
const (
	sshBegin = "# >>> coder workspaces: written by 'coder config-ssh', changes in here are lost >>>"
	sshEnd   = "# <<< coder workspaces <<<"
)

// sshConfigOptions are the flags of config-ssh. Those that shape the section
// are kept in it, as comments, for --use-previous-options.
type sshConfigOptions struct {
	file, binary, prefix, suffix, wait string
	options                            []string
	dryRun, previous, noStart, yes     bool
	remove                             bool
}

func configSSHCommand(a *app.Run) *app.Command {
	var o sshConfigOptions
	return &app.Command{
		Name: "config-ssh", Max: 0,
		Short: "Let ssh, scp, rsync and editors reach your workspaces by name.",
		Long: "Writes a section to your SSH configuration, so that 'ssh coder.dev' and 'ssh dev.coder' reach the " +
			"workspace dev. One section serves all workspaces, also those made later. Host keys are not asked " +
			"about: the connection goes through a tunnel whose other end has proven to be the workspace.",
		Examples: []app.Example{
			{Text: "Write the section", Line: "coder config-ssh"},
			{Text: "See it first", Line: "coder config-ssh --dry-run"},
			{Text: "Add an option for all workspaces", Line: "coder config-ssh --ssh-option ForwardAgent=yes"},
			{Text: "Take the section out again", Line: "coder config-ssh --remove"},
		},
		Options: []*option.Option{
			option.Path(&o.file, a.Home(), "ssh-config-file", "SSH configuration to write to.").Env("CODER_SSH_CONFIG_FILE").Def("~/.ssh/config"),
			option.Path(&o.binary, a.Home(), "coder-binary-path", "Program to write into it; this one otherwise.").Env("CODER_SSH_CONFIG_BINARY_PATH"),
			option.List(&o.options, "ssh-option", "Option for all workspaces, as Key=value. May be repeated.").Short("o").Env("CODER_SSH_CONFIG_OPTS"),
			option.Bool(&o.dryRun, "dry-run", "Print what would be written, and change nothing.").Short("n").Env("CODER_SSH_DRY_RUN"),
			option.Bool(&o.remove, "remove", "Take the section out, and leave the rest as it is."),
			option.Bool(&o.previous, "use-previous-options", "Take the options of the section that is there.").Env("CODER_SSH_USE_PREVIOUS_OPTIONS"),
			option.String(&o.prefix, "ssh-host-prefix", "First part of host names; the server's otherwise.").Env("CODER_CONFIGSSH_SSH_HOST_PREFIX"),
			option.String(&o.suffix, "hostname-suffix", "Last part of host names; the server's otherwise.").Env("CODER_CONFIGSSH_HOSTNAME_SUFFIX"),
			option.Choice(&o.wait, "wait", "Whether to wait for start scripts; auto does as the template says.", "yes", "no", "auto").Env("CODER_CONFIGSSH_WAIT").Def("auto"),
			option.Bool(&o.noStart, "disable-autostart", "Do not start a stopped workspace.").Env("CODER_CONFIGSSH_DISABLE_AUTOSTART").Def("false"),
			app.Yes(&o.yes),
		},
		Run: func(ctx context.Context, _ []string) error {
			if o.remove {
				return unconfigSSH(a, &o)
			}
			return configSSH(ctx, a, &o)
		},
	}
}

func configSSH(ctx context.Context, a *app.Run, o *sshConfigOptions) error {
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	server, err := c.SSHConfig(ctx)
	if err != nil {
		return err
	}
	old, err := section.Read(o.file)
	if err != nil {
		return err
	}
	_, before, _, found, err := section.Find(old, sshBegin, sshEnd)
	if err != nil {
		return fmt.Errorf("%s: %w", o.file, err)
	}
	if o.previous && found {
		o.recall(before)
	}
	content, err := sshSection(a, o, server)
	if err != nil {
		return err
	}
	text, err := section.Replace(old, sshBegin, sshEnd, content)
	if err != nil {
		return fmt.Errorf("%s: %w", o.file, err)
	}
	hosts := exampleHosts(o, server)
	switch {
	case o.dryRun:
		_, err := fmt.Fprintf(a.Stdout, "# %s would hold:\n%s\n%s%s\n", o.file, sshBegin, content, sshEnd)
		return err
	case text == old:
		_, err := fmt.Fprintf(a.Stdout, "%s needs no change. Connect with: ssh %s\n", o.file, hosts)
		return err
	}
	question := fmt.Sprintf("Write the section to %s?", o.file)
	if lost := forgotten(before, content); lost != "" {
		question = fmt.Sprintf("Replace the section in %s? Its options %s would go; --use-previous-options keeps them.", o.file, lost)
	}
	if err := a.Confirm(question, o.yes); err != nil {
		return err
	}
	if err := writeSSHConfig(o.file, text); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.Stdout, "Wrote %s. Connect with: ssh %s\n", o.file, hosts)
	return err
}

// unconfigSSH takes the section out.
func unconfigSSH(a *app.Run, o *sshConfigOptions) error {
	old, err := section.Read(o.file)
	if err != nil {
		return err
	}
	_, before, _, found, err := section.Find(old, sshBegin, sshEnd)
	if err != nil {
		return fmt.Errorf("%s: %w", o.file, err)
	}
	if !found {
		_, err := fmt.Fprintf(a.Stdout, "%s has no section of ours.\n", o.file)
		return err
	}
	if o.dryRun {
		_, err := fmt.Fprintf(a.Stdout, "# %s would lose:\n%s\n%s%s\n", o.file, sshBegin, before, sshEnd)
		return err
	}
	if err := a.Confirm(fmt.Sprintf("Take the section out of %s?", o.file), o.yes); err != nil {
		return err
	}
	text, err := section.Replace(old, sshBegin, sshEnd, "")
	if err != nil {
		return err
	}
	if err := writeSSHConfig(o.file, text); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.Stdout, "Took the section out of %s.\n", o.file)
	return err
}

// writeSSHConfig writes to the file itself when path is a link to it.
func writeSSHConfig(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	return app.WriteFile(path, []byte(text), 0o600)
}

// hostPatterns are the prefix and suffix of host names.
func hostPatterns(o *sshConfigOptions, server coder.SSHConfigResponse) (prefix, suffix string) {
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

func exampleHosts(o *sshConfigOptions, server coder.SSHConfigResponse) string {
	prefix, suffix := hostPatterns(o, server)
	if prefix != "" {
		return prefix + "<workspace>"
	}
	return "<workspace>." + suffix
}

// sshSection makes the section's content.
func sshSection(a *app.Run, o *sshConfigOptions, server coder.SSHConfigResponse) (string, error) {
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
	if dir, err := filepath.Abs(a.ConfigDir); err == nil {
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
	for _, l := range o.remembered() {
		fmt.Fprintf(&b, "# option: %s\n", l)
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

// sshOptionLines are the options of every host: ours, over which go those of
// the server, over which go the user's. ssh asks nothing of a connection that is
// interrupted (ServerAliveInterval), for it goes on by itself.
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

// quoteProxy writes a word of a ProxyCommand: ssh fills in % signs, and the
// user's shell reads the rest, for which double quotes serve sh and cmd alike.
func quoteProxy(word string) (string, error) {
	if strings.ContainsAny(word, "\n\r\"") {
		return "", app.Failure("%q cannot stand in an SSH configuration: it holds a quote or a line break", word)
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

// remembered are the options as flags that would make the section again.
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

// optionLines are the options that a section remembers.
func optionLines(content string) []string {
	var out []string
	for line := range strings.Lines(content) {
		if s, ok := strings.CutPrefix(strings.TrimSpace(line), "# option: "); ok {
			out = append(out, s)
		}
	}
	return out
}

// recall takes the options of a section.
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

// forgotten are the options of the old section that the new one lacks.
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
