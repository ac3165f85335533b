package notification

import (
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// hostile is a name that tries to be Markdown, HTML and a path.
const hostile = "[x](javascript:alert(1)) <script>alert(1)</script> **b** ../../a?b#c\r\nBcc: x"

// everything returns all values that templates use, each of them hostile.
func everything() Values {
	v := Values{"data": map[string]any{"versions": []any{map[string]any{"name": hostile, "builds": hostile, "failed": hostile, "latest": []any{hostile, "b"}}}, "failed": hostile, "more": hostile,
		"resources": []any{map[string]any{"name": hostile, "arguments": hostile}}}}
	for _, name := range []string{
		"name", "workspace_owner_username", "template_name", "template_display_name", "template_version_name", "template_version_message", "organization",
		"initiator", "reason", "deleting_at", "transition", "error", "build_number", "threshold", "volume", "message", "failed", "total", "preset", "failures",
		"account_username", "account_name", "one_time_passcode", "custom_title", "custom_message",
	} {
		v[name] = hostile
	}
	return v
}

func TestTemplates(t *testing.T) {
	access, _ := url.Parse("https://coder.example.com/base")
	seen := map[uuid.UUID]bool{}
	for _, template := range All() {
		if seen[template.ID] || template.Name == "" || template.Group == "" {
			t.Errorf("%q has no name, no group, or the ID of another", template.Name)
		}
		seen[template.ID] = true
		r, err := template.Render(everything(), access)
		if err != nil {
			t.Error(err)
			continue
		}
		if strings.ContainsAny(r.Title, "\r\n") {
			t.Errorf("the title of %q has several lines: %q", template.Name, r.Title)
		}
		html, err := HTML(r.Content)
		if err != nil || strings.Contains(html, "<script") || strings.Contains(html, "<a ") || strings.Contains(html, "<strong>b</strong>") {
			t.Errorf("%q inserts markup of a value: %s %v", template.Name, html, err)
		}
		for _, a := range r.Actions {
			u, err := url.Parse(a.URL)
			if err != nil || u.Host != "coder.example.com" || !strings.HasPrefix(u.Path, "/base/") || u.RawQuery != "" || u.Fragment != "" || strings.Contains(u.EscapedPath(), "..%2F..%2Fa") == false && strings.Contains(template.Actions[0].URL, "{{") {
				t.Errorf("%q links to %q: %v", template.Name, a.URL, err)
			}
		}
	}
}

func TestPlain(t *testing.T) {
	markdown := "Hello **" + EscapeMarkdown("a_b*c <d> & [e](f) \\ `g`") + "**.\n\nSecond:\n\n- one\n- two\n\nEnd."
	want := "Hello a_b*c <d> & [e](f) \\ `g`.\n\nSecond:\n\n- one\n- two\n\nEnd."
	if got := Plain(markdown); got != want {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
	html, err := HTML(markdown)
	if err != nil || !strings.Contains(html, "<strong>a_b*c &lt;d&gt; &amp; [e](f) \\ `g`</strong>") || !strings.Contains(html, "<li>one</li>") {
		t.Errorf("%s %v", html, err)
	}
}

func TestRenderFailsWithoutAValue(t *testing.T) {
	template, _ := ByID(WorkspaceDeleted)
	if _, err := template.Render(Values{"name": "dev"}, &url.URL{}); err == nil {
		t.Error("a missing value was inserted")
	}
}
