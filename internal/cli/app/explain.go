package app

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/cli/terminal"
)

// Explain writes the one line of a failure, and more of it with --verbose.
func (a *Run) Explain(err error) {
	p := a.Painter(a.Stderr)
	line, rest := Describe(err)
	fmt.Fprintf(a.Stderr, "%s %s\n", p.Red("error:"), line)
	for _, l := range rest {
		fmt.Fprintf(a.Stderr, "  %s\n", l)
	}
	if !a.Verbose {
		return
	}
	for e := errors.Unwrap(err); e != nil; e = errors.Unwrap(e) {
		fmt.Fprintf(a.Stderr, "  %s %T: %v\n", p.Dim("cause:"), e, e)
	}
}

// Describe words an error for people: the line, and what follows it.
func Describe(err error) (string, []string) {
	var e *coder.Error
	var u *url.Error
	switch {
	case errors.Is(err, context.Canceled):
		return "interrupted", nil
	case errors.As(err, &e):
		return describeAnswer(err, e)
	case errors.As(err, &u):
		return fmt.Sprintf("cannot reach %s: %s", serverOf(u.URL), RootCause(u.Err)), nil
	}
	first, rest, _ := strings.Cut(strings.TrimSpace(err.Error()), "\n")
	if rest == "" {
		return first, nil
	}
	return first, strings.Split(rest, "\n")
}

// describeAnswer words a failure that the server or a rule of ours explained.
// What was wrapped around it comes first.
func describeAnswer(err error, e *coder.Error) (string, []string) {
	line := e.Message
	if around, ok := strings.CutSuffix(err.Error(), e.Error()); ok {
		line = around + line
	}
	if e.Detail != "" && !strings.Contains(line, e.Detail) {
		line += ": " + e.Detail
	}
	first, more, _ := strings.Cut(strings.TrimSpace(line), "\n")
	var rest []string
	if more != "" {
		rest = strings.Split(more, "\n")
	}
	for _, f := range e.Fields {
		if !strings.Contains(line, f.Detail) {
			rest = append(rest, f.Field+": "+f.Detail)
		}
	}
	if e.Code == coder.CodeUnauthenticated && strings.Contains(line, "session") && !strings.Contains(line, "coder login") {
		rest = append(rest, "Sign in with 'coder login'.")
	}
	return first, rest
}

// Warn writes a line that says what is not as it should be.
func (a *Run) Warn(text string) {
	fmt.Fprintf(a.Stderr, "%s %s\n", a.Painter(a.Stderr).Yellow("warning:"), terminal.OneLine(text))
}

// RootCause is the innermost error, which says it in the fewest words.
func RootCause(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}

// serverOf is the scheme and host of a URL, never its query.
func serverOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return "the server"
	}
	return u.Scheme + "://" + u.Host
}

// Failure makes an error of a mistake in how a command was called.
func Failure(format string, args ...any) error {
	return coder.Errorf(coder.CodeInvalid, format, args...)
}

// explainOptions shows every option of a command and where its value came
// from; values of secrets are not shown.
func (a *Run) explainOptions(c *Command) error {
	var rows [][]string
	for _, o := range append(slices.Clone(c.Options), c.inherited()...) {
		shown := o.Value.Get()
		if shown != "" && secretOption.MatchString(o.Flag) {
			shown = "(hidden)"
		}
		rows = append(rows, []string{"--" + o.Flag, string(o.Origin), shown})
	}
	return terminal.Table(a.Stdout, a.Painter(a.Stdout), []string{"OPTION", "FROM", "VALUE"}, rows)
}

// secretOption matches the flags whose values are nobody's business.
var secretOption = regexp.MustCompile(`secret|password|psk|key|token|header|postgres-url`)
