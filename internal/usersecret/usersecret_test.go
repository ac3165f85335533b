package usersecret

import (
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/usersecret/rule"
)

func TestCheck(t *testing.T) {
	good := sqlc.UserSecret{Name: "npm-token.1", EnvName: "_NPM_TOKEN1", FilePath: "~/.config/npm", Enabled: true}
	for want, change := range map[string]func(*sqlc.UserSecret) string{
		"":                             func(*sqlc.UserSecret) string { return strings.Repeat("x", rule.MaxValue) },
		"name: is required":            func(s *sqlc.UserSecret) string { s.Name = ""; return "x" },
		"name: must consist":           func(s *sqlc.UserSecret) string { s.Name = "a/b"; return "x" },
		"name: must be at most":        func(s *sqlc.UserSecret) string { s.Name = strings.Repeat("n", rule.MaxName+1); return "x" },
		"value: is required":           func(*sqlc.UserSecret) string { return "" },
		"value: has 32769":             func(*sqlc.UserSecret) string { return strings.Repeat("x", rule.MaxValue+1) },
		"value: must be text":          func(*sqlc.UserSecret) string { return "a\xff" },
		"value: must be text in UTF-8": func(*sqlc.UserSecret) string { return "a\x00" },
		"env_name: must consist":       func(s *sqlc.UserSecret) string { s.EnvName = "1A"; return "x" },
		"LD_PRELOAD is reserved":       func(s *sqlc.UserSecret) string { s.EnvName = "LD_PRELOAD"; return "x" },
		"Path is reserved":             func(s *sqlc.UserSecret) string { s.EnvName = "Path"; return "x" },
		"file_path: must begin":        func(s *sqlc.UserSecret) string { s.FilePath = "~other/x"; return "x" },
		"file_path: must name a file":  func(s *sqlc.UserSecret) string { s.FilePath = "/a/../b"; return "x" },
		"must name a file, without":    func(s *sqlc.UserSecret) string { s.FilePath = "~/"; return "x" },
		"file_path: cannot contain":    func(s *sqlc.UserSecret) string { s.FilePath = "/a\nb"; return "x" },
		"or a file_path is required":   func(s *sqlc.UserSecret) string { s.FilePath, s.EnvName = "", ""; return "x" },
	} {
		s := good
		value := change(&s)
		err := rule.Check(s, &value)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

func TestCheckLimits(t *testing.T) {
	many := func(n int, bytes int32, env string) (out []sqlc.UserSecret) {
		for range n {
			out = append(out, sqlc.UserSecret{ValueBytes: bytes, EnvName: env, Enabled: true})
		}
		return out
	}
	disabled := many(2, 20<<10, "A")
	disabled[0].Enabled = false
	for want, all := range map[string][]sqlc.UserSecret{
		"":           append(many(48, 1, ""), disabled...),
		"50 secrets": many(51, 1, ""), "204800 bytes in total": many(7, 30<<10, ""), "24576 bytes in total": many(2, 20<<10, "A"),
	} {
		err := rule.CheckLimits(all)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}
