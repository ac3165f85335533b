// Package archtest holds the house rules as tests: which package may import
// which, who may use which library, how large things may grow, and that every
// package states what it is. ARCHITECTURE.md shows the same table; a test keeps
// the two alike. It has no code of its own outside of tests.
package archtest
