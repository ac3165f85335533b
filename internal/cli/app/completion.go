package app

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
	"github.com/seed-2a7f8fe7/coder/internal/cli/section"
)

// completionFlag, as the last argument, asks what could come in place of the
// argument before it. The scripts below give it.
const completionFlag = "--generate-completion"

// suggest prints what may complete the last of words, one per line.
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

// locate follows words down the tree. When the last of them is a flag that
// still needs its value, that is given too.
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
		o := findOption(c, strings.TrimLeft(w, "-"))
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

func findOption(c *Command, name string) *option.Option {
	for _, o := range append(append([]*option.Option{}, c.Options...), c.inherited()...) {
		if o.Flag == name || o.Letter == name {
			return o
		}
	}
	return nil
}

// completionScript gives the script of a shell that asks this program.
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

// CompletionCommand installs or prints what a shell needs to complete commands.
func (a *Run) CompletionCommand() *Command {
	var shell string
	var show bool
	return &Command{
		Name: "completion", Max: 0,
		Short: "Install the completion of commands, flags and names for your shell.",
		Long:  "Without --print the script is put where the shell loads it from. The shell is that of $SHELL unless --shell names one.",
		Examples: []Example{
			{"Install for the shell you use", "coder completion"},
			{"Load it into this bash alone", "source <(coder completion --shell bash --print)"},
		},
		Options: []*option.Option{
			option.Choice(&shell, "shell", "Shell to complete in.", "bash", "fish", "zsh", "powershell").Short("s"),
			option.Bool(&show, "print", "Print the script instead of installing it.").Short("p"),
		},
		Run: func(context.Context, []string) error {
			if shell == "" {
				shell = strings.TrimSuffix(filepath.Base(a.Env["SHELL"]), ".exe")
			}
			if _, err := option.OneOf(shell, []string{"bash", "fish", "zsh", "powershell"}); err != nil {
				return Failure("your shell is not known; name it with --shell bash, fish, zsh or powershell")
			}
			if show {
				_, err := fmt.Fprint(a.Stdout, completionScript(shell))
				return err
			}
			return a.installCompletion(shell)
		},
	}
}

// installCompletion puts the script where the shell finds it: a file of its
// own where there is a place for such files, else lines between markers in
// the shell's start file, replaced when they are there already.
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
		_, err := fmt.Fprintf(a.Stdout, "Completion for fish is in %s.\n", file)
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
	_, err = fmt.Fprintf(a.Stdout, "Completion for %s is in %s; open a new shell to use it.\n", shell, file)
	return err
}
