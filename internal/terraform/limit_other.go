//go:build !linux

package terraform

import (
	"errors"
	"syscall"
)

type limiter struct{}

func newLimiter(Limits) (*limiter, error) {
	return nil, errors.New("only Linux has control groups")
}

// cage is the control group of one job; a nil one limits nothing.
type cage struct{}

func (l *limiter) cage() (*cage, error) { return nil, nil }

func (c *cage) hold(a *syscall.SysProcAttr) *syscall.SysProcAttr { return a }

func (c *cage) exceeded() string { return "" }

func (c *cage) close() error { return nil }
