//go:build !linux

package cage

import (
	"errors"
	"syscall"
)

// Limiter makes nothing here.
type Limiter struct{}

// New says that there is nothing to limit with.
func New(Limits) (*Limiter, error) {
	return nil, errors.New("only Linux has control groups")
}

// Cage limits nothing here.
type Cage struct{}

// Cage gives a cage that limits nothing.
func (l *Limiter) Cage() (*Cage, error) { return nil, nil }

// Hold changes nothing.
func (c *Cage) Hold(a *syscall.SysProcAttr) *syscall.SysProcAttr { return a }

// Exceeded is "".
func (c *Cage) Exceeded() string { return "" }

// Close does nothing.
func (c *Cage) Close() error { return nil }
