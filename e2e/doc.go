// Package e2e proves the acceptance: scripts under testdata drive the real
// binary with its real built-in PostgreSQL, real Terraform and real agents, as
// a person would at a shell. e2e_test.go has the commands that scripts may use
// beyond those of testscript.
package e2e
