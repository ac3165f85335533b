package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
	"github.com/seed-2a7f8fe7/coder/internal/cli/terminal"
)

// column is one column of a table: its name, and what it shows of a row.
type column[T any] struct {
	name string
	show func(T) string
}

// listing is how a command shows rows: as a table with the chosen columns, as
// JSON, or, where it has one, as text.
type listing[T any] struct {
	all     []column[T]
	chosen  []string
	format  string
	text    func(io.Writer, []T) error
	noMatch string // said on standard error when there are no rows
	asJSON  func([]T) any
}

// columnOption is -c with the default columns given.
func (l *listing[T]) columnOption(initial string) *option.Option {
	var names []string
	for _, c := range l.all {
		names = append(names, c.name)
	}
	return option.Words(&l.chosen, "column", "Columns to show.", names...).Short("c").Def(initial)
}

// formatOption is -o with the given formats, the first of which is the default.
func (l *listing[T]) formatOption(formats ...string) *option.Option {
	if len(formats) == 0 {
		formats = []string{"table", "json"}
	}
	return option.Choice(&l.format, "output", "Output format.", formats...).Short("o").Def(formats[0])
}

// write shows rows in the chosen form.
func (l *listing[T]) write(a *app, rows []T) error {
	switch l.format {
	case "json":
		if l.asJSON != nil {
			return writeJSON(a.stdout, l.asJSON(rows))
		}
		if rows == nil {
			rows = []T{}
		}
		return writeJSON(a.stdout, rows)
	case "text":
		return l.text(a.stdout, rows)
	}
	if len(rows) == 0 && l.noMatch != "" {
		fmt.Fprintln(a.stderr, l.noMatch)
		return nil
	}
	var columns []column[T]
	for _, name := range l.chosen {
		for _, c := range l.all {
			if strings.EqualFold(c.name, name) {
				columns = append(columns, c)
			}
		}
	}
	header := make([]string, len(columns))
	for i, c := range columns {
		header[i] = strings.ToUpper(c.name)
	}
	cells := make([][]string, len(rows))
	for i, r := range rows {
		for _, c := range columns {
			cells[i] = append(cells[i], c.show(r))
		}
	}
	return terminal.Table(a.stdout, a.painter(a.stdout), header, cells)
}

// writeJSON writes v, indented, with a line break at the end.
func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// date is a point in time in the user's zone, blank when there is none.
func date(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04:05")
}

func dateOf(t *time.Time) string {
	if t == nil {
		return ""
	}
	return date(*t)
}

// ago is how long t lies back.
func (a *app) ago(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	if d := a.now().Sub(t); d >= time.Second {
		return terminal.Span(d) + " ago"
	}
	return "just now"
}

// list of tags as key=value, ordered.
func tagText(tags map[string]string) string {
	b, err := json.Marshal(tags) // maps come out in order
	if err != nil || len(tags) == 0 {
		return ""
	}
	return string(b)
}

func yesNo(b bool) string {
	if b {
		return "true"
	}
	return "false"
}
