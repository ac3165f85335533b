package tfprovider

import (
	"os"
	"os/signal"
)

// ignoreInterrupts lets Terraform, which gets the same signals, finish its
// talk with the provider.
func ignoreInterrupts() { signal.Ignore(os.Interrupt) }

// killGroup does nothing: Windows has no process groups to kill.
func killGroup() {}
