package identity

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// passcodeTime is how long a passcode counts.
const passcodeTime = 20 * time.Minute

// RequestPasscode sends who forgot their password a passcode to set another.
// The answer is the same for an address that nobody has. (AU-11)
func (s *Service) RequestPasscode(ctx context.Context, o access.Origin, req coder.RequestOneTimePasscodeRequest) error {
	if s.c.SendPasscode == nil {
		return coder.Errorf(coder.CodePrecondition, "This deployment sends no e-mail: ask an administrator to set a new password for you")
	}
	email := strings.TrimSpace(req.Email)
	if err := coder.CheckEmail("email", email); err != nil {
		return err
	}
	if err := s.attempts(ctx, o, "passcode "+strings.ToLower(email)); err != nil {
		return err
	}
	u, err := s.c.Store.UserByEmail(ctx, email)
	if coder.Is(err, coder.CodeNotFound) || err == nil && (u.LoginType != string(coder.LoginTypePassword) || u.Status == string(coder.UserStatusSuspended)) {
		return nil
	}
	if err != nil {
		return err
	}
	passcode := rand.Text()
	err = s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		if err := q.PasscodePut(ctx, u.ID, passcodeHash(u.ID, passcode), s.now().Add(passcodeTime)); err != nil {
			return err
		}
		return audit.Record(ctx, q, access.Subject{UserID: u.ID, Username: u.Username, Origin: o}, audit.Entry{
			Action: coder.AuditActionRequestPasswordReset, ResourceType: coder.ResourceTypeUser, ResourceID: u.ID, Target: u.Username,
		})
	})
	if err != nil {
		return err
	}
	return s.c.SendPasscode(ctx, u.ID, passcode)
}

// ChangePasswordByPasscode sets the password of who has a passcode, which
// counts once. All sessions of the user end.
func (s *Service) ChangePasswordByPasscode(ctx context.Context, o access.Origin, req coder.ChangePasswordWithOneTimePasscodeRequest) error {
	wrong := coder.Errorf(coder.CodeInvalid, "The e-mail or the passcode is wrong, or the passcode has run out; ask for another")
	email := strings.TrimSpace(req.Email)
	switch {
	case email == "":
		return coder.Invalid("email", "an e-mail address is required")
	case req.OneTimePasscode == "":
		return coder.Invalid("one_time_passcode", "the passcode of the e-mail is required")
	}
	if err := CheckPassword("password", req.Password); err != nil {
		return err
	}
	if err := s.attempts(ctx, o, "passcode use "+strings.ToLower(email)); err != nil {
		return err
	}
	u, err := s.c.Store.UserByEmail(ctx, email)
	if err != nil && !coder.Is(err, coder.CodeNotFound) {
		return err
	}
	n, err := s.c.Store.PasscodeTake(ctx, u.ID, passcodeHash(u.ID, req.OneTimePasscode), s.now())
	if err != nil {
		return err
	}
	if n == 0 || u.LoginType != string(coder.LoginTypePassword) || u.Status == string(coder.UserStatusSuspended) {
		return wrong
	}
	return s.setPassword(ctx, access.Subject{UserID: u.ID, Username: u.Username, Origin: o}, u, req.Password, "")
}

// passcodeHash is what is kept of a passcode, which is long and random: whoever
// reads the database cannot use it, and comparing it in the database tells
// nobody anything by its time.
func passcodeHash(user uuid.UUID, passcode string) []byte {
	h := sha256.Sum256([]byte("passcode " + user.String() + " " + strings.ToUpper(strings.TrimSpace(passcode))))
	return h[:]
}
