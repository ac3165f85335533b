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

// Value parses and formats the value of an option. Kind is the type's name in
// the CLI contract.
type Value struct {
	Kind    string
	Choices []string
	Single  bool // a second value replaces the first
	set     func(string) error
	Get     func() string
	clear   func()
}

// scalar returns a Value for a single value that parse reads and show formats.
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

// String returns an option that accepts any text.
func String(p *string, flag, desc string) *Option {
	return newOption(flag, desc, scalar(p, "string", text, same))
}

// Path returns an option for a path; a leading ~ is replaced by home.
func Path(p *string, home, flag, desc string) *Option {
	expand := func(s string) (string, error) {
		if s == "~" || strings.HasPrefix(s, "~/") {
			s = home + s[1:]
		}
		return s, nil
	}
	return newOption(flag, desc, scalar(p, "string", expand, same))
}

// Bool returns a boolean option.
func Bool(p *bool, flag, desc string) *Option {
	return newOption(flag, desc, scalar(p, "bool", ParseBool, strconv.FormatBool))
}

// Not returns a boolean option that stores the opposite of its value.
func Not(p *bool, flag, desc string) *Option {
	parse := func(s string) (bool, error) {
		v, err := ParseBool(s)
		return !v, err
	}
	return newOption(flag, desc, scalar(p, "bool", parse, func(v bool) string { return strconv.FormatBool(!v) }))
}

// Switch returns a boolean option of which only IsSet matters.
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

// Int returns an option for an integer that fits T.
func Int[T int | int32 | int64](p *T, flag, desc string) *Option {
	parse := func(s string) (T, error) {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || int64(T(n)) != n {
			return 0, fmt.Errorf("%q is not an integer", s)
		}
		return T(n), nil
	}
	return newOption(flag, desc, scalar(p, "int", parse, func(v T) string { return strconv.FormatInt(int64(v), 10) }))
}

// Duration returns an option for a duration such as 90s, 1h30m, 7d or 2w.
func Duration(p *time.Duration, flag, desc string) *Option {
	return newOption(flag, desc, scalar(p, "duration", ParseDuration, time.Duration.String))
}

// Choice returns an option for one of the given words, in any case.
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
	return "", fmt.Errorf("%q is not one of %s", s, strings.Join(of, ", "))
}

// URL returns an option for a URL. An empty value is a nil URL.
func URL(p **url.URL, flag, desc string) *Option {
	return ParsedURL(p, func(s string) (*url.URL, error) {
		u, err := url.Parse(s)
		if err != nil {
			return nil, fmt.Errorf("%q is not a URL", s)
		}
		return u, nil
	}, flag, desc)
}

// ParsedURL returns an option for a URL that parse reads. An empty value is a nil URL.
func ParsedURL(p **url.URL, parse func(string) (*url.URL, error), flag, desc string) *Option {
	orNil := func(s string) (*url.URL, error) {
		if s == "" {
			return nil, nil
		}
		return parse(s)
	}
	show := func(u *url.URL) string {
		if u == nil {
			return ""
		}
		return u.String()
	}
	return newOption(flag, desc, scalar(p, "url", orNil, show))
}

// Address returns an option for an address in the form host:port.
func Address(p *string, flag, desc string) *Option {
	parse := func(s string) (string, error) {
		if _, _, err := net.SplitHostPort(s); err != nil {
			return "", fmt.Errorf("%q is not host:port", s)
		}
		return s, nil
	}
	return newOption(flag, desc, scalar(p, "host:port", parse, same))
}

// Regexp returns an option for a regular expression, stored as text.
func Regexp(p *string, flag, desc string) *Option {
	parse := func(s string) (string, error) {
		_, err := regexp.Compile(s)
		return s, err
	}
	return newOption(flag, desc, scalar(p, "regexp", parse, same))
}

// JSON returns an option for a JSON document that decodes into T.
func JSON[T any](p *T, kind, flag, desc string) *Option {
	var document string
	parse := func(s string) (string, error) {
		var v T
		if err := json.Unmarshal([]byte(s), &v); err != nil {
			return "", fmt.Errorf("not valid JSON for this option: %v", err) // the value may contain a secret
		}
		*p = v
		return s, nil
	}
	return newOption(flag, desc, scalar(&document, "struct["+kind+"]", parse, same))
}

// List returns an option for any number of values. The flag may be repeated,
// and each value is a line of CSV: commas separate values, double quotes
// protect them.
func List(p *[]string, flag, desc string) *Option {
	return newOption(flag, desc, listValue(p, "string-array", text))
}

// Words returns an option for any number of the given words, separated by
// commas.
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

// SplitCSV parses one line of CSV. Text that is not CSV because a quote is
// inside a bare field, such as names=["a","b"], is returned as one value.
func SplitCSV(s string) ([]string, error) {
	if s == "" {
		return nil, nil
	}
	fields, err := csv.NewReader(strings.NewReader(s)).Read()
	if err != nil && !strings.HasPrefix(s, `"`) {
		return []string{s}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%q is not a comma-separated list: %w", s, err)
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

// ParseDuration parses Go durations and, in addition, d for days and w for
// weeks, in any order. A bare 0 is zero.
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
		return 0, fmt.Errorf("%q has no unit; use for example %dm or %dh", s, n, n)
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

// Pairs parses key=value texts. what names them in errors.
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

// Contains reports whether list contains word, in any case.
func Contains(list []string, word string) bool {
	return slices.ContainsFunc(list, func(s string) bool { return strings.EqualFold(s, word) })
}

// SSHPairs parses SSH options, each as Key=value or "Key value".
func SSHPairs(in []string) (map[string]string, error) {
	out := map[string]string{}
	for _, s := range in {
		k, v, ok := strings.Cut(s, "=")
		if !ok {
			k, v, ok = strings.Cut(s, " ")
		}
		if !ok || strings.TrimSpace(k) == "" {
			return nil, fmt.Errorf("SSH option %q must be Key=value", s)
		}
		out[strings.TrimSpace(k)] = strings.TrimSpace(v)
	}
	return out, nil
}
