package postgres

import "time"

// SetLockWaits sets how long the attempts to migrate wait for a lock, and returns a function that resets it.
func SetLockWaits(waits ...time.Duration) (reset func()) {
	before := lockWaits
	lockWaits = waits
	return func() { lockWaits = before }
}
