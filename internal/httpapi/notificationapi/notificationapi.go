// Package notificationapi serves the endpoints of notifications: inboxes,
// preferences, browsers, templates, settings and dead letters. (NOT-01)
package notificationapi

import (
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
	"github.com/seed-2a7f8fe7/coder/internal/identity"
	"github.com/seed-2a7f8fe7/coder/internal/notification/inbox"
	"github.com/seed-2a7f8fe7/coder/internal/notification/webpush"
)

// API serves notifications. It is safe for concurrent use.
type API struct {
	Inbox    *inbox.Service
	Browsers *webpush.Service
	Identity *identity.Service // finds the users that paths name
}

// Routes returns the routes.
func (a *API) Routes() []rest.Route {
	return slices.Concat(a.adminRoutes(), a.userRoutes(), a.digestRoutes(), a.browserRoutes())
}

func (a *API) userRoutes() []rest.Route {
	const own, preference = codersdk.RBACResourceInboxNotification, codersdk.RBACResourceNotificationPreference
	const read, update = codersdk.RBACActionRead, codersdk.RBACActionUpdate
	selected := []rest.Param{
		{Name: "targets", Type: "string", About: "IDs of objects that the notifications must be about, separated by commas."},
		{Name: "templates", Type: "string", About: "IDs of templates, separated by commas."},
		{Name: "read_status", Type: "string", About: "read, unread or all, the default."},
		{Name: "format", Type: "string", About: "Form of the content: markdown, the default, or plaintext."},
	}
	return []rest.Route{
		{Method: "GET", Path: "/notifications/inbox", Summary: "List the notifications of the signed-in user", Action: read, Resource: own,
			About: "At most 25, the newest first.", Query: append([]rest.Param{
				{Name: "starting_before", Type: "string", About: "ID of the notification after which the page starts."},
			}, selected...), Out: codersdk.ListInboxNotificationsResponse{}, Handler: a.list},
		{Method: "GET", Path: "/notifications/inbox/watch", Summary: "Watch new notifications over a WebSocket", Action: read, Resource: own,
			Query: selected, Handler: a.watch},
		{Method: "PUT", Path: "/notifications/inbox/mark-all-as-read", Summary: "Mark all notifications as read", Action: update, Resource: own,
			Status: http.StatusNoContent, Handler: a.readAll},
		{Method: "PUT", Path: "/notifications/inbox/{id}/read-status", Summary: "Mark a notification as read or unread", Action: update, Resource: own,
			In: codersdk.UpdateInboxNotificationReadStatusRequest{}, Out: codersdk.UpdateInboxNotificationReadStatusResponse{}, Handler: a.setRead},
		{Method: "GET", Path: "/notifications/templates/system", Summary: "List the notifications of the server",
			Out: []codersdk.NotificationTemplate{}, Handler: a.templates(false)},
		{Method: "GET", Path: "/notifications/templates/custom", Summary: "List the notifications whose text comes from users",
			Out: []codersdk.NotificationTemplate{}, Handler: a.templates(true)},
		{Method: "POST", Path: "/notifications/custom", Summary: "Send a notification to the signed-in user",
			Action: codersdk.RBACActionCreate, Resource: own, In: codersdk.CustomNotificationRequest{}, Status: http.StatusNoContent, Handler: a.custom},
		{Method: "GET", Path: "/users/{user}/notifications/preferences", Summary: "List the notification preferences of a user",
			Action: read, Resource: preference, Out: []codersdk.NotificationPreference{}, Handler: a.preferences},
		{Method: "PUT", Path: "/users/{user}/notifications/preferences", Summary: "Update notification preferences of a user",
			Action: update, Resource: preference, In: codersdk.UpdateUserNotificationPreferences{}, Out: []codersdk.NotificationPreference{},
			Handler: a.putPreferences},
	}
}

func (a *API) adminRoutes() []rest.Route {
	const config, message = codersdk.RBACResourceDeploymentConfig, codersdk.RBACResourceNotificationMessage
	const read, update = codersdk.RBACActionRead, codersdk.RBACActionUpdate
	return []rest.Route{
		{Method: "GET", Path: "/notifications/settings", Summary: "Get the settings of all notifications", Action: read, Resource: config,
			Out: codersdk.NotificationsSettings{}, Handler: a.settings},
		{Method: "PUT", Path: "/notifications/settings", Summary: "Pause or resume all notifications", Action: update, Resource: config,
			In: codersdk.NotificationsSettings{}, Out: codersdk.NotificationsSettings{}, Handler: a.putSettings},
		{Method: "GET", Path: "/notifications/dispatch-methods", Summary: "List the methods of notifications",
			Out: []codersdk.NotificationMethodsResponse{}, Handler: a.methods},
		{Method: "PUT", Path: "/notifications/templates/{notification_template}/method", Summary: "Set the method of a notification",
			Action: update, Resource: codersdk.RBACResourceNotificationTemplate, In: codersdk.UpdateNotificationTemplateMethod{}, Handler: a.putMethod},
		{Method: "POST", Path: "/notifications/test", Summary: "Send a test notification to the signed-in user", Action: update, Resource: config,
			Status: http.StatusNoContent, Handler: a.test},
		{Method: "GET", Path: "/notifications/queue", Summary: "Describe the queue of notifications and its dead letters", Action: read, Resource: message,
			Out: codersdk.NotificationStatus{}, Handler: a.status},
		{Method: "POST", Path: "/notifications/queue/{id}/retry", Summary: "Put a dead letter back into the queue", Action: update, Resource: message,
			Status: http.StatusNoContent, Handler: a.retry},
	}
}

// filter reads the query parameters of an inbox.
func filter(r *http.Request) (f inbox.Filter, err error) {
	q := r.URL.Query()
	if f.Targets, err = ids(q.Get("targets"), "targets"); err != nil {
		return f, err
	}
	if f.Templates, err = ids(q.Get("templates"), "templates"); err != nil {
		return f, err
	}
	switch f.ReadStatus = inbox.ReadStatus(q.Get("read_status")); f.ReadStatus {
	case "", inbox.ReadStatusAll, inbox.ReadStatusRead, inbox.ReadStatusUnread:
	default:
		return f, codersdk.Invalid("read_status", "%q must be read, unread or all", rest.Truncate(string(f.ReadStatus), 32))
	}
	switch form := q.Get("format"); form {
	case "", "markdown":
	case "plaintext":
		f.PlainText = true
	default:
		return f, codersdk.Invalid("format", "%q must be markdown or plaintext", rest.Truncate(form, 32))
	}
	f.Before, err = rest.QueryID(r, "starting_before")
	return f, err
}

// ids reads UUIDs separated by commas.
func ids(text, name string) (out []uuid.UUID, err error) {
	if text == "" {
		return nil, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		id, err := uuid.Parse(strings.TrimSpace(part))
		if err != nil || len(out) == 100 {
			return nil, codersdk.Invalid(name, "%q must be at most 100 UUIDs separated by commas", rest.Truncate(text, 64))
		}
		out = append(out, id)
	}
	return out, nil
}

func (a *API) list(w http.ResponseWriter, r *http.Request) error {
	f, err := filter(r)
	if err != nil {
		return err
	}
	out, err := a.Inbox.List(r.Context(), rest.Actor(r), f)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}

func (a *API) readAll(w http.ResponseWriter, r *http.Request) error {
	if err := a.Inbox.ReadAll(r.Context(), rest.Actor(r)); err != nil {
		return err
	}
	return rest.ReplyNoContent(w)
}

func (a *API) setRead(w http.ResponseWriter, r *http.Request) error {
	id, err := rest.PathID(r, "id")
	if err != nil {
		return err
	}
	req, err := rest.Decode[codersdk.UpdateInboxNotificationReadStatusRequest](r)
	if err != nil {
		return err
	}
	out, err := a.Inbox.SetRead(r.Context(), rest.Actor(r), id, req.IsRead)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}

func (a *API) templates(custom bool) rest.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		out, err := a.Inbox.Templates(r.Context(), custom)
		if err != nil {
			return err
		}
		return rest.Reply(w, http.StatusOK, out)
	}
}

func (a *API) custom(w http.ResponseWriter, r *http.Request) error {
	req, err := rest.Decode[codersdk.CustomNotificationRequest](r)
	if err != nil {
		return err
	}
	if err := a.Inbox.Custom(r.Context(), rest.Actor(r), req); err != nil {
		return err
	}
	return rest.ReplyNoContent(w)
}

// user returns the user that the path names.
func (a *API) user(r *http.Request, actor access.Subject) (uuid.UUID, error) {
	u, err := a.Identity.UserByRef(r.Context(), actor, r.PathValue("user"))
	return u.ID, err
}

func (a *API) preferences(w http.ResponseWriter, r *http.Request) error {
	actor := rest.Actor(r)
	user, err := a.user(r, actor)
	if err != nil {
		return err
	}
	out, err := a.Inbox.Preferences(r.Context(), actor, user)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}

func (a *API) putPreferences(w http.ResponseWriter, r *http.Request) error {
	actor := rest.Actor(r)
	user, err := a.user(r, actor)
	if err != nil {
		return err
	}
	req, err := rest.Decode[codersdk.UpdateUserNotificationPreferences](r)
	if err != nil {
		return err
	}
	out, err := a.Inbox.UpdatePreferences(r.Context(), actor, user, req)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}

func (a *API) settings(w http.ResponseWriter, r *http.Request) error {
	out, err := a.Inbox.Settings(r.Context(), rest.Actor(r))
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}

func (a *API) putSettings(w http.ResponseWriter, r *http.Request) error {
	req, err := rest.Decode[codersdk.NotificationsSettings](r)
	if err != nil {
		return err
	}
	changed, err := a.Inbox.PutSettings(r.Context(), rest.Actor(r), req)
	if err != nil {
		return err
	}
	if !changed {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	return rest.Reply(w, http.StatusOK, req)
}

func (a *API) methods(w http.ResponseWriter, _ *http.Request) error {
	return rest.Reply(w, http.StatusOK, []codersdk.NotificationMethodsResponse{a.Inbox.Methods()}) // one per server
}

func (a *API) putMethod(w http.ResponseWriter, r *http.Request) error {
	id, err := rest.PathID(r, "notification_template")
	if err != nil {
		return err
	}
	req, err := rest.Decode[codersdk.UpdateNotificationTemplateMethod](r)
	if err != nil {
		return err
	}
	changed, err := a.Inbox.SetMethod(r.Context(), rest.Actor(r), id, req.Method)
	switch {
	case err != nil:
		return err
	case !changed:
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	return rest.Reply(w, http.StatusOK, codersdk.Response{Message: "Method updated"})
}

func (a *API) test(w http.ResponseWriter, r *http.Request) error {
	if err := a.Inbox.Test(r.Context(), rest.Actor(r)); err != nil {
		return err
	}
	return rest.ReplyNoContent(w)
}

func (a *API) status(w http.ResponseWriter, r *http.Request) error {
	out, err := a.Inbox.Status(r.Context(), rest.Actor(r))
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}

func (a *API) retry(w http.ResponseWriter, r *http.Request) error {
	id, err := rest.PathID(r, "id")
	if err != nil {
		return err
	}
	if err := a.Inbox.Retry(r.Context(), rest.Actor(r), id); err != nil {
		return err
	}
	return rest.ReplyNoContent(w)
}
