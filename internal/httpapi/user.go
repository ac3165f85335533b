package httpapi

import (
	"errors"
	"net/http"
	"strings"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/identity"
)

// userRoutes are logging in, users, their roles and settings.
func (a *API) userRoutes() []Route {
	const user = coder.RBACResourceUser
	return []Route{
		{Method: "GET", Path: "/users/first", Summary: "Whether the first user exists", Auth: AuthPublic, Out: coder.Response{}, Handler: a.getFirstUser},
		{Method: "POST", Path: "/users/first", Summary: "Make the first user", Auth: AuthPublic, In: coder.CreateFirstUserRequest{}, Out: coder.CreateFirstUserResponse{}, Status: 201, Handler: a.postFirstUser},
		{Method: "POST", Path: "/users/login", Summary: "Log in with a password", Auth: AuthPublic, In: coder.LoginWithPasswordRequest{}, Out: coder.LoginWithPasswordResponse{}, Status: 201, Handler: a.postLogin},
		{Method: "POST", Path: "/users/logout", Summary: "End the session", Out: coder.Response{}, Handler: a.postLogout},
		{Method: "GET", Path: "/users/authmethods", Summary: "The ways to log in", Auth: AuthPublic, Out: coder.AuthMethods{}, Handler: a.getAuthMethods},
		{Method: "POST", Path: "/users/validate-password", Summary: "Whether a password is good enough", Auth: AuthPublic, In: coder.ValidateUserPasswordRequest{}, Out: coder.ValidateUserPasswordResponse{}, Handler: a.postValidatePassword},
		{Method: "GET", Path: "/users", Summary: "List users", Query: paged(searched("Part of a name or address, and status:, role:, login_type:, last_seen_before:, last_seen_after:, created_before:, created_after:."), Param{"after_id", "string", "The last user of the page before."}), Action: coder.RBACActionRead, Resource: user, Out: coder.GetUsersResponse{}, Handler: a.getUsers},
		{Method: "POST", Path: "/users", Summary: "Make a user", Action: coder.RBACActionCreate, Resource: user, In: coder.CreateUserRequestWithOrgs{}, Out: coder.User{}, Status: 201, Handler: a.postUser},
		{Method: "GET", Path: "/users/roles", Summary: "The site roles", Action: coder.RBACActionRead, Resource: coder.RBACResourceAssignRole, Out: []coder.AssignableRoles{}, Handler: a.getSiteRoles},
		{Method: "GET", Path: "/users/{user}", Summary: "One user", Action: coder.RBACActionRead, Resource: user, Out: coder.User{}, Handler: a.getUser},
		{Method: "DELETE", Path: "/users/{user}", Summary: "Delete a user", Action: coder.RBACActionDelete, Resource: user, Out: coder.Response{}, Handler: a.deleteUser},
		{Method: "PUT", Path: "/users/{user}/profile", Summary: "Change names", Action: coder.RBACActionUpdatePersonal, Resource: user, In: coder.UpdateUserProfileRequest{}, Out: coder.User{}, Handler: a.putProfile},
		{Method: "PUT", Path: "/users/{user}/password", Summary: "Change a password", Action: coder.RBACActionUpdatePersonal, Resource: user, In: coder.UpdateUserPasswordRequest{}, Status: 204, Handler: a.putPassword},
		{Method: "PUT", Path: "/users/{user}/status/activate", Summary: "Activate a user", Action: coder.RBACActionUpdate, Resource: user, Out: coder.User{}, Handler: a.putStatus(coder.UserStatusActive)},
		{Method: "PUT", Path: "/users/{user}/status/suspend", Summary: "Suspend a user", Action: coder.RBACActionUpdate, Resource: user, Out: coder.User{}, Handler: a.putStatus(coder.UserStatusSuspended)},
		{Method: "GET", Path: "/users/{user}/roles", Summary: "A user's site roles", Action: coder.RBACActionRead, Resource: user, Out: coder.User{}, Handler: a.getUser},
		{Method: "PUT", Path: "/users/{user}/roles", Summary: "Replace a user's site roles", Action: coder.RBACActionAssign, Resource: coder.RBACResourceAssignRole, In: coder.UpdateRoles{}, Out: coder.User{}, Handler: a.putRoles},
		{Method: "GET", Path: "/users/{user}/gitsshkey", Summary: "The public half of a user's git key", Action: coder.RBACActionReadPersonal, Resource: user, Out: coder.GitSSHKey{}, Handler: a.getGitSSHKey},
		{Method: "PUT", Path: "/users/{user}/gitsshkey", Summary: "Make a new git key", Action: coder.RBACActionUpdatePersonal, Resource: user, Out: coder.GitSSHKey{}, Handler: a.putGitSSHKey},
		{Method: "GET", Path: "/users/{user}/login-type", Summary: "How a user logs in", Action: coder.RBACActionReadPersonal, Resource: user, Out: coder.UserLoginType{}, Handler: a.getLoginType},
		{Method: "GET", Path: "/users/{user}/appearance", Summary: "How the dashboard looks for a user", Action: coder.RBACActionReadPersonal, Resource: user, Out: coder.UserAppearanceSettings{}, Handler: a.getAppearance},
		{Method: "PUT", Path: "/users/{user}/appearance", Summary: "Change how the dashboard looks", Action: coder.RBACActionUpdatePersonal, Resource: user, In: coder.UpdateUserAppearanceSettingsRequest{}, Out: coder.UserAppearanceSettings{}, Handler: a.putAppearance},
		{Method: "GET", Path: "/users/{user}/preferences", Summary: "A user's preferences", Action: coder.RBACActionReadPersonal, Resource: user, Out: coder.UserPreferenceSettings{}, Handler: a.getPreferences},
		{Method: "PUT", Path: "/users/{user}/preferences", Summary: "Change preferences", Action: coder.RBACActionUpdatePersonal, Resource: user, In: coder.UserPreferenceSettings{}, Out: coder.UserPreferenceSettings{}, Handler: a.putPreferences},
		{Method: "POST", Path: "/users/{user}/convert-login", Summary: "Begin to log in another way", Action: coder.RBACActionUpdatePersonal, Resource: user, In: coder.ConvertLoginRequest{}, Out: coder.OAuthConversionResponse{}, Status: 201, Handler: a.postConvertLogin},
		{Method: "GET", Path: "/users/{user}/quiet-hours", Summary: "When a user's workspaces may be stopped", Action: coder.RBACActionReadPersonal, Resource: user, Out: coder.UserQuietHoursScheduleResponse{}, Handler: a.getQuietHours},
		{Method: "PUT", Path: "/users/{user}/quiet-hours", Summary: "Say when one's workspaces may be stopped", Action: coder.RBACActionUpdatePersonal, Resource: user, In: coder.UpdateUserQuietHoursScheduleRequest{}, Out: coder.UserQuietHoursScheduleResponse{}, Handler: a.putQuietHours},
		{Method: "GET", Path: "/users/{user}/organizations", Summary: "A user's organizations", Query: paged(), Action: coder.RBACActionRead, Resource: user, Out: []coder.Organization{}, Handler: a.getUserOrganizations},
		{Method: "GET", Path: "/users/{user}/organizations/{organizationname}", Summary: "One of a user's organizations", Action: coder.RBACActionRead, Resource: user, Out: coder.Organization{}, Handler: a.getUserOrganization},
	}
}

func (a *API) getFirstUser(w http.ResponseWriter, r *http.Request) error {
	some, err := a.Identity.HasFirstUser(r.Context())
	if err != nil {
		return err
	}
	if !some {
		return coder.Errorf(coder.CodeNotFound, "There is no user yet; make the first with coder login or POST /api/v2/users/first")
	}
	return reply(w, http.StatusOK, coder.Response{Message: "The first user exists"})
}

func (a *API) postFirstUser(w http.ResponseWriter, r *http.Request) error {
	req, err := decode[coder.CreateFirstUserRequest](r)
	if err != nil {
		return err
	}
	out, err := a.Identity.CreateFirstUser(r.Context(), a.origin(r), req)
	if err != nil {
		return err
	}
	return reply(w, http.StatusCreated, out)
}

func (a *API) postLogin(w http.ResponseWriter, r *http.Request) error {
	req, err := decode[coder.LoginWithPasswordRequest](r)
	if err != nil {
		return err
	}
	if err := a.sameSite(r); err != nil {
		return err
	}
	out, err := a.Identity.Login(r.Context(), a.origin(r), req)
	if err != nil {
		return err
	}
	a.setSession(w, out.SessionToken)
	return reply(w, http.StatusCreated, out)
}

func (a *API) postLogout(w http.ResponseWriter, r *http.Request) error {
	if err := a.Identity.Logout(r.Context(), a.actor(r)); err != nil {
		return err
	}
	a.setSession(w, "")
	return reply(w, http.StatusOK, coder.Response{Message: "You are logged out"})
}

func (a *API) postValidatePassword(w http.ResponseWriter, r *http.Request) error {
	req, err := decode[coder.ValidateUserPasswordRequest](r)
	if err != nil {
		return err
	}
	out := coder.ValidateUserPasswordResponse{Valid: true}
	if e, bad := errors.AsType[*coder.Error](identity.CheckPassword("password", req.Password)); bad {
		out = coder.ValidateUserPasswordResponse{Details: e.Fields[0].Detail}
	}
	return reply(w, http.StatusOK, out)
}

func (a *API) getUsers(w http.ResponseWriter, r *http.Request) error {
	f, err := userSearch(r)
	if err != nil {
		return err
	}
	out, err := a.Identity.Users(r.Context(), a.actor(r), f)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, out)
}

// userSearch reads the search and page of a list of users. (AU-09)
func userSearch(r *http.Request) (f identity.UserSearch, err error) {
	t, err := search(r.URL.Query().Get("q"))
	if err != nil {
		return f, err
	}
	f.Text = t.word()
	if s := t.text("search"); s != "" {
		f.Text = s
	}
	f.Statuses, f.Roles, f.LoginTypes = t.texts("status"), t.texts("role"), t.texts("login_type")
	f.LastSeenBefore, f.LastSeenAfter = t.time("last_seen_before"), t.time("last_seen_after")
	f.CreatedBefore, f.CreatedAfter = t.time("created_before"), t.time("created_after")
	if err := t.done(); err != nil {
		return f, err
	}
	if f.AfterID, err = queryID(r, "after_id"); err != nil {
		return f, err
	}
	f.Limit, f.Offset, err = page(r)
	return f, err
}

func (a *API) postUser(w http.ResponseWriter, r *http.Request) error {
	req, err := decode[coder.CreateUserRequestWithOrgs](r)
	if err != nil {
		return err
	}
	out, err := a.Identity.CreateUser(r.Context(), a.actor(r), req)
	if err != nil {
		return err
	}
	return reply(w, http.StatusCreated, out)
}

func (a *API) getSiteRoles(w http.ResponseWriter, r *http.Request) error {
	out, err := a.Identity.SiteRoles(a.actor(r))
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, out)
}

func (a *API) getUser(w http.ResponseWriter, r *http.Request) error {
	out, err := a.pathUser(r)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, out)
}

func (a *API) deleteUser(w http.ResponseWriter, r *http.Request) error {
	if err := a.Identity.DeleteUser(r.Context(), a.actor(r), r.PathValue("user")); err != nil {
		return err
	}
	return reply(w, http.StatusOK, coder.Response{Message: "The user is deleted"})
}

func (a *API) putProfile(w http.ResponseWriter, r *http.Request) error {
	return change(w, r, a.actor(r), a.Identity.UpdateProfile)
}

func (a *API) putPassword(w http.ResponseWriter, r *http.Request) error {
	req, err := decode[coder.UpdateUserPasswordRequest](r)
	if err != nil {
		return err
	}
	if err := a.Identity.UpdatePassword(r.Context(), a.actor(r), r.PathValue("user"), req); err != nil {
		return err
	}
	return done(w)
}

func (a *API) putStatus(status coder.UserStatus) HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		out, err := a.Identity.SetStatus(r.Context(), a.actor(r), r.PathValue("user"), status)
		if err != nil {
			return err
		}
		return reply(w, http.StatusOK, out)
	}
}

func (a *API) putRoles(w http.ResponseWriter, r *http.Request) error {
	return change(w, r, a.actor(r), a.Identity.UpdateRoles)
}

func (a *API) getGitSSHKey(w http.ResponseWriter, r *http.Request) error {
	return show(w, r, a.actor(r), a.Identity.GitSSHKey)
}

func (a *API) putGitSSHKey(w http.ResponseWriter, r *http.Request) error {
	return show(w, r, a.actor(r), a.Identity.RegenerateGitSSHKey)
}

func (a *API) getLoginType(w http.ResponseWriter, r *http.Request) error {
	return show(w, r, a.actor(r), a.Identity.LoginType)
}

func (a *API) getAppearance(w http.ResponseWriter, r *http.Request) error {
	return show(w, r, a.actor(r), a.Identity.Appearance)
}

func (a *API) putAppearance(w http.ResponseWriter, r *http.Request) error {
	return change(w, r, a.actor(r), a.Identity.UpdateAppearance)
}

func (a *API) getPreferences(w http.ResponseWriter, r *http.Request) error {
	return show(w, r, a.actor(r), a.Identity.Preferences)
}

func (a *API) putPreferences(w http.ResponseWriter, r *http.Request) error {
	return change(w, r, a.actor(r), a.Identity.UpdatePreferences)
}

func (a *API) postConvertLogin(w http.ResponseWriter, r *http.Request) error {
	req, err := decode[coder.ConvertLoginRequest](r)
	if err != nil {
		return err
	}
	out, err := a.Identity.ConvertLogin(r.Context(), a.actor(r), r.PathValue("user"), req)
	if err != nil {
		return err
	}
	return reply(w, http.StatusCreated, out)
}

func (a *API) getQuietHours(w http.ResponseWriter, r *http.Request) error {
	return show(w, r, a.actor(r), a.Identity.QuietHours)
}

func (a *API) putQuietHours(w http.ResponseWriter, r *http.Request) error {
	return change(w, r, a.actor(r), a.Identity.UpdateQuietHours)
}

func (a *API) getUserOrganizations(w http.ResponseWriter, r *http.Request) error {
	return showPage(w, r, a.actor(r), a.Identity.UserOrganizations)
}

func (a *API) getUserOrganization(w http.ResponseWriter, r *http.Request) error {
	of, err := a.Identity.UserOrganizations(r.Context(), a.actor(r), r.PathValue("user"), coder.Page{})
	if err != nil {
		return err
	}
	name := r.PathValue("organizationname")
	for _, o := range of {
		if strings.EqualFold(o.Name, name) || o.ID.String() == name || o.IsDefault && name == "default" {
			return reply(w, http.StatusOK, o)
		}
	}
	return coder.NotFound()
}
