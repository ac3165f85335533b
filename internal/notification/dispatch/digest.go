package dispatch

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
	"github.com/seed-2a7f8fe7/coder/internal/notification"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

const (
	// DigestHour is the hour, in UTC, at which daily emails are sent.
	DigestHour = 8
	// maxDigest bounds the notifications that a daily email shows.
	maxDigest = 50
)

// nextDigest returns the next time of daily emails after now.
func nextDigest(now time.Time) time.Time {
	now = now.UTC()
	at := time.Date(now.Year(), now.Month(), now.Day(), DigestHour, 0, 0, 0, time.UTC)
	if !at.After(now) {
		at = at.AddDate(0, 0, 1)
	}
	return at
}

func (s *Service) collectForEver(ctx context.Context) {
	lifecycle.Poll(ctx, s.Fetch, nil, func(ctx context.Context) (bool, error) { //nolint:errcheck // ends with ctx
		if err := s.Collect(ctx); err != nil && ctx.Err() == nil {
			s.Log.Warn("cannot collect the notifications of daily emails; retrying", "error", err)
		}
		return false, nil
	})
}

// Collect replaces the due notifications of each user with daily emails by one message.
func (s *Service) Collect(ctx context.Context) error {
	if paused, err := s.paused(ctx); err != nil || paused {
		return err
	}
	for more := true; more && ctx.Err() == nil; {
		if err := s.Store.Tx(ctx, func(q *sqlc.Queries) (err error) {
			more, err = s.collectNext(ctx, q)
			return err
		}); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// collectNext handles one user. more reports whether there was one.
func (s *Service) collectNext(ctx context.Context, q *sqlc.Queries) (more bool, err error) {
	users, err := q.DigestDueUser(ctx)
	if err != nil || len(users) == 0 {
		return false, err
	}
	rows, err := q.DigestTake(ctx, users[0])
	if err != nil || len(rows) == 0 { // another server handled the user before the lock
		return err == nil, err
	}
	m := sqlc.NotificationInsertMessageParams{
		ID: uuid.New(), UserID: users[0], Kind: notification.Digest, Method: string(codersdk.NotificationMethodSMTP),
		Title: fmt.Sprintf("%d notifications", len(rows)), Content: digest(rows), Labels: map[string]string{}, Data: []byte(`{}`), Targets: []uuid.UUID{},
		Actions: []codersdk.InboxNotificationAction{{Label: "View notifications", URL: s.AccessURL.JoinPath("notifications").String()}},
	}
	if len(rows) == 1 {
		m.Title = rows[0].Title
	}
	return true, q.NotificationInsertMessage(ctx, m)
}

// digest returns the text of a daily email, Markdown.
func digest(rows []sqlc.DigestTakeRow) string {
	if len(rows) == 1 {
		return rows[0].Content
	}
	var b strings.Builder
	for _, r := range rows[:min(len(rows), maxDigest)] {
		fmt.Fprintf(&b, "**%s**\n\n%s\n\n", notification.EscapeMarkdown(r.Title), r.Content)
	}
	if more := len(rows) - maxDigest; more > 0 {
		fmt.Fprintf(&b, "Number of further notifications: %d\n", more)
	}
	return b.String()
}
