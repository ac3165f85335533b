package command

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/cli/terminal"
	"github.com/seed-2a7f8fe7/coder/internal/option"
)

// Column is one column of a table: its name, and a function that returns the
// cell of a row.
type Column[T any] struct {
	Name string
	Show func(T) string
}

// Listing renders rows as a table with the selected columns, as JSON or, where
// supported, as text.
type Listing[T any] struct {
	All     []Column[T]
	Chosen  []string
	Format  string
	Text    func(io.Writer, []T) error
	NoMatch string // printed on standard error when there are no rows
}

// ColumnOption returns --column with the given default columns.
func (l *Listing[T]) ColumnOption(initial string) *option.Option {
	var names []string
	for _, c := range l.All {
		names = append(names, c.Name)
	}
	return option.Words(&l.Chosen, "column", "Columns to show", names...).Short("c").Def(initial)
}

// FormatOption returns --output with the given formats. The first one is the
// default.
func (l *Listing[T]) FormatOption(formats ...string) *option.Option {
	if len(formats) == 0 {
		formats = []string{"table", "json"}
	}
	return option.Choice(&l.Format, "output", "Output format", formats...).Short("o").Def(formats[0])
}

// Write prints rows in the selected format.
func (l *Listing[T]) Write(a *Run, rows []T) error {
	switch l.Format {
	case "json":
		if rows == nil {
			rows = []T{}
		}
		return WriteJSON(a.Stdout, rows)
	case "text":
		return l.Text(a.Stdout, rows)
	}
	if len(rows) == 0 && l.NoMatch != "" {
		fmt.Fprintln(a.Stderr, l.NoMatch)
		return nil
	}
	var columns []Column[T]
	for _, name := range l.Chosen {
		for _, c := range l.All {
			if strings.EqualFold(c.Name, name) {
				columns = append(columns, c)
			}
		}
	}
	header := make([]string, len(columns))
	for i, c := range columns {
		header[i] = strings.ToUpper(c.Name)
	}
	cells := make([][]string, len(rows))
	for i, r := range rows {
		for _, c := range columns {
			cells[i] = append(cells[i], c.Show(r))
		}
	}
	return terminal.Table(a.Stdout, a.Painter(a.Stdout), header, cells)
}

// WriteJSON writes v as indented JSON, followed by a line break.
func WriteJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// Date formats a time in the user's time zone. It returns "" for the zero time.
func Date(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04:05")
}

// DateOf is Date for an optional time.
func DateOf(t *time.Time) string {
	if t == nil {
		return ""
	}
	return Date(*t)
}

// Ago describes the time since t, such as "5m ago".
func (a *Run) Ago(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	if d := a.Now().Sub(t); d >= time.Second {
		return terminal.Span(d) + " ago"
	}
	return "just now"
}

// TagText returns tags as key=value pairs, sorted by key.
func TagText(tags map[string]string) string {
	b, err := json.Marshal(tags) // json.Marshal sorts keys
	if err != nil || len(tags) == 0 {
		return ""
	}
	return string(b)
}

// YesNo formats a bool for a table.
func YesNo(b bool) string {
	if b {
		return "true"
	}
	return "false"
}
