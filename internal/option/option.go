// Package option declares the options of commands. Each option is declared
// once, with its flag, environment variable, YAML key, default and the variable
// that receives its value. Flags override the environment, the environment
// overrides the configuration file, and the file overrides the default. An
// Option implements the flag interface of the command line parser.
package option

import (
	"strings"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// Origin is the source of an option's value. Later constants override earlier
// ones.
type Origin string

const (
	FromDefault     Origin = "default"
	FromFile        Origin = "yaml"
	FromEnvironment Origin = "env"
	FromFlag        Origin = "flag"
)

// Option is one setting of a command: its flag, environment variable, YAML key,
// default and target. It implements cli.Flag.
type Option struct {
	Flag     string
	Letter   string
	Variable string // environment variable
	Key      string // YAML key, dotted
	Initial  string // default, in the form of the documentation
	Text     string // description
	Topic    string // heading in the help of a command with many options
	Hidden   bool
	Refusal  string // reason why the option accepts only its default; "" for an option that works
	exact    bool   // Refusal applies to false and empty values too
	local    bool   // not inherited by subcommands
	after    string // flag of the option behind which Arrange puts this one
	standard string // the default, in the form of Value.Get
	Value    Value
	Origin   Origin
}

func newOption(flag, text string, v Value) *Option {
	return &Option{Flag: flag, Text: text, Value: v, Origin: FromDefault}
}

// Short sets the one-letter form of the flag.
func (o *Option) Short(letter string) *Option { o.Letter = letter; return o }

// Env sets the environment variable.
func (o *Option) Env(name string) *Option { o.Variable = name; return o }

// YAML sets the dotted key in a configuration file.
func (o *Option) YAML(key string) *Option { o.Key = key; return o }

// Def sets the default, in the form of the documentation.
func (o *Option) Def(v string) *Option { o.Initial = v; return o }

// As sets the name of the option's type.
func (o *Option) As(kind string) *Option { o.Value.Kind = kind; return o }

// Hide hides the option from the help.
func (o *Option) Hide() *Option { o.Hidden = true; return o }

// Refuse marks the option as one of a missing feature. The option is hidden and
// accepts only its default or an "off" value. why names the missing feature and
// what to do instead. CheckRefused reports the refused values.
func (o *Option) Refuse(why string) *Option { o.Refusal = why; return o.Hide() }

// RefuseOther marks the option as one that accepts only its default. Unlike
// after Refuse the option stays in the help, whose text must state the
// restriction.
func (o *Option) RefuseOther(why string) *Option { o.Refusal, o.exact = why, true; return o }

// OnlyHere makes the option local: subcommands do not inherit it.
func (o *Option) OnlyHere() *Option { o.local = true; return o }

// Put sets a value from one origin. The first value from a new origin replaces
// the previous value; further values of a list are appended.
func (o *Option) Put(from Origin, s string) error {
	if o.Origin != from || o.Value.Single {
		o.Value.clear()
	}
	if err := o.Value.set(s); err != nil {
		return codersdk.Errorf(codersdk.CodeInvalid, "%s: %s", o.nameIn(from), err)
	}
	o.Origin = from
	return nil
}

// nameIn returns the option's name at an origin: its flag, variable or key.
func (o *Option) nameIn(from Origin) string {
	switch from {
	case FromEnvironment:
		return "$" + o.Variable
	case FromFile:
		return o.Key
	case FromDefault, FromFlag:
	}
	return "--" + o.Flag
}

// FromEnv sets the value from the option's environment variable, unless a flag
// was given. An empty variable counts as unset.
func (o *Option) FromEnv(env map[string]string) error {
	if o.Variable == "" || o.Origin == FromFlag || env[o.Variable] == "" {
		return nil
	}
	return o.Put(FromEnvironment, env[o.Variable])
}

// Given reports whether the value is not the default.
func (o *Option) Given() bool { return o.Origin != FromDefault }

// The methods below implement cli.Flag.

// Names returns the flag and its letter.
func (o *Option) Names() []string {
	if o.Letter == "" {
		return []string{o.Flag}
	}
	return []string{o.Flag, o.Letter}
}

// PreParse sets the default.
func (o *Option) PreParse() error {
	if o.Given() {
		return nil
	}
	if o.Initial != "" {
		if err := o.Put(FromDefault, o.Initial); err != nil {
			return err
		}
	}
	o.standard = o.Value.Get()
	return nil
}

// PostParse does nothing: invoke reads the environment.
func (o *Option) PostParse() error { return nil }

// Set sets the value from the command line.
func (o *Option) Set(_, s string) error { return o.Put(FromFlag, s) }

// Get returns the value as text.
func (o *Option) Get() any { return o.Value.Get() }

// IsSet reports whether the value is not the default.
func (o *Option) IsSet() bool { return o.Given() }

// IsLocal reports whether subcommands do not inherit the flag.
func (o *Option) IsLocal() bool { return o.local }

// IsBoolFlag reports whether the flag needs no value.
func (o *Option) IsBoolFlag() bool { return o.Value.Kind == "bool" }

// String returns the option as the help page shows it.
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
