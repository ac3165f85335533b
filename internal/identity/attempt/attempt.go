// Package attempt limits attempts to sign in and to use passcodes, over all servers of a
// deployment. (AU-01)
package attempt

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/netip"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Limits of attempts: a burst, then one more per period.
const (
	AddressBurst, AddressPeriod = 60, time.Second
	AccountBurst, AccountPeriod = 20, 5 * time.Second
)

// Kind is a kind of attempts that count together, with their limit.
type Kind struct {
	name   string
	period time.Duration
	burst  int
}

// ByAddress is the kind of all attempts from a client's address. The addresses of an IPv6
// network of one customer, a /64, count together.
func ByAddress(ip netip.Addr) Kind {
	return Kind{"address " + network(ip), AddressPeriod, AddressBurst}
}

// ByAccount is the kind of all attempts for an account. The name also states the purpose:
// other names count apart.
func ByAccount(name string) Kind { return Kind{name, AccountPeriod, AccountBurst} }

// key returns the stored hash of the kind.
func (k Kind) key() []byte {
	h := sha256.Sum256([]byte("attempt " + k.name))
	return h[:]
}

// network returns the network of an address.
func network(ip netip.Addr) string {
	ip = ip.Unmap().WithZone("")
	if p, err := ip.Prefix(64); err == nil && ip.Is6() {
		return p.String()
	}
	return ip.String()
}

// Counter counts attempts in the database. It stores a hash of the kind until the attempts
// no longer count, which bounds the table. It is safe for concurrent use.
type Counter struct {
	Store *postgres.Store
	Now   func() time.Time
}

// Count counts one attempt. Without one left the error is CodeRateLimited and states the
// wait.
func (c *Counter) Count(ctx context.Context, k Kind) error {
	now := c.Now()
	wait, err := c.Store.LoginAttempt(ctx, sqlc.LoginAttemptParams{
		Key: k.key(), Now: now, Until: now.Add(k.period), AtMost: now.Add(time.Duration(k.burst) * k.period),
	})
	if err != nil {
		return fmt.Errorf("count the attempt: %w", err)
	}
	return limited(time.Duration(wait) * time.Millisecond)
}

// CountRequest counts one attempt for the client's address and one for the account.
func (c *Counter) CountRequest(ctx context.Context, ip netip.Addr, account string) error {
	if err := c.Count(ctx, ByAddress(ip)); err != nil {
		return err
	}
	return c.Count(ctx, ByAccount(account))
}

// Check returns the same error as Count, but counts nothing.
func (c *Counter) Check(ctx context.Context, k Kind) error {
	now := c.Now()
	wait, err := c.Store.LoginAttemptWait(ctx, sqlc.LoginAttemptWaitParams{
		Key: k.key(), Now: now, Until: now.Add(k.period), AtMost: now.Add(time.Duration(k.burst) * k.period),
	})
	if err != nil {
		return fmt.Errorf("read the attempts: %w", err)
	}
	return limited(time.Duration(wait) * time.Millisecond)
}

// Forget resets the count of a kind.
func (c *Counter) Forget(ctx context.Context, k Kind) error {
	return c.Store.LoginAttemptsForget(ctx, k.key())
}

// Purge deletes attempts that no longer count, and returns their number.
func (c *Counter) Purge(ctx context.Context) (int64, error) {
	return c.Store.LoginAttemptsPurge(ctx, c.Now())
}

// limited returns the error for a wait; nil if there is none.
func limited(wait time.Duration) error {
	if wait <= 0 {
		return nil
	}
	seconds := (wait + time.Second - 1) / time.Second
	unit := "seconds"
	if seconds == 1 {
		unit = "second"
	}
	return codersdk.Errorf(codersdk.CodeRateLimited, "Too many attempts; wait %d %s and try again", seconds, unit).WithRetryAfter(wait)
}
