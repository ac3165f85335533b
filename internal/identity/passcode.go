package identity

import (
	"context"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/identity/credential"
	"github.com/seed-2a7f8fe7/coder/internal/notification"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// RequestPasscode enqueues an email with a one-time passcode to a user who forgot the
// password. The response is the same for unknown addresses. (AU-11)
func (s *Service) RequestPasscode(ctx context.Context, o access.Origin, req codersdk.RequestOneTimePasscodeRequest) error {
	if !s.c.SendsEmail {
		return codersdk.Errorf(codersdk.CodePrecondition, "This deployment does not send email. Ask an administrator to reset your password.")
	}
	email := strings.TrimSpace(req.Email)
	if err := codersdk.CheckEmail("email", email); err != nil {
		return err
	}
	if err := s.attempts.CountRequest(ctx, o.IP, "passcode "+strings.ToLower(email)); err != nil {
		return err
	}
	u, err := s.c.Store.UserByEmail(ctx, email)
	if codersdk.Is(err, codersdk.CodeNotFound) ||
		err == nil && (u.LoginType != string(codersdk.LoginTypePassword) || u.Status == string(codersdk.UserStatusSuspended)) {
		return nil
	}
	if err != nil {
		return err
	}
	err = s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		if err := notification.Enqueue(ctx, q, notification.Event{
			Template: notification.PasswordReset, Recipients: []uuid.UUID{u.ID}, UserID: u.ID, InitiatorID: u.ID,
		}); err != nil {
			return err
		}
		return audit.Record(ctx, q, access.Subject{UserID: u.ID, Username: u.Username, Origin: o}, audit.Entry{
			Action: codersdk.AuditActionRequestPasswordReset, ResourceType: codersdk.ResourceTypeUser, ResourceID: u.ID, Target: u.Username,
		})
	})
	if err == nil && s.c.Hub != nil {
		s.c.Hub.Publish(notify.Kind(string(codersdk.RBACResourceNotificationMessage)))
	}
	return err
}

// ChangePasswordByPasscode sets the password of the user with a passcode, which is
// valid once. All sessions of the user end.
func (s *Service) ChangePasswordByPasscode(ctx context.Context, o access.Origin, req codersdk.ChangePasswordWithOneTimePasscodeRequest) error {
	wrong := codersdk.Errorf(codersdk.CodeInvalid, "The email or the passcode is wrong, or the passcode has expired. Request a new one.")
	email := strings.TrimSpace(req.Email)
	switch {
	case email == "":
		return codersdk.Invalid("email", "an email address is required")
	case req.OneTimePasscode == "":
		return codersdk.Invalid("one_time_passcode", "the passcode from the email is required")
	}
	if err := credential.CheckPassword("password", req.Password); err != nil {
		return err
	}
	if err := s.attempts.CountRequest(ctx, o.IP, "passcode use "+strings.ToLower(email)); err != nil {
		return err
	}
	u, err := s.c.Store.UserByEmail(ctx, email)
	if err != nil && !codersdk.Is(err, codersdk.CodeNotFound) {
		return err
	}
	n, err := s.c.Store.PasscodeTake(ctx, u.ID, credential.HashPasscode(u.ID, req.OneTimePasscode), s.now())
	if err != nil {
		return err
	}
	if n == 0 || u.LoginType != string(codersdk.LoginTypePassword) || u.Status == string(codersdk.UserStatusSuspended) {
		return wrong
	}
	return s.setPassword(ctx, access.Subject{UserID: u.ID, Username: u.Username, Origin: o}, u, req.Password, "")
}

// PurgeAttempts deletes attempts that no longer count and expired passcodes, and
// returns the number of deleted attempts.
func (s *Service) PurgeAttempts(ctx context.Context) (int64, error) {
	if _, err := s.c.Store.PasscodesForget(ctx, s.now()); err != nil {
		return 0, err
	}
	return s.attempts.Purge(ctx)
}
