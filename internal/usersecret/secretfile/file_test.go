package secretfile

import (
	"fmt"
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

func TestParse(t *testing.T) {
	type format = codersdk.UserSecretFormat
	for _, c := range []struct {
		name    string
		format  format
		content string
		want    string // name=value (variable) of each secret, or what the error contains
	}{
		{"lines", "env", "# registry\nNPM_TOKEN=abc\r\n\nexport EMPTY=\n  SPACED = a b  # comment\n", "NPM_TOKEN=abc EMPTY= SPACED=a b"},
		{"a number sign and dollars", "env", "A=#1\nB=x#y\nC=$HOME${X}\nD=p=q", "A=#1 B=x#y C=$HOME${X} D=p=q"},
		{"quotes", "env", `A='x\n $y' # note` + "\n" + `B="a\n\"b\"\\ $c"` + "\n" + `C=""`, `A=x\n $y B=a` + "\n" + `"b"\ $c C=`},
		{"several lines", "env", "KEY=\"-----BEGIN\nabc\n-----END\n\"\nNEXT=1", "KEY=-----BEGIN\nabc\n-----END\n NEXT=1"},
		{"a byte order mark", "env", "\ufeffA=1", "A=1"},
		{"no assignment", "env", "A=1\nB=\"\n\"\nhush", "line 4 is not NAME=value"},
		{"no name", "env", "=hush", "line 1 is not NAME=value"},
		{"an open quote", "env", "A=1\nB='hush", "line 2: the quotes of B"},
		{"text behind quotes", "env", "B='x' hush", "line 1: the quotes of B"},
		{"only comments", "env", "# hush\n", "contains no secret"},
		{"values", "json", `{"A": "x\u0041", "N": 1e3, "T": true}`, "A=xA N=1e3 T=true"},
		{"an object", "json", `{"kube": {"value": "v", "file_path": "~/.kube/config", "enabled": false}}`, "kube=v (file ~/.kube/config, false)"},
		{"an unknown field", "json", `{"kube": {"value": "hush", "path": "~/x"}}`, `"kube" must be a text`},
		{"null", "json", `{"kube": null}`, `"kube" must be a text`},
		{"a list", "json", `["hush"]`, "is not a JSON object; see line 1"},
		{"a broken object", "json", "{\"A\": \"x\",\n\"B\": hush}", "is not a JSON object; see line 2"},
		{"two objects", "json", `{"A": "x"} {"B": "hush"}`, "is not a JSON object"},
		{"a mapping", "yaml", "A: x\nN: 0x10\nkube:\n  value: |\n    a\n    b\n  file_path: ~/.kube/config\n", "A=x N=0x10 kube=a\nb\n (file ~/.kube/config)"},
		{"an alias", "yaml", "A: &a hush\nB: *a\n", `"B" must be a text`},
		{"a nested alias", "yaml", "A: &a hush\nB: {value: *a}\n", `"B" must be a text`},
		{"null in YAML", "yaml", "A:\n", `"A" must be a text`},
		{"a text", "yaml", "hush", "is not a YAML mapping"},
		{"broken YAML", "yaml", "A: [hush", "is not a YAML mapping"},
		{"a name of several parts", "yaml", "[A, B]: hush", "is not a YAML mapping of names to values; see line 1"},
		{"another format", "toml", "A = 1", "must be env, json or yaml"},
		{"a large file", "env", "A=" + strings.Repeat("x", maxContent), "a file can have at most"},
	} {
		t.Run(c.name, func(t *testing.T) {
			all, err := Parse(c.format, c.content)
			if err != nil {
				if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hush") {
					t.Errorf("got the error %v", err)
				}
				return
			}
			var got []string
			for _, s := range all {
				text := s.Name + "=" + s.Value
				switch {
				case s.FilePath != "" && s.Enabled != nil:
					text += fmt.Sprintf(" (file %s, %v)", s.FilePath, *s.Enabled)
				case s.FilePath != "":
					text += fmt.Sprintf(" (file %s)", s.FilePath)
				case s.EnvName != s.Name:
					t.Errorf("%s has the variable %q", s.Name, s.EnvName)
				}
				got = append(got, text)
			}
			if text := strings.Join(got, " "); text != c.want {
				t.Errorf("got %q, want %q", text, c.want)
			}
		})
	}
}
