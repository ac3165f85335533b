package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"
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
func (l *listing[T]) columnOption(initial string) *option {
	var names []string
	for _, c := range l.all {
		names = append(names, c.name)
	}
	return words(&l.chosen, "column", "Columns to show.", names...).short("c").def(initial)
}

// formatOption is -o with the given formats, the first of which is the default.
func (l *listing[T]) formatOption(formats ...string) *option {
	if len(formats) == 0 {
		formats = []string{"table", "json"}
	}
	return choice(&l.format, "output", "Output format.", formats...).short("o").def(formats[0])
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
	return writeTable(a.stdout, a.painter(a.stdout), header, cells)
}

// writeTable lines the cells up under the header, two blanks apart.
func writeTable(w io.Writer, p painter, header []string, rows [][]string) error {
	widths := make([]int, len(header))
	for i, h := range header {
		widths[i] = utf8.RuneCountInString(h)
	}
	for _, r := range rows {
		for i, cell := range r {
			r[i] = oneLine(cell)
			widths[i] = max(widths[i], utf8.RuneCountInString(r[i]))
		}
	}
	var b strings.Builder
	line := func(cells []string, paint func(string) string) {
		var l strings.Builder
		for i, cell := range cells {
			l.WriteString(cell)
			if i < len(cells)-1 {
				l.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+2))
			}
		}
		b.WriteString(paint(strings.TrimRight(l.String(), " ")))
		b.WriteByte('\n')
	}
	line(header, p.bold)
	for _, r := range rows {
		line(r, func(s string) string { return s })
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// oneLine makes a cell of any text: no line breaks, no control characters.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || r == '\r' {
			return ' '
		}
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, s)
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

// span is a duration in its two largest units, such as 2h5m or 3d4h.
func span(d time.Duration) string {
	if d < 0 {
		return "-" + span(-d)
	}
	units := []struct {
		size time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}}
	var parts []string
	for _, u := range units {
		if n := d / u.size; n > 0 && len(parts) < 2 {
			parts = append(parts, fmt.Sprintf("%d%s", n, u.name))
			d -= n * u.size
		} else if len(parts) == 1 {
			break
		}
	}
	if len(parts) == 0 {
		return "0s"
	}
	return strings.Join(parts, "")
}

// ago is how long t lies back.
func (a *app) ago(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	if d := a.now().Sub(t); d >= time.Second {
		return span(d) + " ago"
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
