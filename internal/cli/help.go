package cli

import (
	"fmt"
	"strings"
)

// help writes what a command is for and how it is used.
func (a *app) help(c *command) error {
	p := a.painter(a.stdout)
	width := min(a.width(a.stdout), 100)
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n%s\n  %s\n", wrap(c.short, width, ""), p.bold("Usage"), c.usage())
	if len(c.aliases) > 0 {
		fmt.Fprintf(&b, "\n%s\n  %s\n", p.bold("Aliases"), strings.Join(c.aliases, ", "))
	}
	if c.long != "" {
		fmt.Fprintf(&b, "\n%s\n", wrap(c.long, width, ""))
	}
	if len(c.examples) > 0 {
		fmt.Fprintf(&b, "\n%s\n", p.bold("Examples"))
		for _, e := range c.examples {
			fmt.Fprintf(&b, "  %s\n    %s\n", p.dim("# "+e.text), e.line)
		}
	}
	helpCommands(&b, c, p, width)
	title := "Flags"
	if c.parent == nil {
		title = "Global flags"
	}
	helpOptions(&b, c.options, title, p, width)
	if c.parent != nil {
		var above []*option
		for _, o := range c.inherited() {
			if o.flag == "org" {
				above = append(above, o)
			}
		}
		helpOptions(&b, above, "Inherited flags", p, width)
		fmt.Fprintf(&b, "\nGlobal flags are listed by 'coder --help'.\n")
	}
	_, err := a.stdout.Write([]byte(b.String()))
	return err
}

func helpCommands(b *strings.Builder, c *command, p painter, width int) {
	column := 0
	for _, s := range c.subs {
		if !s.hidden {
			column = max(column, len(s.name))
		}
	}
	if column == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s\n", p.bold("Commands"))
	indent := strings.Repeat(" ", column+5)
	for _, s := range c.subs {
		if s.hidden {
			continue
		}
		fmt.Fprintf(b, "  %-*s   %s\n", column, s.name, strings.TrimLeft(wrap(s.short, width, indent), " "))
	}
}

// helpOptions writes options in two columns, by topic where they have one.
func helpOptions(b *strings.Builder, options []*option, title string, p painter, width int) {
	topics := map[string][]*option{}
	var order []string
	for _, o := range options {
		if o.hidden {
			continue
		}
		t := o.topic
		if t == "" {
			t = title
		}
		if topics[t] == nil {
			order = append(order, t)
		}
		topics[t] = append(topics[t], o)
	}
	for _, t := range order {
		fmt.Fprintf(b, "\n%s\n", p.bold(t))
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

func helpOption(b *strings.Builder, o *option, column, width int) {
	text := o.text
	if len(o.value.choices) > 4 {
		text += " One or more of: "
		if o.value.single {
			text = o.text + " One of: "
		}
		text += strings.Join(o.value.choices, ", ") + "."
	}
	if o.variable != "" {
		text += " [$" + o.variable + "]"
	}
	if o.initial != "" && (o.value.kind != "bool" || o.initial == "true") {
		text += " [default: " + o.initial + "]"
	}
	indent := strings.Repeat(" ", column+5)
	name := o.String()
	if len(name) > column {
		fmt.Fprintf(b, "  %s\n%s\n", name, wrap(text, width, indent))
		return
	}
	fmt.Fprintf(b, "  %-*s   %s\n", column, name, strings.TrimLeft(wrap(text, width, indent), " "))
}

// wrap breaks text at blanks into lines of at most width columns, each begun
// with indent. Paragraphs stay apart.
func wrap(text string, width int, indent string) string {
	var out []string
	for _, paragraph := range strings.Split(text, "\n") {
		line := indent
		for _, word := range strings.Fields(paragraph) {
			if len(line) > len(indent) && len(line)+1+len(word) > width {
				out = append(out, line)
				line = indent
			}
			if len(line) > len(indent) {
				line += " "
			}
			line += word
		}
		out = append(out, strings.TrimRight(line, " "))
	}
	return strings.Join(out, "\n")
}
