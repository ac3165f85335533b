package terminal

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

// Painter adds colors to text, or returns the text unchanged when it is false.
type Painter bool

func (p Painter) paint(code, s string) string {
	if !p || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// Red returns red text.
func (p Painter) Red(s string) string { return p.paint("31", s) }

// Green returns green text.
func (p Painter) Green(s string) string { return p.paint("32", s) }

// Yellow returns yellow text.
func (p Painter) Yellow(s string) string { return p.paint("33", s) }

// Bold returns bold text.
func (p Painter) Bold(s string) string { return p.paint("1", s) }

// Dim returns faint text.
func (p Painter) Dim(s string) string { return p.paint("2", s) }

// Table writes rows with columns aligned below the header, two spaces apart.
func Table(w io.Writer, p Painter, header []string, rows [][]string) error {
	widths := make([]int, len(header))
	for i, h := range header {
		widths[i] = utf8.RuneCountInString(h)
	}
	for _, r := range rows {
		for i, cell := range r {
			r[i] = OneLine(cell)
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
	line(header, p.Bold)
	for _, r := range rows {
		line(r, func(s string) string { return s })
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// OneLine returns text as a table cell: without line breaks, escape sequences,
// colors and control characters.
func OneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || r == '\r' {
			return ' '
		}
		return r
	}, plainText(strings.ReplaceAll(s, "\r", " ")))
}

// Span formats a duration in its two largest units, such as 2h5m or 3d4h.
func Span(d time.Duration) string {
	if d < 0 {
		return "-" + Span(-d)
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

// Wrap breaks text at spaces into lines of at most width columns, each starting
// with indent. Paragraphs are preserved.
func Wrap(text string, width int, indent string) string {
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
