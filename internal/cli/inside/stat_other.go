//go:build !linux

package inside

import (
	"context"
	"runtime"
)

// container is never around a process here.
type container struct{}

func (m machine) container() (container, bool) { return container{}, false }

func (container) cpu(context.Context) (*amount, error) { return nil, errNoContainer }

func (container) memory() (*amount, error) { return nil, errNoContainer }

// processors is how many there are.
func processors() float64 { return float64(runtime.NumCPU()) }
