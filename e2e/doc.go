// Package e2e has the end-to-end tests. Scripts under testdata run the real binary
// with its built-in PostgreSQL, real Terraform and real agents, as a user does in a
// shell. e2e_test.go defines the commands of scripts in addition to those of
// testscript.
package e2e
