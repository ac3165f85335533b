package command

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/cli/section"
	"github.com/seed-2a7f8fe7/coder/internal/option"
)

// completionFlag, as the last argument, requests the completions of the
// argument before it. The shell scripts below pass it.
const completionFlag = "--generate-completion"

// suggest prints the completions of the last word, one per line.
func (a *Run) suggest(ctx context.Context, words []string) {
	if len(words) == 0 {
		words = []string{""}
	}
	done, last := words[:len(words)-1], words[len(words)-1]
	c, pending := a.locate(done)
	var found []string
	switch {
	case pending != nil:
		found = pending.Value.Choices
	case strings.HasPrefix(last, "-"):
		for _, o := range append(append([]*option.Option{}, c.Options...), c.inherited()...) {
			if !o.Hidden {
				found = append(found, "--"+o.Flag)
			}
		}
		found = append(found, "--help")
	default:
		for _, s := range c.Subs {
			if !s.Hidden {
				found = append(found, s.Name)
			}
		}
		if c.Complete != nil {
			ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
			defer cancel()
			a.noVersionWarning = true
			for _, o := range append(c.Options, c.inherited()...) {
				if o.PreParse() != nil || o.FromEnv(a.Env) != nil {
					return
				}
			}
			found = append(found, c.Complete(ctx)...)
		}
	}
	for _, f := range found {
		if strings.HasPrefix(f, last) {
			fmt.Fprintln(a.Stdout, f)
		}
	}
}

// locate follows words down the command tree. When the last word is a flag that
// still needs its value, locate returns that option too.
func (a *Run) locate(words []string) (*Command, *option.Option) {
	c := a.Root
	for i := 0; i < len(words); i++ {
		w := words[i]
		if !strings.HasPrefix(w, "-") {
			if s := c.find(w); s != nil {
				c = s
			}
			continue
		}
		o := c.flag(strings.TrimLeft(w, "-"))
		if o == nil || o.IsBoolFlag() || strings.Contains(w, "=") {
			continue
		}
		if i == len(words)-1 {
			return c, o
		}
		i++
	}
	return c, nil
}

// completionScript returns the completion script for a shell. The script runs
// this program to get the candidates.
func completionScript(shell string) string {
	switch shell {
	case "bash":
		return `_coder() {
  local cur="${COMP_WORDS[COMP_CWORD]}"
  local IFS=$'\n'
  COMPREPLY=($("${COMP_WORDS[0]}" "${COMP_WORDS[@]:1:COMP_CWORD-1}" "$cur" ` + completionFlag + ` 2>/dev/null))
  [ ${#COMPREPLY[@]} -eq 0 ] && COMPREPLY=($(compgen -f -- "$cur"))
}
complete -F _coder coder
`
	case "zsh":
		return `#compdef coder
_coder() {
  local -a found
  found=("${(@f)$("${words[1]}" "${(@)words[2,CURRENT]}" ` + completionFlag + ` 2>/dev/null)}")
  if [[ -n "${found[1]}" ]]; then compadd -a found; else _files; fi
}
compdef _coder coder
`
	case "fish":
		return `function __coder_complete
  set -l words (commandline -opc)
  $words[1] $words[2..-1] (commandline -ct) ` + completionFlag + ` 2>/dev/null
end
complete -c coder -a '(__coder_complete)'
`
	default:
		return `Register-ArgumentCompleter -Native -CommandName coder -ScriptBlock {
  param($word, $ast, $position)
  $words = @($ast.CommandElements | Select-Object -Skip 1 | ForEach-Object { "$_" })
  if ($word -eq "") { $words += "" }
  & coder @words ` + completionFlag + ` 2>$null | ForEach-Object {
    [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)
  }
}
`
	}
}

// CompletionCommand returns the command that installs or prints the completion
// script of a shell.
func (a *Run) CompletionCommand() *Command {
	var shell string
	var show bool
	return &Command{
		Name: "completion", Max: 0,
		Short: "Install shell completion for commands, flags and names",
		Long:  "Writes the script to the location where the shell loads it, or prints it with --print. The shell is that of $SHELL unless --shell names one.",
		Examples: []Example{
			{"Install completion for the current shell", "coder completion"},
			{"Load completion into the current bash session only", "source <(coder completion --shell bash --print)"},
		},
		Options: []*option.Option{
			option.Choice(&shell, "shell", "Shell to install completion for", "bash", "fish", "zsh", "powershell").Short("s"),
			option.Bool(&show, "print", "Print the script instead of installing it").Short("p"),
		},
		Run: func(context.Context, []string) error {
			if shell == "" {
				shell = strings.TrimSuffix(filepath.Base(a.Env["SHELL"]), ".exe")
			}
			if _, err := option.OneOf(shell, []string{"bash", "fish", "zsh", "powershell"}); err != nil {
				return Failure("cannot detect your shell; name it with --shell bash, fish, zsh or powershell")
			}
			if show {
				_, err := fmt.Fprint(a.Stdout, completionScript(shell))
				return err
			}
			return a.installCompletion(shell)
		},
	}
}

// installCompletion installs the completion script. fish gets a file of its
// own; for the other shells the script goes into a marked section of the start
// file, which replaces an earlier section.
func (a *Run) installCompletion(shell string) error {
	home := a.Home()
	config := filepath.Join(home, ".config")
	if x := a.Env["XDG_CONFIG_HOME"]; x != "" {
		config = x
	}
	var file string
	switch shell {
	case "fish":
		file = filepath.Join(config, "fish", "completions", "coder.fish")
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := WriteFile(file, []byte(completionScript(shell)), 0o644); err != nil {
			return err
		}
		_, err := fmt.Fprintf(a.Stdout, "Installed fish completion in %s.\n", file)
		return err
	case "bash":
		file = filepath.Join(home, ".bashrc")
	case "zsh":
		file = filepath.Join(home, ".zshrc")
	default:
		file = filepath.Join(config, "powershell", "profile.ps1")
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	text, err := section.Read(file)
	if err != nil {
		return err
	}
	text, err = section.Replace(text, "# --- coder completion begin ---", "# --- coder completion end ---", completionScript(shell))
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if err := WriteFile(file, []byte(text), 0o644); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.Stdout, "Installed %s completion in %s. Open a new shell to use it.\n", shell, file)
	return err
}
