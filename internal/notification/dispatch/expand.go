package dispatch

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/notification"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Expand replaces the pending events by notifications until none is left. An event
// that cannot be rendered becomes a dead letter.
func (s *Service) Expand(ctx context.Context) error {
	paused, err := s.paused(ctx)
	if err != nil {
		return err
	}
	sent := false
	for ctx.Err() == nil {
		more, messages, err := s.expandNext(ctx, paused)
		if err != nil {
			return err
		}
		sent = sent || messages
		if !more {
			break
		}
	}
	if sent {
		for _, o := range s.outboxes {
			o.wake()
		}
	}
	return ctx.Err()
}

// expandNext handles the oldest event. more reports whether there was one,
// messages whether it made messages to deliver.
func (s *Service) expandNext(ctx context.Context, paused bool) (more, messages bool, err error) {
	var event sqlc.NotificationEvent
	var users []uuid.UUID
	err = s.Store.Tx(ctx, func(q *sqlc.Queries) error {
		more, messages, users = false, false, nil
		rows, err := q.NotificationEventsForUpdate(ctx, !paused, notification.Unpausable(), 1)
		if err != nil || len(rows) == 0 {
			return err
		}
		more, event = true, rows[0]
		x := expansion{s: s, q: q, event: event}
		if err := x.run(ctx); err != nil {
			return err
		}
		messages, users = x.messages, x.users
		return q.NotificationEventDelete(ctx, event.ID)
	})
	switch {
	case err == nil:
		s.publish(users)
	case more && ctx.Err() == nil && !codersdk.Is(err, codersdk.CodeUnavailable):
		s.Log.Error("cannot notify of an event", "event", event.ID, "template", event.Kind, "error", err)
		return true, false, s.Store.NotificationEventFail(ctx, truncate(err.Error()), event.ID)
	}
	return more, messages, err
}

// publish notifies the watchers of inboxes.
func (s *Service) publish(users []uuid.UUID) {
	if s.Hub == nil || len(users) == 0 {
		return
	}
	topics := make([]string, len(users))
	for i, id := range users {
		topics[i] = notify.Inbox(id)
	}
	s.Hub.Publish(topics...)
}

// expansion is the work on one event in transaction q.
type expansion struct {
	s        *Service
	q        *sqlc.Queries
	event    sqlc.NotificationEvent
	template notification.Template
	facts    sqlc.NotificationFactsRow
	rendered notification.Rendered
	labels   map[string]string
	messages bool
	users    []uuid.UUID // whose inbox changed
}

func (x *expansion) run(ctx context.Context) (err error) {
	var known bool
	if x.template, known = notification.ByID(x.event.Kind); !known {
		return codersdk.Errorf(codersdk.CodeInvalid, "the template is not known to this version of the server")
	}
	if x.facts, err = x.q.NotificationFacts(ctx, x.event.ID); err != nil {
		return err
	}
	ids, err := x.audience(ctx)
	if err != nil || len(ids) == 0 {
		return err
	}
	values, err := x.values()
	if err != nil {
		return err
	}
	if x.rendered, err = x.template.Render(values, x.s.AccessURL); err != nil {
		return err
	}
	recipients, err := x.q.NotificationRecipients(ctx, x.event.Kind, ids)
	if err != nil {
		return err
	}
	method, err := x.method(ctx)
	if err != nil {
		return err
	}
	for _, r := range recipients {
		if err := x.notifyUser(ctx, r, method); err != nil {
			return err
		}
	}
	return nil
}

// audience returns the users whom the event concerns.
func (x *expansion) audience(ctx context.Context) ([]uuid.UUID, error) {
	if len(x.event.Recipients) > 0 {
		return x.event.Recipients, nil
	}
	initiator := uuid.Nil
	if x.event.InitiatorID != nil {
		initiator = *x.event.InitiatorID
	}
	var site []string
	organization := []string{}
	switch x.template.Audience {
	case notification.Owner:
		if x.facts.OwnerIsSystem || x.facts.OwnerID == initiator || x.facts.OwnerID == uuid.Nil {
			return nil, nil
		}
		return []uuid.UUID{x.facts.OwnerID}, nil
	case notification.TemplateAdmins:
		site, organization = []string{access.RoleTemplateAdmin}, []string{access.RoleOrganizationTemplateAdmin, access.RoleOrganizationAdmin}
	case notification.UserAdmins:
		site = []string{access.RoleOwner, access.RoleUserAdmin}
	default:
		return nil, nil
	}
	ids, err := x.q.NotificationAdmins(ctx, site, x.facts.OrganizationID, organization)
	return slices.DeleteFunc(ids, func(id uuid.UUID) bool {
		return id == initiator || x.event.SubjectID != nil && id == *x.event.SubjectID
	}), err
}

// values returns what the template can insert, and keeps the strings as labels.
func (x *expansion) values() (notification.Values, error) {
	f := x.facts
	x.labels = map[string]string{
		"organization": f.Organization, "initiator": f.Initiator,
		"template": f.Template, "template_name": f.Template, "template_display_name": f.TemplateDisplay,
		"template_version_name": f.Version, "template_version_message": f.VersionMessage,
	}
	name := f.Template
	if f.Workspace != "" {
		name = f.Workspace
		x.labels["workspace"], x.labels["workspace_owner_username"] = f.Workspace, f.Owner
	}
	if f.Subject != "" {
		name = f.Subject
		x.labels["account_username"], x.labels["account_name"], x.labels["account_email"] = f.Subject, f.SubjectName, f.SubjectEmail
	}
	x.labels["name"] = name
	if x.event.InitiatorID == nil {
		x.labels["initiator"] = "the server"
	}
	for k, v := range x.event.Labels {
		x.labels[k] = v
	}
	values := notification.Values{"error": "", "deleting_at": "", "reason": ""}
	for k, v := range x.labels {
		values[k] = v
		if v == "" {
			delete(x.labels, k)
		}
	}
	var data any
	if err := json.Unmarshal(x.event.Data, &data); err != nil {
		return nil, fmt.Errorf("decode the data of a notification: %w", err)
	}
	values["data"] = data
	return values, nil
}

// method returns the method beside the inbox, "" for none.
func (x *expansion) method(ctx context.Context) (string, error) {
	rows, err := x.q.NotificationMethods(ctx)
	method := string(x.s.Method)
	for _, r := range rows {
		if r.Kind == x.template.ID {
			method = r.Method
		}
	}
	if x.template.Secret {
		method = string(codersdk.NotificationMethodSMTP)
	}
	if x.s.Senders[method] == nil || x.template.BrowsersOnly {
		method = ""
	}
	return method, err
}

// notifyUser inserts what one recipient gets.
func (x *expansion) notifyUser(ctx context.Context, r sqlc.NotificationRecipientsRow, method string) error {
	t := x.template
	disabled := t.DisabledByDefault
	if r.Disabled != nil {
		disabled = *r.Disabled
	}
	if disabled && !t.Required || r.Status == string(codersdk.UserStatusSuspended) && !t.NotifiesSuspended {
		return nil
	}
	if again, err := x.repeated(ctx, r.ID); err != nil || again {
		return err
	}
	if x.s.Inbox && !t.Secret && !t.BrowsersOnly {
		x.users = append(x.users, r.ID)
		if err := x.q.NotificationInsertInbox(ctx, sqlc.NotificationInsertInboxParams{
			ID: uuid.New(), UserID: r.ID, Kind: t.ID, Targets: x.targets(), Title: x.rendered.Title, Content: x.rendered.Content,
			Icon: x.facts.TemplateIcon, Actions: x.rendered.Actions,
		}); err != nil {
			return err
		}
	}
	var err error
	switch {
	case method == string(codersdk.NotificationMethodSMTP) && r.Daily && !t.Required:
		err = x.q.DigestAdd(ctx, sqlc.DigestAddParams{
			ID: uuid.New(), UserID: r.ID, Title: x.rendered.Title, Content: x.rendered.Content, DueAt: nextDigest(x.s.Now()),
		})
	case method != "":
		err = x.message(ctx, r.ID, method, nil)
	}
	if err != nil {
		return err
	}
	return x.notifyBrowsers(ctx, r.ID)
}

// notifyBrowsers inserts a message for every subscribed browser of a user.
func (x *expansion) notifyBrowsers(ctx context.Context, user uuid.UUID) error {
	if x.template.Secret || x.s.Senders[WebPush] == nil {
		return nil
	}
	browsers, err := x.q.WebpushOfUser(ctx, user)
	if err != nil {
		return err
	}
	for _, b := range browsers {
		if err := x.message(ctx, user, WebPush, &b.ID); err != nil {
			return err
		}
	}
	return nil
}

// message inserts a message to a user.
func (x *expansion) message(ctx context.Context, user uuid.UUID, method string, subscription *uuid.UUID) error {
	x.messages = true
	return x.q.NotificationInsertMessage(ctx, sqlc.NotificationInsertMessageParams{
		ID: uuid.New(), UserID: user, Kind: x.template.ID, Method: method, Title: x.rendered.Title, Content: x.rendered.Content,
		Actions: x.rendered.Actions, Labels: x.labels, Data: x.event.Data, Targets: x.targets(), SubscriptionID: subscription,
	})
}

// targets returns the objects that the event is about.
func (x *expansion) targets() []uuid.UUID {
	out := []uuid.UUID{}
	for _, id := range []*uuid.UUID{x.event.WorkspaceID, x.event.TemplateID, x.event.SubjectID} {
		if id != nil {
			out = append(out, *id)
		}
	}
	return out
}

// repeated records that the user gets the notification, and reports whether the
// user got the same one shortly before.
func (x *expansion) repeated(ctx context.Context, user uuid.UUID) (bool, error) {
	quiet := x.template.QuietPeriod()
	if quiet <= 0 {
		return false, nil
	}
	digest := sha256.New()
	for _, part := range []string{x.template.ID.String(), fmt.Sprint(x.targets()), x.rendered.Title, x.rendered.Content} {
		fmt.Fprintf(digest, "%d %s\n", len(part), part)
	}
	_, err := x.q.NotificationRepeat(ctx, user, digest.Sum(nil), seconds(quiet))
	if codersdk.Is(err, codersdk.CodeNotFound) {
		return true, nil
	}
	return false, err
}

func seconds(d time.Duration) float64 { return d.Seconds() }

// truncate bounds a stored error.
func truncate(text string) string {
	const longest = 1000
	if len(text) > longest {
		text = text[:longest]
	}
	return text
}
