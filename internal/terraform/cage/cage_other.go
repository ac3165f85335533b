//go:build !linux

package cage

import (
	"errors"
	"syscall"
)

// Limiter has no effect on this platform.
type Limiter struct{}

// New returns an error: this platform has no control groups.
func New(Limits) (*Limiter, error) {
	return nil, errors.New("control groups exist on Linux only")
}

// Cage limits nothing on this platform.
type Cage struct{}

// Cage returns a cage without limits.
func (l *Limiter) Cage() (*Cage, error) { return nil, nil }

// Hold does nothing.
func (c *Cage) Hold(a *syscall.SysProcAttr) *syscall.SysProcAttr { return a }

// Exceeded returns "".
func (c *Cage) Exceeded() string { return "" }

// Close does nothing.
func (c *Cage) Close() error { return nil }
