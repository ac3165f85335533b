package cli

import (
	"strings"

	"github.com/seed-2a7f8fe7/coder"
)

// origin says where the value of an option came from; a later one wins.
type origin string

const (
	fromDefault     origin = "default"
	fromFile        origin = "yaml"
	fromEnvironment origin = "env"
	fromFlag        origin = "flag"
)

// option is one setting of a command, declared once: its flag, environment
// variable, YAML key and default, and the place that its value goes to. It is
// a flag of the parser by itself.
type option struct {
	flag     string
	letter   string
	variable string // environment variable
	key      string // YAML key, dotted
	initial  string // default, as the documentation writes it
	text     string // description
	topic    string // heading in the help of a command with many options
	hidden   bool
	local    bool // not taken by the commands below
	value    value
	origin   origin
}

func newOption(flag, text string, v value) *option {
	return &option{flag: flag, text: text, value: v, origin: fromDefault}
}

func (o *option) short(letter string) *option { o.letter = letter; return o }
func (o *option) env(name string) *option     { o.variable = name; return o }
func (o *option) yaml(key string) *option     { o.key = key; return o }
func (o *option) def(v string) *option        { o.initial = v; return o }
func (o *option) kind(k string) *option       { o.value.kind = k; return o }
func (o *option) hide() *option               { o.hidden = true; return o }
func (o *option) onlyHere() *option           { o.local = true; return o }

// set takes a value from one place; the first from a new place replaces what
// was there, and further ones add to a list.
func (o *option) set(from origin, s string) error {
	if o.origin != from || o.value.single {
		o.value.clear()
	}
	if err := o.value.set(s); err != nil {
		where := "--" + o.flag
		switch from {
		case fromEnvironment:
			where = "$" + o.variable
		case fromFile:
			where = o.key
		case fromDefault, fromFlag:
		}
		return coder.Errorf(coder.CodeInvalid, "%s: %s", where, err)
	}
	o.origin = from
	return nil
}

// fromEnvironment takes the value of the option's variable unless a flag was
// given. An empty variable counts as unset.
func (o *option) fromEnvironment(env map[string]string) error {
	if o.variable == "" || o.origin == fromFlag || env[o.variable] == "" {
		return nil
	}
	return o.set(fromEnvironment, env[o.variable])
}

// isSet says that somebody gave a value.
func (o *option) isSet() bool { return o.origin != fromDefault }

// The parser's interface of a flag.

// Names gives the flag and its letter.
func (o *option) Names() []string {
	if o.letter == "" {
		return []string{o.flag}
	}
	return []string{o.flag, o.letter}
}

// PreParse puts the default in place.
func (o *option) PreParse() error {
	if o.initial == "" || o.isSet() {
		return nil
	}
	return o.set(fromDefault, o.initial)
}

// PostParse has nothing to do: the environment is read by invoke.
func (o *option) PostParse() error { return nil }

// Set takes a value from the command line.
func (o *option) Set(_, s string) error { return o.set(fromFlag, s) }

// Get gives the value as text.
func (o *option) Get() any { return o.value.get() }

// IsSet says that somebody gave a value.
func (o *option) IsSet() bool { return o.isSet() }

// IsLocal says whether the commands below do without the flag.
func (o *option) IsLocal() bool { return o.local }

// IsBoolFlag says that the flag needs no value.
func (o *option) IsBoolFlag() bool { return o.value.kind == "bool" }

// String gives the option as help names it.
func (o *option) String() string {
	s := "    "
	if o.letter != "" {
		s = "-" + o.letter + ", "
	}
	s += "--" + o.flag
	switch {
	case o.value.kind == "bool":
	case len(o.value.choices) > 0 && len(o.value.choices) <= 4:
		s += " " + strings.Join(o.value.choices, "|")
	case len(o.value.choices) > 0:
		s += " choice"
		if !o.value.single {
			s += ",..."
		}
	default:
		s += " " + o.value.kind
	}
	return s
}
