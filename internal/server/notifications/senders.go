package notifications

import (
	"context"
	"encoding/json"
	"fmt"
	"html/template"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/mail"
	"github.com/seed-2a7f8fe7/coder/internal/notification"
	"github.com/seed-2a7f8fe7/coder/internal/notification/dispatch"
	"github.com/seed-2a7f8fe7/coder/internal/notification/webpush"
	"github.com/seed-2a7f8fe7/coder/internal/server/base"
	"github.com/seed-2a7f8fe7/coder/internal/webhook"
)

// senders are the methods of this server.
type senders struct {
	base     *base.Base
	config   Config
	mailer   *mail.Mailer    // nil: no email
	webhook  *webhook.Client // nil: no webhook
	browsers *webpush.Service
}

// methods returns the methods that templates can name, and the functions of those
// beside the inbox.
func (s senders) methods() ([]codersdk.NotificationMethod, map[string]dispatch.Send) {
	names, send := []codersdk.NotificationMethod{}, map[string]dispatch.Send{}
	if s.mailer != nil {
		names, send[string(codersdk.NotificationMethodSMTP)] = append(names, codersdk.NotificationMethodSMTP), s.email
	}
	if s.webhook != nil {
		names, send[string(codersdk.NotificationMethodWebhook)] = append(names, codersdk.NotificationMethodWebhook), s.post
	}
	if s.browsers.Enabled() {
		send[dispatch.WebPush] = s.push // users choose it, templates do not
	}
	if !s.config.NoInbox {
		names = append(names, codersdk.NotificationMethodInbox)
	}
	return names, send
}

// emailHTML is the HTML part of an email.
var emailHTML = template.Must(template.New("email").Parse(`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>{{.Title}}</title></head>
<body style="margin:0;padding:24px;font-family:system-ui,sans-serif;font-size:15px;line-height:1.5;color:#1b1f24;background:#ffffff">
<div style="max-width:600px;margin:0 auto">
<h1 style="font-size:20px;line-height:1.3">{{.Title}}</h1>
<p>Hello {{.Name}},</p>
{{.Body}}
{{with .Secret}}<p style="font-size:18px;font-family:monospace">{{.}}</p>
{{end}}{{range .Actions}}<p><a href="{{.URL}}"
style="display:inline-block;padding:8px 16px;border-radius:6px;background:#1b1f24;color:#ffffff;text-decoration:none">{{.Label}}</a></p>
{{end}}<p style="margin-top:32px;font-size:13px;color:#59636e">This email is from {{.Site}}.
{{if .Settings}}<a href="{{.Settings}}">Change which notifications you get</a>{{end}}</p>
</div>
</body>
</html>
`))

// email sends a message as an email of two parts, plain text and HTML.
func (s senders) email(ctx context.Context, m dispatch.Message) (retry bool, err error) {
	if m.Email == "" {
		return false, codersdk.Errorf(codersdk.CodePrecondition, "the user %s has no email address", m.User.Username)
	}
	body, err := notification.HTML(m.Content)
	if err != nil {
		return false, fmt.Errorf("render the email: %w", err)
	}
	name := m.User.Name
	if name == "" {
		name = m.User.Username
	}
	settings := ""
	if !m.Template.Required {
		settings = s.base.AccessURL.JoinPath("settings", "notifications").String()
	}
	var html strings.Builder
	err = emailHTML.Execute(&html, map[string]any{
		"Title": m.Title, "Name": name, "Body": template.HTML(body), //nolint:gosec // the Markdown library escapes it
		"Secret": m.Secret, "Actions": m.Actions, "Site": s.base.AccessURL.Host, "Settings": settings,
	})
	if err != nil {
		return false, fmt.Errorf("render the email: %w", err)
	}
	err = s.mailer.Send(ctx, mail.Message{
		To: m.Email, Subject: m.Title, Text: plainEmail(m, name, s.base.AccessURL.Host, settings), HTML: html.String(), ID: m.ID.String(),
	})
	return !mail.IsPermanent(err), err
}

// plainEmail returns the plain text part of an email.
func plainEmail(m dispatch.Message, name, site, settings string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Hello %s,\n\n%s\n\n", name, notification.Plain(m.Content))
	if m.Secret != "" {
		fmt.Fprintf(&b, "    %s\n\n", m.Secret)
	}
	for _, a := range m.Actions {
		fmt.Fprintf(&b, "%s: %s\n", a.Label, a.URL)
	}
	fmt.Fprintf(&b, "\n--\nThis email is from %s.\n", site)
	if settings != "" {
		fmt.Fprintf(&b, "Change which notifications you get: %s\n", settings)
	}
	return b.String()
}

// hook is the body of a webhook.
type hook struct {
	Version       string      `json:"_version"`
	MessageID     uuid.UUID   `json:"msg_id"`
	Payload       hookPayload `json:"payload"`
	Title         string      `json:"title"`
	TitleMarkdown string      `json:"title_markdown"`
	Body          string      `json:"body"`
	BodyMarkdown  string      `json:"body_markdown"`
}

type hookPayload struct {
	Version          string                             `json:"_version"`
	NotificationName string                             `json:"notification_name"`
	TemplateID       uuid.UUID                          `json:"notification_template_id"`
	UserID           uuid.UUID                          `json:"user_id"`
	UserEmail        string                             `json:"user_email"`
	UserName         string                             `json:"user_name"`
	UserUsername     string                             `json:"user_username"`
	Actions          []codersdk.InboxNotificationAction `json:"actions"`
	Labels           map[string]string                  `json:"labels"`
	Data             json.RawMessage                    `json:"data"`
	Targets          []uuid.UUID                        `json:"targets"`
}

// post sends a message as a webhook.
func (s senders) post(ctx context.Context, m dispatch.Message) (retry bool, err error) {
	body, err := json.Marshal(hook{
		Version: "1.0", MessageID: m.ID, Title: m.Title, TitleMarkdown: notification.EscapeMarkdown(m.Title),
		Body: notification.Plain(m.Content), BodyMarkdown: m.Content,
		Payload: hookPayload{
			Version: "1.0", NotificationName: m.Template.Name, TemplateID: m.Template.ID, UserID: m.User.ID, UserEmail: m.Email,
			UserName: m.User.Name, UserUsername: m.User.Username, Actions: m.Actions, Labels: m.Labels, Data: m.Data, Targets: m.Targets,
		},
	})
	if err != nil {
		return false, fmt.Errorf("encode the webhook: %w", err)
	}
	return s.webhook.Post(ctx, m.ID.String(), body)
}

// push sends a message to a browser.
func (s senders) push(ctx context.Context, m dispatch.Message) (retry bool, err error) {
	gone, retry, err := s.browsers.Push(ctx, m.Subscription, webpush.Payload{
		ID: m.ID, Title: m.Title, Body: notification.Plain(m.Content), Actions: m.Actions,
	})
	if gone {
		return false, dispatch.ErrGone
	}
	return retry, err
}
