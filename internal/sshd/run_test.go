package sshd

import (
	"bytes"
	"os"
	"testing"
)

// TestDrainOfAShortProcess requires that a drain copies what a process wrote, at whatever moment
// the process exits: also between two steps of the drain.
func TestDrainOfAShortProcess(t *testing.T) {
	for i := range 20_000 {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.WriteString("written"); err != nil {
			t.Fatal(err)
		}
		w.Close()
		d, out := newDrain(r), &bytes.Buffer{}
		go d.copy(out)
		d.finish()
		if out.String() != "written" {
			t.Fatalf("drain %d copied %q", i, out)
		}
	}
}
