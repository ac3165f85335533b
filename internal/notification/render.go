package notification

import (
	"bytes"
	"fmt"
	"net/url"
	"strings"
	"text/template"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// Values are what a template can insert: names of objects and labels of the event
// as strings, and the data of a report as decoded JSON under "data". A template
// that uses a missing value fails.
type Values map[string]any

// Rendered is a notification with the values of one event.
type Rendered struct {
	Title   string // plain text, one line
	Content string // Markdown
	Actions []codersdk.InboxNotificationAction
}

// Render inserts values into the template. Actions become URLs below access.
func (t Template) Render(values Values, access *url.URL) (out Rendered, err error) {
	if out.Title, err = insert(t.Title, values, oneLine); err != nil {
		return out, fmt.Errorf("render the title of %q: %w", t.Name, err)
	}
	if out.Content, err = insert(t.Body, values, EscapeMarkdown); err != nil {
		return out, fmt.Errorf("render the body of %q: %w", t.Name, err)
	}
	out.Actions = []codersdk.InboxNotificationAction{}
	for _, a := range t.Actions {
		path, err := insert(a.URL, values, url.PathEscape)
		if err != nil {
			return out, fmt.Errorf("render the action %q of %q: %w", a.Label, t.Name, err)
		}
		u := *access
		u.Path, u.RawPath, u.RawQuery, u.Fragment = "", "", "", ""
		out.Actions = append(out.Actions, codersdk.InboxNotificationAction{Label: a.Label, URL: u.String() + strings.TrimSuffix(access.EscapedPath(), "/") + path})
	}
	return out, nil
}

// insert executes a template over values whose strings are escaped.
func insert(source string, values Values, escape func(string) string) (string, error) {
	t, err := template.New("").Option("missingkey=error").Parse(source)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = t.Execute(&b, mapStrings(map[string]any(values), escape))
	return b.String(), err
}

// mapStrings applies fn to every string in v, which consists of the types of
// decoded JSON.
func mapStrings(v any, fn func(string) string) any {
	switch v := v.(type) {
	case string:
		return fn(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = mapStrings(v[i], fn)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			out[k] = mapStrings(v[k], fn)
		}
		return out
	}
	return v
}

// oneLine replaces line breaks and other control characters by blanks, as a title
// is also the subject of an email.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
}

// EscapeMarkdown returns s as Markdown that shows s. Every line break is a blank.
func EscapeMarkdown(s string) string {
	var b strings.Builder
	for _, r := range oneLine(s) {
		if strings.ContainsRune("\\`*_{}[]()<>#+-.!|&~:@\"'$%^=/?,;", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// HTML returns Markdown as HTML. Raw HTML in it is dropped.
func HTML(markdown string) (string, error) {
	var b bytes.Buffer
	err := goldmark.Convert([]byte(markdown), &b)
	return b.String(), err
}

// Plain returns Markdown as plain text, with a blank line between paragraphs.
func Plain(markdown string) string {
	source := []byte(markdown)
	var b strings.Builder
	blocks := goldmark.DefaultParser().Parse(text.NewReader(source))
	ast.Walk(blocks, func(n ast.Node, entering bool) (ast.WalkStatus, error) { //nolint:errcheck // the function returns none
		switch n := n.(type) {
		case *ast.Text:
			if entering {
				b.Write(unescape(n.Value(source)))
				if n.SoftLineBreak() || n.HardLineBreak() {
					b.WriteByte('\n')
				}
			}
		case *ast.ListItem:
			if entering {
				b.WriteString("- ")
			}
		case *ast.TextBlock:
			if !entering {
				b.WriteByte('\n')
			}
		case *ast.Paragraph, *ast.List:
			if !entering {
				b.WriteString("\n\n")
			}
		}
		return ast.WalkContinue, nil
	})
	return strings.TrimSpace(strings.ReplaceAll(b.String(), "\n\n\n", "\n\n"))
}

// unescape removes the backslashes of escaped punctuation.
func unescape(b []byte) []byte {
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		if b[i] == '\\' && i+1 < len(b) && strings.IndexByte("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", b[i+1]) >= 0 {
			i++
		}
		out = append(out, b[i])
	}
	return out
}
