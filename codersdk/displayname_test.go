package codersdk

import "testing"

func TestCheckDisplayName(t *testing.T) {
	for name, ok := range map[string]bool{
		"": true, "Ada Lovelace": true, "日本語": true, "مثال": true, "🙂": true,
		"a\x1b[2J": false, "a\u009b": false, "user\u202egpj": false, "a\u2066b": false, " a": false, "a\nb": false, "a\x00": false,
	} {
		if err := CheckDisplayName("name", name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
	if got := CleanDisplayName("a\x1b\u202eb"); got != "ab" {
		t.Errorf("cleaned: %q", got)
	}
}
