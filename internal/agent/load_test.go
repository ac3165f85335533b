//go:build !race && unix

package agent_test

import "testing"

// The tests of this file repeat smaller ones with an amount of work for which
// the race detector takes minutes.

func TestTenThousandStreams(t *testing.T) { manyStreams(t, 10_000) }

func TestScriptThatPrintsAGigabyte(t *testing.T) { testFlood(t, 1_000_000_000) }
