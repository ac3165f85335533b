package app

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
)

// Command is one command of the tree: what help says about it, the options it
// takes, and what it does. A command without Run only groups others.
type Command struct {
	Name     string
	Aliases  []string
	Args     string // after the flags in the usage line, such as "<workspace>"
	Short    string // one sentence for the parent's list
	Long     string // paragraphs for the command's own help
	Examples []Example
	Options  []*option.Option
	Min, Max int // how many arguments; Max < 0 for any number
	StopAt   int // after so many arguments nothing is a flag any more
	Hidden   bool
	Signals  bool // the command handles SIGINT and SIGTERM itself
	RawUsage bool // Args is the whole usage after the name
	Complete func(ctx context.Context) []string
	Run      func(ctx context.Context, args []string) error
	Subs     []*Command

	Parent *Command // set by New
}

// Example is a line of a command's help: what it does and what to type.
type Example struct{ Text, Line string }

// Path is the command's full name, such as "coder templates push".
func (c *Command) Path() string {
	if c.Parent == nil {
		return c.Name
	}
	return c.Parent.Path() + " " + c.Name
}

// Usage is the usage line of the command.
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

// find gives the subcommand of that name or alias, or nil.
func (c *Command) find(name string) *Command {
	for _, s := range c.Subs {
		if s.Name == name || slices.Contains(s.Aliases, name) {
			return s
		}
	}
	return nil
}

// inherited are the options that c takes from the commands above it.
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

// adopt sets the parent of every command below c.
func (c *Command) adopt() *Command {
	for _, s := range c.Subs {
		s.Parent = c
		s.adopt()
	}
	return c
}

// build makes the parser's command of c and of all below it.
func (a *Run) build(c *Command) *cli.Command {
	help := option.Switch("help", "Show what this command does and which flags it takes.").Short("h").OnlyHere()
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
			if help.Given() {
				return a.help(c)
			}
			return a.invoke(ctx, c, parsed.Args().Slice())
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

// invoke resolves the options and runs c with its arguments.
func (a *Run) invoke(ctx context.Context, c *Command, args []string) error {
	for _, o := range append(slices.Clone(c.Options), c.inherited()...) {
		if err := o.FromEnv(a.Env); err != nil {
			return err
		}
	}
	if a.showOptions {
		return a.explainOptions(c)
	}
	if c.Run == nil {
		if len(args) == 0 {
			return a.help(c)
		}
		return unknownCommand(c, args[0])
	}
	if len(args) > 0 && len(c.Subs) > 0 && c.Max == 0 {
		return unknownCommand(c, args[0])
	}
	if len(args) < c.Min || c.Max >= 0 && len(args) > c.Max {
		return coder.Errorf(coder.CodeInvalid, "%s takes %s, got %d. Usage: %s",
			c.Path(), counted(c.Min, c.Max), len(args), c.Usage())
	}
	if !c.Signals {
		var stop context.CancelFunc
		ctx, stop = Interruptible(ctx)
		defer stop()
	}
	return c.Run(ctx, args)
}

// counted says how many arguments a command takes.
func counted(low, high int) string {
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

// Plural is the s of a noun that is counted: none after 1.
func Plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}

// usageError turns a complaint of the parser into a line with a way out.
func usageError(c *Command, err error) error {
	msg := err.Error()
	if name, ok := strings.CutPrefix(msg, "flag provided but not defined: -"); ok {
		msg = "unknown flag -" + name
		if len(name) > 1 {
			msg = "unknown flag --" + name
			if near := Nearest(name, flagNames(c)); near != "" {
				msg += ", did you mean --" + near + "?"
			}
		}
	} else if name, ok := strings.CutPrefix(msg, "flag needs an argument: "); ok {
		msg = name + " needs a value"
	} else if _, why, ok := strings.Cut(msg, ": --"); ok && strings.HasPrefix(msg, "invalid value") {
		msg = "--" + why
	}
	return coder.Errorf(coder.CodeInvalid, "%s (see '%s --help')", msg, c.Path())
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
	return coder.Errorf(coder.CodeInvalid, "%s (see '%s --help')", msg, c.Path())
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

// Nearest gives the name that is at most two edits away from word, or "".
func Nearest(word string, names []string) string {
	best, at := "", 3
	for _, n := range names {
		if d := distance(word, n); d < at && d < len(n) {
			best, at = n, d
		}
	}
	return best
}

// distance is the number of single-letter edits between a and b.
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
