// Package option declares the settings of commands: each once, with its flag,
// environment variable, YAML key, default and the variable its value goes to.
// A flag wins over the environment, the environment over the file, the file
// over the default. An Option is a flag of the command line parser by itself.
package option

import (
	"strings"

	"github.com/seed-2a7f8fe7/coder"
)

// Origin says where the value of an option came from; a later one wins.
type Origin string

// The origins.
const (
	FromDefault     Origin = "default"
	FromFile        Origin = "yaml"
	FromEnvironment Origin = "env"
	FromFlag        Origin = "flag"
)

// Option is one setting of a command, declared once: its flag, environment
// variable, YAML key and default, and the place that its value goes to. It is
// a flag of the parser by itself.
type Option struct {
	Flag     string
	Letter   string
	Variable string // environment variable
	Key      string // YAML key, dotted
	Initial  string // default, as the documentation writes it
	Text     string // description
	Topic    string // heading in the help of a command with many options
	Hidden   bool
	local    bool // not taken by the commands below
	Value    Value
	Origin   Origin
}

func newOption(flag, text string, v Value) *Option {
	return &Option{Flag: flag, Text: text, Value: v, Origin: FromDefault}
}

// Short gives the flag a letter.
func (o *Option) Short(letter string) *Option { o.Letter = letter; return o }

// Env names the environment variable.
func (o *Option) Env(name string) *Option { o.Variable = name; return o }

// YAML names the key in a configuration file, dotted.
func (o *Option) YAML(key string) *Option { o.Key = key; return o }

// Def gives the default, as the documentation writes it.
func (o *Option) Def(v string) *Option { o.Initial = v; return o }

// As gives the type another name.
func (o *Option) As(kind string) *Option { o.Value.Kind = kind; return o }

// Hide keeps the option out of the help.
func (o *Option) Hide() *Option { o.Hidden = true; return o }

// OnlyHere keeps the option from the commands below.
func (o *Option) OnlyHere() *Option { o.local = true; return o }

// Put takes a value from one place; the first from a new place replaces what
// was there, and further ones add to a list.
func (o *Option) Put(from Origin, s string) error {
	if o.Origin != from || o.Value.Single {
		o.Value.clear()
	}
	if err := o.Value.set(s); err != nil {
		where := "--" + o.Flag
		switch from {
		case FromEnvironment:
			where = "$" + o.Variable
		case FromFile:
			where = o.Key
		case FromDefault, FromFlag:
		}
		return coder.Errorf(coder.CodeInvalid, "%s: %s", where, err)
	}
	o.Origin = from
	return nil
}

// FromEnv takes the value of the option's variable unless a flag was
// given. An empty variable counts as unset.
func (o *Option) FromEnv(env map[string]string) error {
	if o.Variable == "" || o.Origin == FromFlag || env[o.Variable] == "" {
		return nil
	}
	return o.Put(FromEnvironment, env[o.Variable])
}

// Given says that somebody gave a value.
func (o *Option) Given() bool { return o.Origin != FromDefault }

// The parser's interface of a flag.

// Names gives the flag and its letter.
func (o *Option) Names() []string {
	if o.Letter == "" {
		return []string{o.Flag}
	}
	return []string{o.Flag, o.Letter}
}

// PreParse puts the default in place.
func (o *Option) PreParse() error {
	if o.Initial == "" || o.Given() {
		return nil
	}
	return o.Put(FromDefault, o.Initial)
}

// PostParse has nothing to do: the environment is read by invoke.
func (o *Option) PostParse() error { return nil }

// Set takes a value from the command line.
func (o *Option) Set(_, s string) error { return o.Put(FromFlag, s) }

// Get gives the value as text.
func (o *Option) Get() any { return o.Value.Get() }

// IsSet says that somebody gave a value.
func (o *Option) IsSet() bool { return o.Given() }

// IsLocal says whether the commands below do without the flag.
func (o *Option) IsLocal() bool { return o.local }

// IsBoolFlag says that the flag needs no value.
func (o *Option) IsBoolFlag() bool { return o.Value.Kind == "bool" }

// String gives the option as help names it.
func (o *Option) String() string {
	s := "    "
	if o.Letter != "" {
		s = "-" + o.Letter + ", "
	}
	s += "--" + o.Flag
	switch {
	case o.Value.Kind == "bool":
	case len(o.Value.Choices) > 0 && len(o.Value.Choices) <= 4:
		s += " " + strings.Join(o.Value.Choices, "|")
	case len(o.Value.Choices) > 0:
		s += " choice"
		if !o.Value.Single {
			s += ",..."
		}
	default:
		s += " " + o.Value.Kind
	}
	return s
}
