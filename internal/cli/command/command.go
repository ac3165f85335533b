package command

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/option"
)

// Command is one command of the tree: its help text, its options and its
// function. A command without Run only groups its subcommands.
type Command struct {
	Name     string
	Aliases  []string
	Args     string // positional arguments in the usage line, such as "<workspace>"
	Short    string // one imperative line, without a full stop
	Long     string // paragraphs for the command's own help
	Examples []Example
	Options  []*option.Option
	Min, Max int // number of arguments; Max < 0 means unlimited
	StopAt   int // number of arguments after which flags are no longer parsed; 0 means never
	Hidden   bool
	Signals  bool // the command handles SIGINT and SIGTERM itself
	RawUsage bool // Args is the whole usage line after the name
	Complete func(ctx context.Context) []string
	Run      func(ctx context.Context, args []string) error
	Subs     []*Command

	Parent *Command // set by New
}

// Example is one example in a command's help: a description and the command
// line.
type Example struct{ Text, Line string }

// Path returns the command's full name, such as "coder templates push".
func (c *Command) Path() string {
	if c.Parent == nil {
		return c.Name
	}
	return c.Parent.Path() + " " + c.Name
}

// Usage returns the command's usage line.
func (c *Command) Usage() string {
	s := c.Path()
	if c.RawUsage {
		return s + " " + c.Args
	}
	if len(c.Options) > 0 && c.Parent != nil {
		s += " [flags]"
	}
	if c.Args != "" {
		s += " " + c.Args
	}
	return s
}

// find returns the subcommand with that name or alias, or nil.
func (c *Command) find(name string) *Command {
	for _, s := range c.Subs {
		if s.Name == name || slices.Contains(s.Aliases, name) {
			return s
		}
	}
	return nil
}

// inherited returns the options that c inherits from the commands above it.
func (c *Command) inherited() []*option.Option {
	var out []*option.Option
	for p := c.Parent; p != nil; p = p.Parent {
		for _, o := range p.Options {
			if !o.IsLocal() {
				out = append(out, o)
			}
		}
	}
	return out
}

// setParents sets the parent of every command below c and returns c.
func (c *Command) setParents() *Command {
	for _, s := range c.Subs {
		s.Parent = c
		s.setParents()
	}
	return c
}

// build returns the urfave/cli command for c, with all its subcommands.
func (a *Run) build(c *Command) *cli.Command {
	help := option.Switch("help", "Show help for this command").Short("h").OnlyHere()
	out := &cli.Command{
		Name: c.Name, Aliases: c.Aliases, Hidden: c.Hidden,
		HideHelp: true, HideVersion: true, UseShortOptionHandling: true,
		Reader: a.Stdin, Writer: a.Stdout, ErrWriter: a.Stderr,
		ExitErrHandler: func(context.Context, *cli.Command, error) {},
		OnUsageError: func(_ context.Context, _ *cli.Command, err error, _ bool) error {
			if help.Given() {
				return a.help(c)
			}
			return usageError(c, err)
		},
		Action: func(ctx context.Context, parsed *cli.Command) error {
			args := parsed.Args().Slice()
			if help.Given() && !(c.onlyGroups() && len(args) > 0) {
				return a.help(c)
			}
			return a.invoke(ctx, c, args)
		},
	}
	if c.StopAt > 0 {
		out.StopOnNthArg = &c.StopAt
	}
	out.Flags = append(out.Flags, help)
	for _, o := range c.Options {
		out.Flags = append(out.Flags, o)
	}
	for _, s := range c.Subs {
		out.Commands = append(out.Commands, a.build(s))
	}
	return out
}

// invoke resolves the options from the environment and runs c with args.
func (a *Run) invoke(ctx context.Context, c *Command, args []string) error {
	for _, o := range append(slices.Clone(c.Options), c.inherited()...) {
		if err := o.FromEnv(a.Env); err != nil {
			return err
		}
	}
	if a.showOptions {
		return a.explainOptions(c)
	}
	if len(args) > 0 && c.onlyGroups() {
		return unknownCommand(c, args[0])
	}
	if c.Run == nil {
		return a.help(c)
	}
	if len(args) < c.Min || c.Max >= 0 && len(args) > c.Max {
		return codersdk.Errorf(codersdk.CodeInvalid, "%s takes %s, got %d. Usage: %s",
			c.Path(), describeCount(c.Min, c.Max), len(args), c.Usage())
	}
	if !c.Signals {
		var stop context.CancelFunc
		ctx, stop = Interruptible(ctx)
		defer stop()
	}
	return c.Run(ctx, args)
}

// describeCount describes the number of arguments that a command takes.
func describeCount(low, high int) string {
	switch {
	case high == 0:
		return "no arguments"
	case high < 0:
		return fmt.Sprintf("at least %d argument%s", low, Plural(low))
	case low == high:
		return fmt.Sprintf("%d argument%s", low, Plural(low))
	}
	return fmt.Sprintf("%d to %d arguments", low, high)
}

// Plural returns the plural suffix for n: "" for 1, "s" otherwise.
func Plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}

// usageError rewords an error of the flag parser and adds a pointer to the
// help.
func usageError(c *Command, err error) error {
	msg := err.Error()
	if name, ok := strings.CutPrefix(msg, "flag provided but not defined: -"); ok {
		msg = "unknown flag: -" + name
		if len(name) > 1 {
			msg = "unknown flag: --" + name // clients search for this text
			if near := Nearest(name, flagNames(c)); near != "" {
				msg += ", did you mean --" + near + "?"
			}
		}
	} else if name, ok := strings.CutPrefix(msg, "flag needs an argument: "); ok {
		msg = name + " requires a value"
	} else if _, why, ok := strings.Cut(msg, ": --"); ok && strings.HasPrefix(msg, "invalid value") {
		msg = "--" + why
	}
	return codersdk.Errorf(codersdk.CodeInvalid, "%s (see '%s --help')", msg, c.Path())
}

// onlyGroups reports whether the arguments of c can only be names of
// subcommands.
func (c *Command) onlyGroups() bool { return c.Run == nil || len(c.Subs) > 0 && c.Max == 0 }

// checkNames returns an error when args, without the program name, contains the
// name of a subcommand that does not exist. The check comes before flags and
// --help are parsed: scripts run "coder <name> --help" to find out whether a
// command exists.
func (c *Command) checkNames(args []string) error {
	for i := 0; i < len(args); i++ {
		word := args[i]
		if word == "--" {
			return nil
		}
		if strings.HasPrefix(word, "-") && word != "-" {
			name, _, assigned := strings.Cut(strings.TrimLeft(word, "-"), "=")
			o := c.flag(name)
			if o == nil {
				return nil // the parser reports unknown flags
			}
			if !assigned && !o.IsBoolFlag() {
				i++
			}
			continue
		}
		sub := c.find(word)
		if sub == nil && c.onlyGroups() {
			return unknownCommand(c, word)
		}
		if sub == nil {
			return nil
		}
		c = sub
	}
	return nil
}

// flag returns the option with that name or letter from c or a command above
// it, or nil. Every command has --help.
func (c *Command) flag(name string) *option.Option {
	if name == "help" || name == "h" {
		return option.Switch("help", "")
	}
	for _, o := range append(slices.Clone(c.Options), c.inherited()...) {
		if o.Flag == name || o.Letter == name {
			return o
		}
	}
	return nil
}

func unknownCommand(c *Command, name string) error {
	msg := fmt.Sprintf("unknown command %q for %q", name, c.Path())
	var names []string
	for _, s := range c.Subs {
		if !s.Hidden {
			names = append(append(names, s.Name), s.Aliases...)
		}
	}
	if near := Nearest(name, names); near != "" {
		msg += fmt.Sprintf(", did you mean %q?", near)
	}
	return codersdk.Errorf(codersdk.CodeInvalid, "%s (see '%s --help')", msg, c.Path())
}

func flagNames(c *Command) []string {
	var out []string
	for _, o := range append(slices.Clone(c.Options), c.inherited()...) {
		if !o.Hidden {
			out = append(out, o.Flag)
		}
	}
	return out
}

// Nearest returns the name within two edits of word, or "" when none is that
// close.
func Nearest(word string, names []string) string {
	best, at := "", 3
	for _, n := range names {
		if d := distance(word, n); d < at && d < len(n) {
			best, at = n, d
		}
	}
	return best
}

// distance returns the Levenshtein distance between a and b, in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			above := row[j+1]
			row[j+1] = min(above+1, row[j]+1, diagonal+cost)
			diagonal = above
		}
	}
	return row[len(b)]
}
