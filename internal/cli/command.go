package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
)

// command is one command of the tree: what help says about it, the options it
// takes, and what it does. A command without run only groups others.
type command struct {
	name     string
	aliases  []string
	args     string // after the flags in the usage line, such as "<workspace>"
	short    string // one sentence for the parent's list
	long     string // paragraphs for the command's own help
	examples []example
	options  []*option.Option
	min, max int // how many arguments; max < 0 for any number
	stopAt   int // after so many arguments nothing is a flag any more
	hidden   bool
	signals  bool // the command handles SIGINT and SIGTERM itself
	rawUsage bool // args is the whole usage after the name
	complete func(ctx context.Context) []string
	run      func(ctx context.Context, args []string) error
	subs     []*command

	parent *command
}

// example is a line of a command's help: what it does and what to type.
type example struct{ text, line string }

// path is the command's full name, such as "coder templates push".
func (c *command) path() string {
	if c.parent == nil {
		return c.name
	}
	return c.parent.path() + " " + c.name
}

// usage is the usage line of the command.
func (c *command) usage() string {
	s := c.path()
	if c.rawUsage {
		return s + " " + c.args
	}
	if len(c.options) > 0 && c.parent != nil {
		s += " [flags]"
	}
	if c.args != "" {
		s += " " + c.args
	}
	return s
}

// find gives the subcommand of that name or alias, or nil.
func (c *command) find(name string) *command {
	for _, s := range c.subs {
		if s.name == name || slices.Contains(s.aliases, name) {
			return s
		}
	}
	return nil
}

// inherited are the options that c takes from the commands above it.
func (c *command) inherited() []*option.Option {
	var out []*option.Option
	for p := c.parent; p != nil; p = p.parent {
		for _, o := range p.options {
			if !o.IsLocal() {
				out = append(out, o)
			}
		}
	}
	return out
}

// adopt sets the parent of every command below c.
func (c *command) adopt() *command {
	for _, s := range c.subs {
		s.parent = c
		s.adopt()
	}
	return c
}

// build makes the parser's command of c and of all below it.
func (a *app) build(c *command) *cli.Command {
	help := option.Switch("help", "Show what this command does and which flags it takes.").Short("h").OnlyHere()
	out := &cli.Command{
		Name: c.name, Aliases: c.aliases, Hidden: c.hidden,
		HideHelp: true, HideVersion: true, UseShortOptionHandling: true,
		Reader: a.stdin, Writer: a.stdout, ErrWriter: a.stderr,
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
	if c.stopAt > 0 {
		out.StopOnNthArg = &c.stopAt
	}
	out.Flags = append(out.Flags, help)
	for _, o := range c.options {
		out.Flags = append(out.Flags, o)
	}
	for _, s := range c.subs {
		out.Commands = append(out.Commands, a.build(s))
	}
	return out
}

// invoke resolves the options and runs c with its arguments.
func (a *app) invoke(ctx context.Context, c *command, args []string) error {
	for _, o := range append(slices.Clone(c.options), c.inherited()...) {
		if err := o.FromEnv(a.env); err != nil {
			return err
		}
	}
	if a.showOptions {
		return a.explainOptions(c)
	}
	if c.run == nil {
		if len(args) == 0 {
			return a.help(c)
		}
		return unknownCommand(c, args[0])
	}
	if len(args) > 0 && len(c.subs) > 0 && c.max == 0 {
		return unknownCommand(c, args[0])
	}
	if len(args) < c.min || c.max >= 0 && len(args) > c.max {
		return coder.Errorf(coder.CodeInvalid, "%s takes %s, got %d. Usage: %s",
			c.path(), counted(c.min, c.max), len(args), c.usage())
	}
	if !c.signals {
		var stop context.CancelFunc
		ctx, stop = interruptible(ctx)
		defer stop()
	}
	return c.run(ctx, args)
}

// counted says how many arguments a command takes.
func counted(low, high int) string {
	switch {
	case high == 0:
		return "no arguments"
	case high < 0:
		return fmt.Sprintf("at least %d argument%s", low, plural(low))
	case low == high:
		return fmt.Sprintf("%d argument%s", low, plural(low))
	}
	return fmt.Sprintf("%d to %d arguments", low, high)
}

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}

// usageError turns a complaint of the parser into a line with a way out.
func usageError(c *command, err error) error {
	msg := err.Error()
	if name, ok := strings.CutPrefix(msg, "flag provided but not defined: -"); ok {
		msg = "unknown flag -" + name
		if len(name) > 1 {
			msg = "unknown flag --" + name
			if near := nearest(name, flagNames(c)); near != "" {
				msg += ", did you mean --" + near + "?"
			}
		}
	} else if name, ok := strings.CutPrefix(msg, "flag needs an argument: "); ok {
		msg = name + " needs a value"
	} else if _, why, ok := strings.Cut(msg, ": --"); ok && strings.HasPrefix(msg, "invalid value") {
		msg = "--" + why
	}
	return coder.Errorf(coder.CodeInvalid, "%s (see '%s --help')", msg, c.path())
}

func unknownCommand(c *command, name string) error {
	msg := fmt.Sprintf("unknown command %q for %q", name, c.path())
	var names []string
	for _, s := range c.subs {
		if !s.hidden {
			names = append(append(names, s.name), s.aliases...)
		}
	}
	if near := nearest(name, names); near != "" {
		msg += fmt.Sprintf(", did you mean %q?", near)
	}
	return coder.Errorf(coder.CodeInvalid, "%s (see '%s --help')", msg, c.path())
}

func flagNames(c *command) []string {
	var out []string
	for _, o := range append(slices.Clone(c.options), c.inherited()...) {
		if !o.Hidden {
			out = append(out, o.Flag)
		}
	}
	return out
}

// nearest gives the name that is at most two edits away from word, or "".
func nearest(word string, names []string) string {
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
