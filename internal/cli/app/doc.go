// Package app is the floor that every command stands on: one run of the
// program, the shape of a command, and the ways in which commands read and
// print.
//
// A Run holds the streams, the environment and the global options. A Command
// is a value: its words in the help, its options and a function. An option is
// declared once, with flag, environment variable, YAML key and default in one
// line, and bound to the variable that the command reads; a flag wins over the
// environment, the environment over the file, the file over the default. The
// parser below (urfave/cli, which no other room sees) gets both through a thin
// adapter; help, completion and errors are rendered from the same values, so
// that they cannot disagree.
//
// What a command prints goes through a Listing (tables and JSON), Follow
// (spinners and the log of a job) and the questions Ask, Pick and Confirm; all
// of them behave plainly when there is no terminal. A failure is one line on
// standard error and a non-zero exit status; what went wrong in the call
// itself is made with Failure, and anything else is worded by Describe.
//
// This room links neither server, provisioner, agent nor tunnel: a program
// that holds only some of the families stays small.
package app
