package cli

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// value reads and shows what an option holds. kind is the contract's name of
// the type.
type value struct {
	kind    string
	choices []string
	single  bool // a second value replaces the first
	set     func(string) error
	get     func() string
	clear   func()
}

// scalar makes a value of one thing that parse reads and show writes.
func scalar[T any](p *T, kind string, parse func(string) (T, error), show func(T) string) value {
	return value{
		kind: kind, single: true,
		set: func(s string) (err error) {
			v, err := parse(s)
			if err == nil {
				*p = v
			}
			return err
		},
		get:   func() string { return show(*p) },
		clear: func() {},
	}
}

func same(s string) string { return s }

func text(s string) (string, error) { return s, nil }

// str is an option that takes any text.
func str(p *string, flag, desc string) *option {
	return newOption(flag, desc, scalar(p, "string", text, same))
}

// path is text in which a leading ~ means home.
func path(p *string, home, flag, desc string) *option {
	expand := func(s string) (string, error) {
		if s == "~" || strings.HasPrefix(s, "~/") {
			s = home + s[1:]
		}
		return s, nil
	}
	return newOption(flag, desc, scalar(p, "string", expand, same))
}

// boolean is a switch.
func boolean(p *bool, flag, desc string) *option {
	return newOption(flag, desc, scalar(p, "bool", parseBool, strconv.FormatBool))
}

// flagOption is a switch of which only isSet matters.
func flagOption(flag, desc string) *option {
	var b bool
	return boolean(&b, flag, desc)
}

func parseBool(s string) (bool, error) {
	switch strings.ToLower(s) {
	case "true", "t", "1", "yes", "y", "on":
		return true, nil
	case "false", "f", "0", "no", "n", "off":
		return false, nil
	}
	return false, fmt.Errorf("%q is neither true nor false", s)
}

// integer is a whole number.
func integer[T int | int32 | int64](p *T, flag, desc string) *option {
	parse := func(s string) (T, error) {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || int64(T(n)) != n {
			return 0, fmt.Errorf("%q is not a whole number", s)
		}
		return T(n), nil
	}
	return newOption(flag, desc, scalar(p, "int", parse, func(v T) string { return strconv.FormatInt(int64(v), 10) }))
}

// duration is a time span such as 90s, 1h30m, 7d or 2w.
func duration(p *time.Duration, flag, desc string) *option {
	return newOption(flag, desc, scalar(p, "duration", parseDuration, time.Duration.String))
}

// choice is one of a few words, in any case.
func choice(p *string, flag, desc string, of ...string) *option {
	parse := func(s string) (string, error) { return oneOf(s, of) }
	v := scalar(p, strings.Join(of, "|"), parse, same)
	v.choices = of
	return newOption(flag, desc, v)
}

func oneOf(s string, of []string) (string, error) {
	for _, c := range of {
		if strings.EqualFold(c, strings.TrimSpace(s)) {
			return c, nil
		}
	}
	return "", fmt.Errorf("%q is none of %s", s, strings.Join(of, ", "))
}

// link is a URL.
func link(p **url.URL, flag, desc string) *option {
	parse := func(s string) (*url.URL, error) {
		u, err := url.Parse(s)
		if err != nil {
			return nil, fmt.Errorf("%q is not a URL", s)
		}
		return u, nil
	}
	show := func(u *url.URL) string {
		if u == nil {
			return ""
		}
		return u.String()
	}
	return newOption(flag, desc, scalar(p, "url", parse, show))
}

// hostport is an address to listen on.
func hostport(p *string, flag, desc string) *option {
	parse := func(s string) (string, error) {
		if _, _, err := net.SplitHostPort(s); err != nil {
			return "", fmt.Errorf("%q is not host:port", s)
		}
		return s, nil
	}
	return newOption(flag, desc, scalar(p, "host:port", parse, same))
}

// pattern is a regular expression, kept as text.
func pattern(p *string, flag, desc string) *option {
	parse := func(s string) (string, error) {
		_, err := regexp.Compile(s)
		return s, err
	}
	return newOption(flag, desc, scalar(p, "regexp", parse, same))
}

// structure is a JSON or YAML document of the given kind, kept as JSON text.
func structure[T any](p *string, kind, flag, desc string) *option {
	parse := func(s string) (string, error) {
		var v T
		if err := json.Unmarshal([]byte(s), &v); err != nil {
			return "", fmt.Errorf("%q is not JSON of the right shape", s)
		}
		return s, nil
	}
	return newOption(flag, desc, scalar(p, "struct["+kind+"]", parse, same))
}

// list is any number of texts: the flag may be repeated, and each value is a
// line of CSV, so that commas separate and double quotes protect them.
func list(p *[]string, flag, desc string) *option {
	return newOption(flag, desc, listValue(p, "string-array", text))
}

// words is any number of the words of, separated by commas.
func words(p *[]string, flag, desc string, of ...string) *option {
	v := listValue(p, "["+strings.Join(of, "|")+"]", func(s string) (string, error) { return oneOf(s, of) })
	v.choices = of
	return newOption(flag, desc, v)
}

func listValue(p *[]string, kind string, parse func(string) (string, error)) value {
	return value{
		kind: kind,
		set: func(s string) error {
			fields, err := splitCSV(s)
			if err != nil {
				return err
			}
			for _, f := range fields {
				v, err := parse(f)
				if err != nil {
					return err
				}
				*p = append(*p, v)
			}
			return nil
		},
		get:   func() string { return joinCSV(*p) },
		clear: func() { *p = nil },
	}
}

// splitCSV reads one line of CSV. What is not CSV because of a quote inside a
// bare field, such as names=["a","b"], is one value.
func splitCSV(s string) ([]string, error) {
	if s == "" {
		return nil, nil
	}
	fields, err := csv.NewReader(strings.NewReader(s)).Read()
	if err != nil && !strings.HasPrefix(s, `"`) {
		return []string{s}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%q is not a list separated by commas: %w", s, err)
	}
	return fields, nil
}

func joinCSV(v []string) string {
	if len(v) == 0 {
		return ""
	}
	var b strings.Builder
	w := csv.NewWriter(&b)
	w.Write(v) //nolint:errcheck // a Builder takes everything
	w.Flush()
	return strings.TrimSuffix(b.String(), "\n")
}

// parseDuration reads Go durations and, beyond them, d for days and w for
// weeks, in any order; a bare 0 is zero.
func parseDuration(s string) (time.Duration, error) {
	bad := fmt.Errorf("%q is not a duration such as 90s, 1h30m or 7d", s)
	t := strings.TrimSpace(s)
	if t == "0" {
		return 0, nil
	}
	if n, err := strconv.ParseInt(t, 10, 64); err == nil {
		return 0, fmt.Errorf("%q has no unit, write for example %dm or %dh", s, n, n)
	}
	negative := strings.HasPrefix(t, "-")
	t = strings.TrimLeft(t, "+-")
	var total time.Duration
	for t != "" {
		i := strings.IndexFunc(t, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
		if i <= 0 {
			return 0, bad
		}
		j := i + strings.IndexFunc(t[i:], func(r rune) bool { return r == '.' || r >= '0' && r <= '9' })
		if j < i {
			j = len(t)
		}
		d, err := spanOf(t[:i], t[i:j])
		if err != nil || total+d < total {
			return 0, bad
		}
		total, t = total+d, t[j:]
	}
	if negative {
		total = -total
	}
	return total, nil
}

func spanOf(number, unit string) (time.Duration, error) {
	hours := map[string]float64{"d": 24, "day": 24, "days": 24, "w": 7 * 24, "week": 7 * 24, "weeks": 7 * 24}
	if h, ok := hours[unit]; ok {
		n, err := strconv.ParseFloat(number, 64)
		d := n * h * float64(time.Hour)
		if err == nil && d > float64(1<<62) {
			err = strconv.ErrRange
		}
		return time.Duration(d), err
	}
	return time.ParseDuration(number + unit)
}

// pairs reads key=value texts; what names them in errors.
func pairs(what string, in []string) (map[string]string, error) {
	out := make(map[string]string, len(in))
	for _, s := range in {
		k, v, ok := strings.Cut(s, "=")
		if !ok || strings.TrimSpace(k) == "" {
			return nil, fmt.Errorf("%s %q must be key=value", what, s)
		}
		out[strings.TrimSpace(k)] = v
	}
	return out, nil
}

// contains says whether list holds word, in any case.
func contains(list []string, word string) bool {
	return slices.ContainsFunc(list, func(s string) bool { return strings.EqualFold(s, word) })
}
