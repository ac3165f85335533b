// Package cage bounds what the processes of one job may take of a machine, by a
// control group of Linux for each job. Children begin inside of it, so nothing
// that they start can be outside, and closing the cage kills what is left.
//
// Groups that hand limits out hold no processes themselves: New moves this
// process into a group of its own beside those of the jobs. It needs version 2
// of control groups and a group that may be written; elsewhere New says why not.
package cage

// Limits of one job. The zero value is none.
type Limits struct {
	MemoryBytes int64
	CPUs        float64 // processors' worth of time, such as 1.5
}
