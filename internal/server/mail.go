package server

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/internal/mail"
	"github.com/seed-2a7f8fe7/coder/internal/telemetry"
)

// Mail is how e-mail is sent.
type Mail = mail.Config

// mailer makes what sends e-mail; nil: nothing does.
func (s *Server) mailer() (*mail.Mailer, error) {
	if s.c.Mail.Smarthost == "" {
		return nil, nil
	}
	c := s.c.Mail
	c.Log = s.log.With(telemetry.NameKey, "mail")
	return mail.New(c)
}

// passcodes gives what writes to people who forgot their password; nil where
// nothing sends e-mail. (AU-11)
func (s *Server) passcodes(m *mail.Mailer) func(ctx context.Context, userID uuid.UUID, passcode string) error {
	if m == nil {
		return nil
	}
	return func(ctx context.Context, userID uuid.UUID, passcode string) error {
		u, err := s.db.store.UserByID(ctx, userID)
		if err != nil {
			return err
		}
		m.Post(mail.Message{
			To:      u.Email,
			Subject: "Your passcode for " + s.accessURL.Host,
			Text: fmt.Sprintf(`Hello %s,

somebody, you we hope, wants to set a new password for your account at
%s. This passcode allows it, once, for 20 minutes:

    %s

Give it at %s

If it was not you, there is nothing to do: your password stays as it is.
`, u.Username, s.accessURL, passcode, s.accessURL.JoinPath("reset-password")),
		})
		return nil
	}
}
