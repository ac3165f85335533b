package command

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"golang.org/x/term"

	"github.com/seed-2a7f8fe7/coder/internal/cli/terminal"
	"github.com/seed-2a7f8fe7/coder/internal/option"
)

// Yes returns --yes, which answers every question with its default or with yes.
func Yes(p *bool) *option.Option {
	return option.Bool(p, "yes", "Answer every question with yes or its default").Short("y")
}

// NoTerminal returns the error for a question that cannot be asked. instead
// names the flag that answers it.
func NoTerminal(question, instead string) error {
	return Failure("cannot ask %q without a terminal; %s", strings.TrimRight(question, "?: "), instead)
}

// Ask prompts until check accepts the answer, and returns the answer. An empty
// answer means initial. instead names the flag that answers the question.
func (a *Run) Ask(question, initial, instead string, check func(string) error) (string, error) {
	if !a.Interactive() {
		return "", NoTerminal(question, instead)
	}
	p := a.Painter(a.Stderr)
	for {
		fmt.Fprintf(a.Stderr, "%s %s ", p.Green(">"), p.Bold(question))
		if initial != "" {
			fmt.Fprintf(a.Stderr, "%s ", p.Dim("("+initial+")"))
		}
		line, err := a.ReadLine()
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
			message, _ := Describe(err)
			fmt.Fprintf(a.Stderr, "  %s\n", p.Red(message))
			continue
		}
		return line, nil
	}
}

// ReadLine reads one line of standard input, without its line break.
func (a *Run) ReadLine() (string, error) {
	line, err := a.Lines.ReadString('\n')
	if errors.Is(err, io.EOF) && line != "" {
		err = nil
	}
	if errors.Is(err, io.EOF) {
		return "", Failure("standard input ended before the question was answered")
	}
	return strings.TrimRight(line, "\r\n"), err
}

// AskSecret prompts for a secret without echoing it.
func (a *Run) AskSecret(question, instead string) (string, error) {
	f, ok := TerminalOf(a.Stdin)
	if !ok {
		return a.Ask(question, "", instead, nil)
	}
	p := a.Painter(a.Stderr)
	fmt.Fprintf(a.Stderr, "%s %s ", p.Green(">"), p.Bold(question))
	b, err := term.ReadPassword(int(f.Fd()))
	fmt.Fprintln(a.Stderr)
	return string(b), err
}

// Confirm asks a yes/no question and returns an error unless the answer is yes.
func (a *Run) Confirm(question string, yes bool) error {
	if yes {
		return nil
	}
	answer, err := a.Ask(question+" (yes/no)", "no", "use --yes to skip this question", func(s string) error {
		_, err := option.ParseBool(s)
		return err
	})
	if err != nil {
		return err
	}
	if ok, _ := option.ParseBool(answer); !ok {
		return Failure("canceled; nothing was changed")
	}
	return nil
}

// Item is one choice of Pick.
type Item struct{ Label, Note string }

// Pick prompts the user to choose one of items by number or label, and returns
// its index. initial is the index of the default, or -1 for none.
func (a *Run) Pick(question string, items []Item, initial int, instead string) (int, error) {
	if !a.Interactive() {
		return 0, NoTerminal(question, instead)
	}
	p := a.Painter(a.Stderr)
	fmt.Fprintf(a.Stderr, "%s %s\n", p.Green(">"), p.Bold(question))
	for i, it := range items {
		note := ""
		if it.Note != "" {
			note = p.Dim("  " + terminal.OneLine(it.Note))
		}
		fmt.Fprintf(a.Stderr, "  %s %s%s\n", p.Dim(fmt.Sprintf("%2d)", i+1)), it.Label, note)
	}
	shown := ""
	if initial >= 0 && initial < len(items) {
		shown = items[initial].Label
	}
	picked := -1
	_, err := a.Ask("Number or name", shown, instead, func(s string) error {
		picked = indexOf(items, s)
		if picked < 0 {
			return fmt.Errorf("%q is not one of the choices", s)
		}
		return nil
	})
	return picked, err
}

// indexOf returns the index of the item with that label, else of the item with
// that number, else -1.
func indexOf(items []Item, s string) int {
	s = strings.TrimSpace(s)
	for i, it := range items {
		if strings.EqualFold(it.Label, s) {
			return i
		}
	}
	if n, err := strconv.Atoi(s); err == nil && n >= 1 && n <= len(items) {
		return n - 1
	}
	return -1
}

// NewPassword prompts for a password twice.
func (a *Run) NewPassword(instead string) (string, error) {
	for {
		one, err := a.AskSecret("New password:", instead)
		if err != nil {
			return "", err
		}
		two, err := a.AskSecret("Repeat the password:", instead)
		if err != nil {
			return "", err
		}
		if one == two && one != "" {
			return one, nil
		}
		fmt.Fprintln(a.Stderr, " The passwords are empty or do not match.")
	}
}
