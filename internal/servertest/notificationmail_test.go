package servertest_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/mail"
	"github.com/seed-2a7f8fe7/coder/internal/server"
	"github.com/seed-2a7f8fe7/coder/internal/servertest"
	"github.com/seed-2a7f8fe7/coder/internal/smtptest"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// refusals is a mail server that answers the attempts of each recipient with errors, and
// then accepts.
type refusals struct {
	*smtptest.Server
	mu       sync.Mutex
	answers  map[string][]error // by recipient
	attempts map[string]int
}

func newRefusals(t *testing.T, answers map[string][]error) *refusals {
	r := &refusals{answers: answers, attempts: map[string]int{}}
	r.Server = smtptest.New(t, func(m smtptest.Message) error {
		r.mu.Lock()
		defer r.mu.Unlock()
		if m.Data == "" != strings.HasPrefix(m.To, "rcpt") { // those are answered at RCPT, the others after DATA
			return nil
		}
		r.attempts[m.To]++
		if n := r.attempts[m.To]; n <= len(r.answers[m.To]) {
			return r.answers[m.To][n-1]
		}
		return nil
	})
	return r
}

// TestAnswersOfMailServers: permanent refusals are dead letters at once, and temporary
// ones are retried, whether the server refuses the recipient or the message.
func TestAnswersOfMailServers(t *testing.T) {
	permanent, temporary := smtptest.Refuse(550, "mailbox unavailable"), smtptest.Refuse(451, "try again later")
	full := smtptest.Refuse(452, "insufficient storage")
	answers := map[string][]error{
		"rcpt-gone@example.com":   {permanent},
		"data-gone@example.com":   {smtptest.Refuse(554, "no spam")},
		"rcpt-later@example.com":  {temporary, full},
		"data-later@example.com":  {temporary, full},
		"data-worse@example.com":  {temporary, permanent},
		"data-always@example.com": {temporary, full, temporary},
		"data-well@example.com":   nil,
	}
	box := newRefusals(t, answers)
	s := servertest.Start(t, func(c *server.Config) {
		c.Provisioning.Daemons = 0
		c.Sessions.Mail = mail.Config{From: "coder@example.com", Smarthost: box.Address}
		c.Notifications.MaxAttempts, c.Notifications.Retry, c.Notifications.Fetch = 3, 1, 100*time.Millisecond
	})
	for address := range answers {
		name, _, _ := strings.Cut(address, "@")
		user, _ := s.Member(t, name)
		must(t, user.PostCustomNotification(t.Context(), codersdk.CustomNotificationRequest{
			Content: &codersdk.CustomNotificationContent{Title: "Tests passed", Message: "All."},
		}))
	}
	status := testwait.Value(t, "every email is sent or a dead letter", func() codersdk.NotificationStatus {
		status, err := s.Client.NotificationQueue(t.Context())
		must(t, err)
		return status
	}, func(s codersdk.NotificationStatus) bool {
		return s.WaitingEvents+s.WaitingMessages == 0 && len(box.Accepted()) >= 3
	}, testwait.Every(100*time.Millisecond))

	dead := map[string]codersdk.NotificationDelivery{}
	for _, f := range status.Failed {
		dead[f.Username] = f
	}
	for name, want := range map[string]struct {
		attempts int
		reason   string
	}{"rcpt-gone": {1, "mailbox unavailable"}, "data-gone": {1, "no spam"}, "data-worse": {2, "mailbox unavailable"}, "data-always": {3, "try again later"}} {
		if got := dead[name]; got.Attempts != want.attempts || !strings.Contains(got.Error, want.reason) {
			t.Errorf("the dead letter to %s is %+v, want %+v", name, got, want)
		}
	}
	accepted := map[string]int{}
	for _, m := range box.Accepted() {
		accepted[m.To]++
	}
	box.mu.Lock()
	defer box.mu.Unlock()
	for name, attempts := range map[string]int{"rcpt-later": 3, "data-later": 3, "data-well": 1} {
		to := name + "@example.com"
		if accepted[to] != 1 || box.attempts[to] != attempts {
			t.Errorf("%s: accepted %d times after %d attempts", name, accepted[to], box.attempts[to])
		}
	}
	if len(dead) != 4 || len(accepted) != 3 {
		t.Errorf("%d dead letters, %d accepted", len(dead), len(accepted))
	}
}
