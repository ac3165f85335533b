package command

import (
	"fmt"
	"strings"

	"github.com/seed-2a7f8fe7/coder/internal/cli/terminal"
	"github.com/seed-2a7f8fe7/coder/internal/option"
)

// help prints a command's help page.
func (a *Run) help(c *Command) error {
	p := a.Painter(a.Stdout)
	width := min(a.width(a.Stdout), 100)
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n%s\n  %s\n", terminal.Wrap(c.Short, width, ""), p.Bold("Usage"), c.Usage())
	if len(c.Aliases) > 0 {
		fmt.Fprintf(&b, "\n%s\n  %s\n", p.Bold("Aliases"), strings.Join(c.Aliases, ", "))
	}
	if c.Long != "" {
		fmt.Fprintf(&b, "\n%s\n", terminal.Wrap(c.Long, width, ""))
	}
	if len(c.Examples) > 0 {
		fmt.Fprintf(&b, "\n%s\n", p.Bold("Examples"))
		for _, e := range c.Examples {
			fmt.Fprintf(&b, "  %s\n    %s\n", p.Dim("# "+e.Text), e.Line)
		}
	}
	helpCommands(&b, c, p, width)
	title := "Flags"
	if c.Parent == nil {
		title = "Global flags"
	}
	helpOptions(&b, c.Options, title, p, width)
	if c.Parent != nil {
		var above []*option.Option
		for _, o := range c.inherited() {
			if o.Flag == "org" {
				above = append(above, o)
			}
		}
		helpOptions(&b, above, "Inherited flags", p, width)
		fmt.Fprintf(&b, "\nGlobal flags are listed by 'coder --help'.\n")
	}
	_, err := a.Stdout.Write([]byte(b.String()))
	return err
}

func helpCommands(b *strings.Builder, c *Command, p terminal.Painter, width int) {
	column := 0
	for _, s := range c.Subs {
		if !s.Hidden {
			column = max(column, len(s.Name))
		}
	}
	if column == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s\n", p.Bold("Commands"))
	indent := strings.Repeat(" ", column+5)
	for _, s := range c.Subs {
		if s.Hidden {
			continue
		}
		fmt.Fprintf(b, "  %-*s   %s\n", column, s.Name, strings.TrimLeft(terminal.Wrap(s.Short, width, indent), " "))
	}
}

// helpOptions prints options in two columns, grouped by topic where they have
// one.
func helpOptions(b *strings.Builder, options []*option.Option, title string, p terminal.Painter, width int) {
	topics := map[string][]*option.Option{}
	var order []string
	for _, o := range options {
		if o.Hidden {
			continue
		}
		t := o.Topic
		if t == "" {
			t = title
		}
		if topics[t] == nil {
			order = append(order, t)
		}
		topics[t] = append(topics[t], o)
	}
	for _, t := range order {
		fmt.Fprintf(b, "\n%s\n", p.Bold(t))
		column := 0
		for _, o := range topics[t] {
			if n := len(o.String()); n <= 38 {
				column = max(column, n)
			}
		}
		for _, o := range topics[t] {
			helpOption(b, o, column, width)
		}
	}
}

func helpOption(b *strings.Builder, o *option.Option, column, width int) {
	text := o.Text
	if len(o.Value.Choices) > 4 {
		count := "one or more of"
		if o.Value.Single {
			count = "one of"
		}
		text += " (" + count + ": " + strings.Join(o.Value.Choices, ", ") + ")"
	}
	if o.Variable != "" {
		text += " [$" + o.Variable + "]"
	}
	if o.Initial != "" && (o.Value.Kind != "bool" || o.Initial == "true") {
		text += " [default: " + o.Initial + "]"
	}
	indent := strings.Repeat(" ", column+5)
	name := o.String()
	if len(name) > column {
		fmt.Fprintf(b, "  %s\n%s\n", name, terminal.Wrap(text, width, indent))
		return
	}
	fmt.Fprintf(b, "  %-*s   %s\n", column, name, strings.TrimLeft(terminal.Wrap(text, width, indent), " "))
}
