//go:build !linux

package sysstat

import (
	"context"
	"runtime"
)

// container does not exist on this system.
type container struct{}

func (m Machine) container() (container, bool) { return container{}, false }

func (container) cpu(context.Context) (*Amount, error) { return nil, errNoContainer }

func (container) memory() (*Amount, error) { return nil, errNoContainer }

// processors returns the number of CPU cores.
func processors() float64 { return float64(runtime.NumCPU()) }
