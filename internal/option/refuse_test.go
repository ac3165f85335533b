package option

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRefusedOptionsNameTheirPlace checks that a value which asks for a missing
// feature is refused under the name of the place it was set in, and that a value
// which asks for nothing is accepted.
func TestRefusedOptionsNameTheirPlace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c.yaml")
	if err := os.WriteFile(file, []byte("robot:\n  enabled: true\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		flag, env string
		file      bool
		want      string
	}{
		{"true", "", false, "--robot: there is no robot; use your hands"},
		{"", "true", false, "$ROBOT: there is no robot; use your hands"},
		{"", "", true, "robot.enabled: there is no robot; use your hands"},
		{"false", "", false, ""},
		{"", "false", true, ""},
	} {
		var on bool
		o := Bool(&on, "robot", "Use the robot.").Env("ROBOT").YAML("robot.enabled").Refuse("there is no robot; use your hands")
		if err := o.PreParse(); err != nil {
			t.Fatal(err)
		}
		if c.flag != "" {
			if err := o.Set("robot", c.flag); err != nil {
				t.Fatal(err)
			}
		}
		if err := o.FromEnv(map[string]string{"ROBOT": c.env}); err != nil {
			t.Fatal(err)
		}
		if c.file {
			if err := ReadFile(file, []*Option{o}); err != nil {
				t.Fatal(err)
			}
		}
		err := CheckRefused([]*Option{o})
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%+v is refused: %v", c, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%+v: got %v, want %q", c, err, c.want)
		}
	}
}

func TestRefusedOptionsAcceptTheirDefault(t *testing.T) {
	var method string
	o := String(&method, "method", "").Env("METHOD").YAML("method").Def("smtp").Refuse("there is no mail")
	if err := o.PreParse(); err != nil {
		t.Fatal(err)
	}
	for value, refused := range map[string]bool{"smtp": false, "": false, "webhook": true} {
		if err := o.Set("method", value); err != nil {
			t.Fatal(err)
		}
		if err := CheckRefused([]*Option{o}); (err != nil) != refused {
			t.Errorf("%q: %v", value, err)
		}
	}
	if text, err := WriteFile([]*Option{o}, func(text string) string { return text }); err != nil || strings.Contains(text, "method") {
		t.Errorf("a refused option is written: %q, %v", text, err)
	}
}
