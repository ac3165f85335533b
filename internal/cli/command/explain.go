package command

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/cli/terminal"
)

// Explain prints an error as one line on standard error, and its chain of
// causes with --verbose.
func (a *Run) Explain(err error) {
	p := a.Painter(a.Stderr)
	line, rest := Describe(err)
	fmt.Fprintf(a.Stderr, "%s %s\n", p.Red("error:"), terminal.Clean(line))
	for _, l := range rest {
		fmt.Fprintf(a.Stderr, "  %s\n", terminal.Clean(l))
	}
	if !a.Verbose {
		return
	}
	for e := errors.Unwrap(err); e != nil; e = errors.Unwrap(e) {
		fmt.Fprintf(a.Stderr, "  %s %T: %v\n", p.Dim("cause:"), e, e)
	}
}

// Describe renders an error for users: one line, and the details that follow
// it.
func Describe(err error) (string, []string) {
	var e *codersdk.Error
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

// describeAnswer renders an error with a codersdk.Error in its chain. Context
// that was wrapped around the error comes first.
func describeAnswer(err error, e *codersdk.Error) (string, []string) {
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
	if e.Code == codersdk.CodeUnauthenticated && strings.Contains(line, "session") && !strings.Contains(line, "coder login") {
		rest = append(rest, "Sign in with 'coder login'.")
	}
	return first, rest
}

// Warn prints a warning on standard error.
func (a *Run) Warn(text string) {
	fmt.Fprintf(a.Stderr, "%s %s\n", a.Painter(a.Stderr).Yellow("warning:"), terminal.OneLine(text))
}

// RootCause returns the innermost error, which has the shortest text.
func RootCause(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}

// serverOf returns the scheme and host of a URL. It drops the query, which may
// hold secrets.
func serverOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return "the server"
	}
	return u.Scheme + "://" + u.Host
}

// Failure returns a usage error: a mistake in how the user called a command.
func Failure(format string, args ...any) error {
	return codersdk.Errorf(codersdk.CodeInvalid, format, args...)
}

// explainOptions prints every option of a command and the origin of its value.
// Values of secrets are not shown.
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

// secretOption matches the flags whose values are secrets.
var secretOption = regexp.MustCompile(`secret|password|psk|key|token|header|postgres-url`)
