package option

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

// Value reads and shows what an option holds. kind is the contract's name of
// the type.
type Value struct {
	Kind    string
	Choices []string
	Single  bool // a second value replaces the first
	set     func(string) error
	Get     func() string
	clear   func()
}

// scalar makes a value of one thing that parse reads and show writes.
func scalar[T any](p *T, kind string, parse func(string) (T, error), show func(T) string) Value {
	return Value{
		Kind: kind, Single: true,
		set: func(s string) (err error) {
			v, err := parse(s)
			if err == nil {
				*p = v
			}
			return err
		},
		Get:   func() string { return show(*p) },
		clear: func() {},
	}
}

func same(s string) string { return s }

func text(s string) (string, error) { return s, nil }

// String is an option that takes any text.
func String(p *string, flag, desc string) *Option {
	return newOption(flag, desc, scalar(p, "string", text, same))
}

// Path is text in which a leading ~ means home.
func Path(p *string, home, flag, desc string) *Option {
	expand := func(s string) (string, error) {
		if s == "~" || strings.HasPrefix(s, "~/") {
			s = home + s[1:]
		}
		return s, nil
	}
	return newOption(flag, desc, scalar(p, "string", expand, same))
}

// Bool is a switch.
func Bool(p *bool, flag, desc string) *Option {
	return newOption(flag, desc, scalar(p, "bool", ParseBool, strconv.FormatBool))
}

// Switch is a switch of which only isSet matters.
func Switch(flag, desc string) *Option {
	var b bool
	return Bool(&b, flag, desc)
}

func ParseBool(s string) (bool, error) {
	switch strings.ToLower(s) {
	case "true", "t", "1", "yes", "y", "on":
		return true, nil
	case "false", "f", "0", "no", "n", "off":
		return false, nil
	}
	return false, fmt.Errorf("%q is neither true nor false", s)
}

// Int is a whole number.
func Int[T int | int32 | int64](p *T, flag, desc string) *Option {
	parse := func(s string) (T, error) {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || int64(T(n)) != n {
			return 0, fmt.Errorf("%q is not a whole number", s)
		}
		return T(n), nil
	}
	return newOption(flag, desc, scalar(p, "int", parse, func(v T) string { return strconv.FormatInt(int64(v), 10) }))
}

// Duration is a time span such as 90s, 1h30m, 7d or 2w.
func Duration(p *time.Duration, flag, desc string) *Option {
	return newOption(flag, desc, scalar(p, "duration", ParseDuration, time.Duration.String))
}

// Choice is one of a few words, in any case.
func Choice(p *string, flag, desc string, of ...string) *Option {
	parse := func(s string) (string, error) { return OneOf(s, of) }
	v := scalar(p, strings.Join(of, "|"), parse, same)
	v.Choices = of
	return newOption(flag, desc, v)
}

func OneOf(s string, of []string) (string, error) {
	for _, c := range of {
		if strings.EqualFold(c, strings.TrimSpace(s)) {
			return c, nil
		}
	}
	return "", fmt.Errorf("%q is none of %s", s, strings.Join(of, ", "))
}

// URL is a URL.
func URL(p **url.URL, flag, desc string) *Option {
	parse := func(s string) (*url.URL, error) {
		if s == "" {
			return nil, nil
		}
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

// Address is an address to listen on.
func Address(p *string, flag, desc string) *Option {
	parse := func(s string) (string, error) {
		if _, _, err := net.SplitHostPort(s); err != nil {
			return "", fmt.Errorf("%q is not host:port", s)
		}
		return s, nil
	}
	return newOption(flag, desc, scalar(p, "host:port", parse, same))
}

// Regexp is a regular expression, kept as text.
func Regexp(p *string, flag, desc string) *Option {
	parse := func(s string) (string, error) {
		_, err := regexp.Compile(s)
		return s, err
	}
	return newOption(flag, desc, scalar(p, "regexp", parse, same))
}

// JSON is a JSON or YAML document of the given kind, kept as JSON text.
func JSON[T any](p *string, kind, flag, desc string) *Option {
	parse := func(s string) (string, error) {
		var v T
		if err := json.Unmarshal([]byte(s), &v); err != nil {
			return "", fmt.Errorf("%q is not JSON of the right shape", s)
		}
		return s, nil
	}
	return newOption(flag, desc, scalar(p, "struct["+kind+"]", parse, same))
}

// List is any number of texts: the flag may be repeated, and each value is a
// line of CSV, so that commas separate and double quotes protect them.
func List(p *[]string, flag, desc string) *Option {
	return newOption(flag, desc, listValue(p, "string-array", text))
}

// Words is any number of the words of, separated by commas.
func Words(p *[]string, flag, desc string, of ...string) *Option {
	v := listValue(p, "["+strings.Join(of, "|")+"]", func(s string) (string, error) { return OneOf(s, of) })
	v.Choices = of
	return newOption(flag, desc, v)
}

func listValue(p *[]string, kind string, parse func(string) (string, error)) Value {
	return Value{
		Kind: kind,
		set: func(s string) error {
			fields, err := SplitCSV(s)
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
		Get:   func() string { return JoinCSV(*p) },
		clear: func() { *p = nil },
	}
}

// SplitCSV reads one line of CSV. What is not CSV because of a quote inside a
// bare field, such as names=["a","b"], is one value.
func SplitCSV(s string) ([]string, error) {
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

func JoinCSV(v []string) string {
	if len(v) == 0 {
		return ""
	}
	var b strings.Builder
	w := csv.NewWriter(&b)
	w.Write(v) //nolint:errcheck // a Builder takes everything
	w.Flush()
	return strings.TrimSuffix(b.String(), "\n")
}

// ParseDuration reads Go durations and, beyond them, d for days and w for
// weeks, in any order; a bare 0 is zero.
func ParseDuration(s string) (time.Duration, error) {
	bad := fmt.Errorf("%q is not a duration such as 90s, 1h30m or 7d", s)
	t := strings.TrimSpace(s)
	switch t {
	case "0":
		return 0, nil
	case "":
		return 0, bad
	}
	if n, err := strconv.ParseInt(t, 10, 64); err == nil {
		return 0, fmt.Errorf("%q has no unit, write for example %dm or %dh", s, n, n)
	}
	negative := strings.HasPrefix(t, "-")
	t = strings.TrimPrefix(strings.TrimPrefix(t, "-"), "+")
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

// Pairs reads key=value texts; what names them in errors.
func Pairs(what string, in []string) (map[string]string, error) {
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

// Contains says whether list holds word, in any case.
func Contains(list []string, word string) bool {
	return slices.ContainsFunc(list, func(s string) bool { return strings.EqualFold(s, word) })
}

// SSHPairs reads options of ssh, each Key=value or "Key value".
func SSHPairs(in []string) (map[string]string, error) {
	out := map[string]string{}
	for _, s := range in {
		k, v, ok := strings.Cut(s, "=")
		if !ok {
			k, v, ok = strings.Cut(s, " ")
		}
		if !ok || strings.TrimSpace(k) == "" {
			return nil, fmt.Errorf("the SSH option %q must be Key=value", s)
		}
		out[strings.TrimSpace(k)] = strings.TrimSpace(v)
	}
	return out, nil
}
