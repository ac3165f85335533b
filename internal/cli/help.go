package cli

import (
	"fmt"
	"strings"

	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
	"github.com/seed-2a7f8fe7/coder/internal/cli/terminal"
)

// help writes what a command is for and how it is used.
func (a *app) help(c *command) error {
	p := a.painter(a.stdout)
	width := min(a.width(a.stdout), 100)
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n%s\n  %s\n", terminal.Wrap(c.short, width, ""), p.Bold("Usage"), c.usage())
	if len(c.aliases) > 0 {
		fmt.Fprintf(&b, "\n%s\n  %s\n", p.Bold("Aliases"), strings.Join(c.aliases, ", "))
	}
	if c.long != "" {
		fmt.Fprintf(&b, "\n%s\n", terminal.Wrap(c.long, width, ""))
	}
	if len(c.examples) > 0 {
		fmt.Fprintf(&b, "\n%s\n", p.Bold("Examples"))
		for _, e := range c.examples {
			fmt.Fprintf(&b, "  %s\n    %s\n", p.Dim("# "+e.text), e.line)
		}
	}
	helpCommands(&b, c, p, width)
	title := "Flags"
	if c.parent == nil {
		title = "Global flags"
	}
	helpOptions(&b, c.options, title, p, width)
	if c.parent != nil {
		var above []*option.Option
		for _, o := range c.inherited() {
			if o.Flag == "org" {
				above = append(above, o)
			}
		}
		helpOptions(&b, above, "Inherited flags", p, width)
		fmt.Fprintf(&b, "\nGlobal flags are listed by 'coder --help'.\n")
	}
	_, err := a.stdout.Write([]byte(b.String()))
	return err
}

func helpCommands(b *strings.Builder, c *command, p terminal.Painter, width int) {
	column := 0
	for _, s := range c.subs {
		if !s.hidden {
			column = max(column, len(s.name))
		}
	}
	if column == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s\n", p.Bold("Commands"))
	indent := strings.Repeat(" ", column+5)
	for _, s := range c.subs {
		if s.hidden {
			continue
		}
		fmt.Fprintf(b, "  %-*s   %s\n", column, s.name, strings.TrimLeft(terminal.Wrap(s.short, width, indent), " "))
	}
}

// helpOptions writes options in two columns, by topic where they have one.
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
		text += " One or more of: "
		if o.Value.Single {
			text = o.Text + " One of: "
		}
		text += strings.Join(o.Value.Choices, ", ") + "."
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
