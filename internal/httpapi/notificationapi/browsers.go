package notificationapi

import (
	"net/http"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
)

func (a *API) browserRoutes() []rest.Route {
	const browser = codersdk.RBACResourceWebpushSubscription
	return []rest.Route{
		{Method: "POST", Path: "/users/{user}/webpush/subscription", Summary: "Subscribe a browser to the notifications of the signed-in user",
			Action: codersdk.RBACActionCreate, Resource: browser, In: codersdk.WebpushSubscription{}, Status: http.StatusNoContent, Handler: a.subscribe},
		{Method: "DELETE", Path: "/users/{user}/webpush/subscription", Summary: "Unsubscribe a browser",
			Action: codersdk.RBACActionDelete, Resource: browser, In: codersdk.DeleteWebpushSubscription{}, Status: http.StatusNoContent, Handler: a.unsubscribe},
		{Method: "POST", Path: "/users/{user}/webpush/test", Summary: "Send a test notification to the browsers of a user",
			Action: codersdk.RBACActionCreate, Resource: browser, Status: http.StatusNoContent, Handler: a.testBrowsers},
	}
}

func (a *API) subscribe(w http.ResponseWriter, r *http.Request) error {
	actor := rest.Actor(r)
	user, err := a.user(r, actor)
	if err != nil {
		return err
	}
	req, err := rest.Decode[codersdk.WebpushSubscription](r)
	if err != nil {
		return err
	}
	if err := a.Browsers.Subscribe(r.Context(), actor, user, req); err != nil {
		return err
	}
	return rest.ReplyNoContent(w)
}

func (a *API) unsubscribe(w http.ResponseWriter, r *http.Request) error {
	actor := rest.Actor(r)
	user, err := a.user(r, actor)
	if err != nil {
		return err
	}
	req, err := rest.Decode[codersdk.DeleteWebpushSubscription](r)
	if err != nil {
		return err
	}
	if err := a.Browsers.Unsubscribe(r.Context(), actor, user, req); err != nil {
		return err
	}
	return rest.ReplyNoContent(w)
}

func (a *API) testBrowsers(w http.ResponseWriter, r *http.Request) error {
	actor := rest.Actor(r)
	user, err := a.user(r, actor)
	if err != nil {
		return err
	}
	if err := a.Browsers.Test(r.Context(), actor, user); err != nil {
		return err
	}
	return rest.ReplyNoContent(w)
}
