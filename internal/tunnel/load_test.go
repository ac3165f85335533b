//go:build !race

package tunnel

import "testing"

// The tests of this file repeat smaller ones with an amount of data for which
// the race detector takes minutes.

func TestDirectIsFoundAndLeftUnderLoad(t *testing.T) { testDirect(t, 3, 8000) }

func TestWindowBeginsAnewFor64MiB(t *testing.T) { testWindow(t, 64<<20) }

func TestLossesOverADistanceFor64MiB(t *testing.T) { testLosses(t, 64<<20) }

func TestRecordsAndDirectPathsFor96MiB(t *testing.T) { testBothDirections(t, 32<<20) }
