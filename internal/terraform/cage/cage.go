// Package cage limits the CPU and memory of the processes of one job with a
// Linux control group per job. Children start inside the group, so all their
// descendants are in it, and closing the cage kills those that are left.
//
// A group that distributes limits must not contain processes: New moves this
// process into a group beside those of the jobs. It requires version 2 of
// control groups and write access to a group; otherwise New returns why.
package cage

// Limits of one job. The zero value means no limits.
type Limits struct {
	MemoryBytes int64
	CPUs        float64 // processors' worth of time, such as 1.5
}
