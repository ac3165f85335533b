// Package command is the runtime that every command uses: one run of the
// program, the shape of a command, and its input and output.
//
// A Run holds the streams, the environment and the global options. A Command is
// a value: its help text, its options and a function. Each option is declared
// once, with flag, environment variable, YAML key and default, and bound to the
// variable that the command reads. Flags override the environment, the
// environment overrides the configuration file, and the file overrides the
// default. A thin adapter passes commands and options to the parser
// (urfave/cli), which no other package imports. Help, completion and errors are
// rendered from the same values, so they cannot disagree.
//
// Commands print rows through a Listing (tables and JSON), follow jobs through
// Follow (spinners and logs), and ask questions through Ask, Pick and Confirm.
// Without a terminal all of them fall back to plain text. A failure is one line
// on standard error and a non-zero exit status. Failure creates usage errors;
// Describe renders all other errors for users.
//
// Package command imports neither server, provisioner, agent nor tunnel, so
// that a program with only some of the command groups stays small.
package command
