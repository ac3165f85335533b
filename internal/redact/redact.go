// Package redact removes secrets from text that leaves a deployment, such as
// logs and the files of a support bundle.
//
// A Redactor knows the literal secrets that it was given. It recognizes others
// by their form (PEM keys, JSON Web Tokens, tokens of well-known services,
// credentials in URLs) and by the name beside them (password=...,
// "client_secret": "...", Authorization: ...). It prefers to remove too much. A
// secret without a known form and without a telling name remains, so check the
// result before you send it.
package redact

import (
	"bytes"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Mark replaces a secret.
const Mark = "[REDACTED]"

// leastLiteral is the minimum length of a literal secret, in bytes. Shorter
// ones would match by chance.
const leastLiteral = 6

// Redactor removes secrets. It is safe for concurrent use.
type Redactor struct {
	literals *strings.Replacer // nil without literals
}

// New returns a Redactor that knows the given secrets. In a URL with a password
// only the password is a secret. Short and empty secrets are ignored.
func New(secrets ...string) *Redactor {
	var known []string
	for _, s := range secrets {
		if u, err := url.Parse(s); err == nil && u.Scheme != "" && u.Host != "" {
			s, _ = u.User.Password()
		}
		if len(s) < leastLiteral {
			continue
		}
		known = append(known, s, url.QueryEscape(s), url.PathEscape(s))
		if b, err := json.Marshal(s); err == nil {
			known = append(known, string(b[1:len(b)-1]))
		}
	}
	// A secret that contains another one is replaced first.
	slices.SortFunc(known, func(a, b string) int { return len(b) - len(a) })
	known = slices.Compact(known)
	if len(known) == 0 {
		return &Redactor{}
	}
	pairs := make([]string, 0, 2*len(known))
	for _, s := range known {
		pairs = append(pairs, s, Mark)
	}
	return &Redactor{literals: strings.NewReplacer(pairs...)}
}

// rule replaces the matches of form. Text without any of the hints, which are
// in lower case, has no match, so most log lines are skipped quickly.
type rule struct {
	form  func() *regexp.Regexp
	with  string
	hints []string
}

// lazy compiles an expression at its first use: most commands of the program redact nothing.
func lazy(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// names matches the part of a name that marks a secret.
const names = `(?:passw(?:or)?d|passwd|passphrase|passcode|pwd|secret|token|api[_-]?key|access[_-]?key|account[_-]?key|shared[_-]?key|private[_-]?key|` +
	`encrypt(?:ion)?[_-]?keys?|signing[_-]?key|daemon[_-]?key|provisioner[_-]?key|ssh[_-]?key|key[_-]data|credentials?|authorization|auth[_-]?header|` +
	`cookie|dsn|connection[_-]?string|conn[_-]?str|psk|jwt|bearer|signature|license|webhook[_-]?url|(?:postgres|pg|database|db|redis|mongo(?:db)?|amqp|mysql)[_-]?(?:connection[_-]?)?ur[il])`

// quoted matches a value in quotes, which may be escaped once.
const quoted = `\\"(?:[^"\\]|\\\\.)*\\"|"(?:[^"\\]|\\.)*"|'[^'\n]*'`

// blocks are rules that span several lines.
var blocks = []rule{
	{
		lazy(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\z)`),
		Mark,
		[]string{"-----begin"},
	},
	{
		lazy(`(?i)(variable\s+"[^"\n]*` + names + `[^"\n]*"\s*\{[^}]{0,900}?default\s*=\s*)"(?:[^"\\]|\\.)*"`),
		`$1"` + Mark + `"`,
		[]string{"variable"},
	},
}

// rules are the single-line rules, applied in order.
var rules = []rule{
	{lazy(`(?i)\b(bearer|basic|digest|negotiate)(\s+)[A-Za-z0-9._~+/=-]{8,}`), "$1$2" + Mark, []string{"bearer", "basic", "digest", "negotiate"}},
	{
		lazy(
			`(?im)\b((?:proxy-)?authorization|(?:set-)?cookie2?|coder-session-token|x-api-key|x-auth-token|private-token)(\\?["']?\s*[:=]\s*\\?["']?)[^\r\n"\\]+`,
		),
		"$1$2" + Mark,
		[]string{"authorization", "cookie", "coder-session-token", "x-api-key", "x-auth-token", "private-token"},
	},
	{lazy(`([A-Za-z][A-Za-z0-9+.-]*://)([^\s/:@"'<>\\]*):[^\s"'<>\\]+@`), "$1$2:" + Mark + "@", []string{"://"}},
	{lazy(`([A-Za-z][A-Za-z0-9+.-]*://)[^\s/:@"'<>\\]{16,}@`), "$1" + Mark + "@", []string{"://"}},
	{lazy(`(?i)(\blogin\s+\S+\s+password\s+)\S+`), "$1" + Mark, []string{"login"}},
	{lazy(`(?i)(\bidentified\s+by\s+)(?:` + quoted + `|[^\s;]+)`), "$1" + Mark, []string{"identified"}},
	{lazy(`(?i)(--?[a-z0-9-]*` + names + `[a-z0-9-]*\s+)([^\s-][^\s]*)`), "$1" + Mark, assignmentHints},
	{
		lazy(
			`\bhttps://(?:hooks\.slack\.com/(?:services|workflows)|(?:\w+\.)?discord(?:app)?\.com/api/webhooks|[\w.-]+\.webhook\.office\.com)/[^\s"'<>\\]+`,
		),
		Mark,
		[]string{"hooks.slack.com", "discord", "webhook.office.com"},
	},
	// Tokens of this server, then of others.
	{lazy(`\b[A-Za-z0-9]{10}-[A-Za-z0-9]{22}\b`), Mark, []string{"-"}},
	{lazy(`\beyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]*`), Mark, []string{"eyj"}},
	{
		lazy(
			`\b(?:gh[pousr]_[A-Za-z0-9]{16,}|github_pat_\w{16,}|gl(?:pat|dt|rt|cbt|ptt|ft|soat)-[\w-]{16,}|xox[abeoprs]-[A-Za-z0-9-]{8,}|xapp-[A-Za-z0-9-]{16,})`,
		),
		Mark,
		[]string{"gh", "gl", "xox", "xapp-"},
	},
	{
		lazy(`\b(?:(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{16}\b|AIza[\w-]{30,}|ya29\.[\w-]{16,}|GOCSPX-[\w-]{16,})`),
		Mark,
		[]string{"akia", "asia", "aroa", "aida", "aiza", "ya29.", "gocspx-"},
	},
	{
		lazy(
			`\b(?:(?:sk|rk|pk)_(?:live|test)_\w{10,}|whsec_\w{16,}|sk-[A-Za-z0-9_-]{16,}|hf_[A-Za-z0-9]{16,}|npm_[A-Za-z0-9]{20,}|pypi-[\w-]{16,}|dckr_pat_[\w-]{16,}|dop_v1_[a-f0-9]{32,}|dapi[a-f0-9]{32}|SG\.[\w-]{16,}\.[\w-]{16,})`,
		),
		Mark,
		[]string{"sk", "rk_", "pk_", "whsec_", "hf_", "npm_", "pypi-", "dckr_pat_", "dop_v1_", "dapi", "sg."},
	},
	{
		lazy(`\b(?:hv[sbr]\.[\w-]{16,}|[A-Za-z0-9]{14}\.atlasv1\.[\w-]{40,}|AGE-SECRET-KEY-1[A-Z0-9]{40,})`),
		Mark,
		[]string{"hv", "atlasv1", "age-secret-key"},
	},
	{lazy(`\$(?:2[aby]?|5|6|y|argon2id?)\$[./A-Za-z0-9$=,+-]{20,}`), Mark, []string{"$"}},
}

// assignment matches a telling name with its value: name=value, name: value,
// "name": "value", name => 'value'.
var assignment = lazy(`(?i)(\\?["']?)([\w.-]*` + names + `[\w.-]*)(\\?["']?\s*(?:=>|:=|=|:)\s*)(` + quoted + `|[^\s,;&"'{}\[\]()<>\\]+)`)

// harmless matches the end of a name that is about a secret but not one itself.
var harmless = lazy(
	`(?i)(?:[_.-](?:id|ids|name|names|type|types|at|lifetime|duration|count|length|limit|path|file|dir|enabled|disabled|expiry|expires|scope|scopes|total|bytes|seconds|algorithm|policy|version)|required|disable-.*|tokens|public[_-]?key)$`,
)

// Telling reports whether an environment variable with the name holds a secret. PWD and OLDPWD are the
// directories of a shell.
func Telling(name string) bool { return name != "PWD" && name != "OLDPWD" && telling(name) }

// telling reports whether the value of the name is a secret.
func telling(name string) bool {
	return secretName().MatchString(name) && !harmless().MatchString(name)
}

var secretName = lazy(`(?i)` + names + `|^auth$|[_-]keys?$`)

// Text returns text without secrets.
func (r *Redactor) Text(text string) string {
	if r.literals != nil {
		text = r.literals.Replace(text)
	}
	text = apply(blocks, text)
	var out strings.Builder
	out.Grow(len(text))
	for line := range strings.Lines(text) {
		line = apply(rules, line)
		if hasHint(strings.ToLower(line), assignmentHints) {
			line = assignment().ReplaceAllStringFunc(line, assigned)
		}
		out.WriteString(line)
	}
	return out.String()
}

// apply applies the rules whose hints are in text.
func apply(rules []rule, text string) string {
	lower := strings.ToLower(text)
	for _, x := range rules {
		if hasHint(lower, x.hints) {
			text = x.form().ReplaceAllString(text, x.with)
		}
	}
	return text
}

func hasHint(lower string, hints []string) bool {
	return slices.ContainsFunc(hints, func(h string) bool { return strings.Contains(lower, h) })
}

// assignmentHints occur in every match of assignment.
var assignmentHints = []string{
	"pass", "pwd", "secret", "token", "key", "cred", "auth", "cookie", "dsn", "conn", "psk", "jwt", "bearer", "signature", "license", "ur",
}

// assigned removes the value of one match of assignment.
func assigned(s string) string {
	m := assignment().FindStringSubmatch(s)
	if !telling(m[2]) || plain(m[4]) {
		return s
	}
	for _, q := range []string{`\"`, `"`, `'`} {
		if len(m[4]) >= 2*len(q) && strings.HasPrefix(m[4], q) && strings.HasSuffix(m[4], q) {
			return m[1] + m[2] + m[3] + q + Mark + q
		}
	}
	return m[1] + m[2] + m[3] + Mark
}

// plain reports whether a value carries no information: empty, a boolean or
// null.
func plain(v string) bool {
	switch strings.ToLower(strings.Trim(v, `\"'`)) {
	case "", "true", "false", "null", "nil", "none", strings.ToLower(Mark), strings.ToLower(Mark[:len(Mark)-1]):
		return true
	}
	return false
}

// Bytes is Text for bytes in any encoding that contains ASCII.
func (r *Redactor) Bytes(b []byte) []byte { return []byte(r.Text(string(b))) }

// JSON returns a JSON document without secrets, indented. It removes the whole
// value of a telling name, also if the name is in a sibling field, as in
// {"name": "db_password", "value": "..."}, and values that are marked as
// sensitive. Input that is not JSON is treated as text.
func (r *Redactor) JSON(b []byte) []byte {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil || dec.More() {
		return r.Bytes(b)
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(r.value(v)); err != nil {
		return r.Bytes(b)
	}
	return out.Bytes()
}

// value returns one JSON value without secrets.
func (r *Redactor) value(v any) any {
	switch v := v.(type) {
	case string:
		return r.Text(v)
	case []any:
		for i := range v {
			v[i] = r.value(v[i])
		}
	case map[string]any:
		secret := v["sensitive"] == true || v["ephemeral"] == true
		for _, beside := range []string{"name", "key", "flag", "env"} {
			name, _ := v[beside].(string)
			secret = secret || telling(name)
		}
		for name, below := range v {
			switch isValue := name == "value" || name == "default_value" || name == "default" || name == "values"; {
			case secret && isValue, telling(name), isEnvironment(name) && !isText(below):
				v[name] = blank(below)
			default:
				v[name] = r.value(below)
			}
		}
	}
	return v
}

// isEnvironment reports whether the object or list with the name holds
// environment variables, whose values are often secrets.
func isEnvironment(name string) bool {
	return slices.Contains([]string{"environment_variables", "environment", "env"}, strings.ToLower(name))
}

func isText(v any) bool {
	_, ok := v.(string)
	return ok
}

// blank removes every string and number below v.
func blank(v any) any {
	switch v := v.(type) {
	case string:
		if plain(v) {
			return v
		}
		return Mark
	case json.Number:
		return Mark
	case []any:
		for i := range v {
			v[i] = blank(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = blank(v[name])
		}
	}
	return v
}
