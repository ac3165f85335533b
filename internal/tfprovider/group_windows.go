package tfprovider

import (
	"os"
	"os/signal"
)

// ignoreInterrupts lets Terraform, which receives the same signals, finish its
// calls to the provider.
func ignoreInterrupts() { signal.Ignore(os.Interrupt) }

// killGroup does nothing: Windows has no process groups to kill.
func killGroup() {}
