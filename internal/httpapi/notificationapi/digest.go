package notificationapi

import (
	"net/http"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
	"github.com/seed-2a7f8fe7/coder/internal/notification/inbox"
)

func (a *API) digestRoutes() []rest.Route {
	const preference = codersdk.RBACResourceNotificationPreference
	return []rest.Route{
		{Method: "GET", Path: "/users/{user}/notifications/digest", Summary: "Get whether a user gets one email a day",
			Action: codersdk.RBACActionRead, Resource: preference, Out: inbox.NotificationDigest{}, Handler: a.digest},
		{Method: "PUT", Path: "/users/{user}/notifications/digest", Summary: "Set whether a user gets one email a day",
			Action: codersdk.RBACActionUpdate, Resource: preference, In: inbox.UpdateNotificationDigest{}, Out: inbox.NotificationDigest{},
			Handler: a.putDigest},
	}
}

func (a *API) digest(w http.ResponseWriter, r *http.Request) error {
	actor := rest.Actor(r)
	user, err := a.user(r, actor)
	if err != nil {
		return err
	}
	out, err := a.Inbox.Digest(r.Context(), actor, user)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}

func (a *API) putDigest(w http.ResponseWriter, r *http.Request) error {
	actor := rest.Actor(r)
	user, err := a.user(r, actor)
	if err != nil {
		return err
	}
	req, err := rest.Decode[inbox.UpdateNotificationDigest](r)
	if err != nil {
		return err
	}
	out, err := a.Inbox.UpdateDigest(r.Context(), actor, user, req)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}
