package cli

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"golang.org/x/term"

	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
	"github.com/seed-2a7f8fe7/coder/internal/cli/terminal"
)

// yes is the option that answers every question with its default or yes.
func yes(p *bool) *option.Option {
	return option.Bool(p, "yes", "Answer every question with yes, or with its default.").Short("y")
}

// errNoTerminal is the failure of a question that nobody can answer.
func errNoTerminal(question, instead string) error {
	return failure("%s cannot be asked without a terminal; %s", strings.TrimRight(question, "?: "), instead)
}

// ask puts a question and gives the answer that check accepts. instead says
// which flag answers it.
func (a *app) ask(question, initial, instead string, check func(string) error) (string, error) {
	if !a.interactive() {
		return "", errNoTerminal(question, instead)
	}
	p := a.painter(a.stderr)
	for {
		fmt.Fprintf(a.stderr, "%s %s ", p.Green(">"), p.Bold(question))
		if initial != "" {
			fmt.Fprintf(a.stderr, "%s ", p.Dim("("+initial+")"))
		}
		line, err := a.readLine()
		if err != nil {
			return "", err
		}
		if line == "" {
			line = initial
		}
		if check == nil {
			return line, nil
		}
		if err := check(line); err != nil {
			message, _ := describe(err)
			fmt.Fprintf(a.stderr, "  %s\n", p.Red(message))
			continue
		}
		return line, nil
	}
}

func (a *app) readLine() (string, error) {
	line, err := a.lines.ReadString('\n')
	if errors.Is(err, io.EOF) && line != "" {
		err = nil
	}
	if errors.Is(err, io.EOF) {
		return "", failure("the input ended before the question was answered")
	}
	return strings.TrimRight(line, "\r\n"), err
}

// askSecret asks without showing what is typed.
func (a *app) askSecret(question, instead string) (string, error) {
	f, ok := fileOf(a.stdin)
	if !ok {
		return a.ask(question, "", instead, nil)
	}
	p := a.painter(a.stderr)
	fmt.Fprintf(a.stderr, "%s %s ", p.Green(">"), p.Bold(question))
	b, err := term.ReadPassword(int(f.Fd()))
	fmt.Fprintln(a.stderr)
	return string(b), err
}

// confirm asks a yes-no question; anything but yes is an error.
func (a *app) confirm(question string, yes bool) error {
	if yes {
		return nil
	}
	answer, err := a.ask(question+" (yes/no)", "no", "use --yes to go on without being asked", func(s string) error {
		_, err := option.ParseBool(s)
		return err
	})
	if err != nil {
		return err
	}
	if ok, _ := option.ParseBool(answer); !ok {
		return failure("stopped, nothing was changed")
	}
	return nil
}

// item is one thing that select offers.
type item struct{ label, note string }

// pick lets the user choose one of items by number or label and gives its
// index. initial is the index of the default, or -1.
func (a *app) pick(question string, items []item, initial int, instead string) (int, error) {
	if !a.interactive() {
		return 0, errNoTerminal(question, instead)
	}
	p := a.painter(a.stderr)
	fmt.Fprintf(a.stderr, "%s %s\n", p.Green(">"), p.Bold(question))
	for i, it := range items {
		note := ""
		if it.note != "" {
			note = p.Dim("  " + terminal.OneLine(it.note))
		}
		fmt.Fprintf(a.stderr, "  %s %s%s\n", p.Dim(fmt.Sprintf("%2d)", i+1)), it.label, note)
	}
	shown := ""
	if initial >= 0 && initial < len(items) {
		shown = items[initial].label
	}
	picked := -1
	_, err := a.ask("Number or name", shown, instead, func(s string) error {
		picked = indexOf(items, s)
		if picked < 0 {
			return fmt.Errorf("%q is none of them", s)
		}
		return nil
	})
	return picked, err
}

// indexOf finds the item with that label, else with that number.
func indexOf(items []item, s string) int {
	s = strings.TrimSpace(s)
	for i, it := range items {
		if strings.EqualFold(it.label, s) {
			return i
		}
	}
	if n, err := strconv.Atoi(s); err == nil && n >= 1 && n <= len(items) {
		return n - 1
	}
	return -1
}
