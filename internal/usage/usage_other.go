//go:build !linux

package usage

import (
	"context"
	"runtime"
)

// container is never around a process here.
type container struct{}

func (m Machine) container() (container, bool) { return container{}, false }

func (container) cpu(context.Context) (*Amount, error) { return nil, errNoContainer }

func (container) memory() (*Amount, error) { return nil, errNoContainer }

// processors is how many there are.
func processors() float64 { return float64(runtime.NumCPU()) }
