package identity

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/netip"
	"time"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// attempt counts one of burst attempts at something, which come back one per
// every, for all servers of the deployment together; or it says how long to
// wait. What is counted is kept under a hash, and forgotten when it counts for
// nothing any more, so a flood of keys fills nothing for long.
func (s *Service) attempt(ctx context.Context, what string, every time.Duration, burst int) error {
	now := s.now()
	wait, err := s.c.Store.LoginAttempt(ctx, sqlc.LoginAttemptParams{
		Key: attemptKey(what), Now: now, Until: now.Add(every), AtMost: now.Add(time.Duration(burst) * every),
	})
	if err != nil {
		return fmt.Errorf("count the attempt: %w", err)
	}
	if wait > 0 {
		return tooOften(time.Duration(wait) * time.Millisecond)
	}
	return nil
}

// attempts counts one for the address and one for the account.
func (s *Service) attempts(ctx context.Context, o access.Origin, account string) error {
	if err := s.attempt(ctx, "address "+network(o.IP), addressWhile, triesPerAddress); err != nil {
		return err
	}
	return s.attempt(ctx, account, accountWhile, triesPerAccount)
}

// network is whose address it is: of IPv6, the network that one customer has.
func network(ip netip.Addr) string {
	ip = ip.Unmap().WithZone("")
	if p, err := ip.Prefix(64); err == nil && ip.Is6() {
		return p.String()
	}
	return ip.String()
}

func attemptKey(what string) []byte {
	h := sha256.Sum256([]byte("attempt " + what))
	return h[:]
}

func tooOften(wait time.Duration) error {
	seconds := (wait + time.Second - 1) / time.Second
	unit := "seconds"
	if seconds == 1 {
		unit = "second"
	}
	return coder.Errorf(coder.CodeRateLimited, "Too many attempts; wait %d %s and try again", seconds, unit)
}

// PurgeAttempts forgets attempts that count for nothing any more, and passcodes
// that have run out. It tells how many attempts.
func (s *Service) PurgeAttempts(ctx context.Context) (int64, error) {
	if _, err := s.c.Store.PasscodesForget(ctx, s.now()); err != nil {
		return 0, err
	}
	return s.c.Store.LoginAttemptsPurge(ctx, s.now())
}
