package secretfile

import (
	"strings"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// parseEnv reads lines of NAME=value, with an optional export before the name. A value in single quotes is
// taken as it is; in double quotes, \n, \r, \t and \ before any other character are escapes; both can have
// line breaks. A value without quotes ends before " #" or at the end of the line. $ is an ordinary character:
// libraries that expand variables would change secrets.
func parseEnv(content string) (out []codersdk.CreateUserSecretRequest, err error) {
	rest := strings.ReplaceAll(strings.TrimPrefix(content, "\ufeff"), "\r\n", "\n")
	for line := 1; rest != ""; {
		before := rest
		first, after, _ := strings.Cut(rest, "\n")
		name, value, assigned := strings.Cut(first, "=")
		name = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(name), "export "))
		switch text := strings.TrimSpace(first); {
		case text == "" || text[0] == '#':
			rest = after
		case !assigned || name == "":
			return nil, codersdk.Invalid("content", "line %d is not NAME=value", line)
		default:
			value, rest, assigned = envValue(rest[len(first)-len(value):])
			if !assigned {
				return nil, codersdk.Invalid("content", "line %d: the quotes of %s do not end, or text follows them", line, name)
			}
			out = append(out, variableSecret(name, value))
		}
		line += strings.Count(before[:len(before)-len(rest)], "\n")
	}
	return out, nil
}

// envValue reads a value, and returns what follows its line.
func envValue(text string) (value, rest string, ok bool) {
	start := strings.TrimLeft(text, " \t")
	if start == "" || start[0] != '"' && start[0] != '\'' {
		line, rest, _ := strings.Cut(text, "\n")
		for _, comment := range []string{" #", "\t#"} {
			line, _, _ = strings.Cut(line, comment)
		}
		return strings.TrimSpace(line), rest, true
	}
	value, rest, ok = unquote(start[0], start[1:])
	tail, rest, _ := strings.Cut(rest, "\n")
	tail = strings.TrimSpace(tail)
	return value, rest, ok && (tail == "" || tail[0] == '#')
}

// unquote reads to the closing quote, and returns what follows it.
func unquote(quote byte, text string) (value, rest string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == quote:
			return b.String(), text[i+1:], true
		case c == '\\' && quote == '"' && i+1 < len(text):
			i++
			if at := strings.IndexByte("nrt", text[i]); at >= 0 {
				b.WriteByte("\n\r\t"[at])
			} else {
				b.WriteByte(text[i])
			}
		default:
			b.WriteByte(c)
		}
	}
	return "", "", false
}
