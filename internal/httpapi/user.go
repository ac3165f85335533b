package httpapi

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/search"
	"github.com/seed-2a7f8fe7/coder/internal/identity"
	"github.com/seed-2a7f8fe7/coder/internal/identity/credential"
)

// userRoutes are sign-in, users, their roles and settings.
func (a *API) userRoutes() []rest.Route {
	const user = codersdk.RBACResourceUser
	return append([]rest.Route{
		{Method: "GET", Path: "/users/first", Summary: "Check whether the first user exists",
			Auth: rest.AuthPublic, Out: codersdk.Response{}, Handler: a.getFirstUser},
		{Method: "POST", Path: "/users/first", Summary: "Create the first user",
			Auth: rest.AuthPublic, In: codersdk.CreateFirstUserRequest{}, Out: codersdk.CreateFirstUserResponse{}, Status: 201,
			Handler: a.postFirstUser},
		{Method: "POST", Path: "/users/login", Summary: "Sign in with a password",
			Auth: rest.AuthPublic, In: codersdk.LoginWithPasswordRequest{}, Out: codersdk.LoginWithPasswordResponse{}, Status: 201,
			Handler: a.postLogin},
		{Method: "POST", Path: "/users/logout", Summary: "Sign out", Out: codersdk.Response{}, Handler: a.postLogout},
		{Method: "GET", Path: "/users/authmethods", Summary: "List sign-in methods",
			Auth: rest.AuthPublic, Out: codersdk.AuthMethods{}, Handler: a.getAuthMethods},
		{Method: "POST", Path: "/users/validate-password", Summary: "Validate a password",
			Auth: rest.AuthPublic, In: codersdk.ValidateUserPasswordRequest{}, Out: codersdk.ValidateUserPasswordResponse{},
			Handler: a.postValidatePassword},
		{Method: "GET", Path: "/users", Summary: "List users",
			Query: rest.Paged(
				rest.Searched("Part of a username or email, or status:, role:, login_type:, "+
					"github_com_user_id:, service_account:, last_seen_before:, last_seen_after:, created_before:, created_after:."),
				rest.Param{Name: "after_id", Type: "string", About: "Id of the last user of the previous page."},
			),
			Action: codersdk.RBACActionRead, Resource: user, Out: codersdk.GetUsersResponse{}, Handler: a.getUsers},
		{Method: "POST", Path: "/users", Summary: "Create a user",
			Action: codersdk.RBACActionCreate, Resource: user, In: codersdk.CreateUserRequestWithOrgs{}, Out: codersdk.User{}, Status: 201,
			Handler: a.postUser},
		{Method: "GET", Path: "/users/roles", Summary: "List site roles",
			Action: codersdk.RBACActionRead, Resource: codersdk.RBACResourceAssignRole, Out: []codersdk.AssignableRoles{},
			Handler: a.getSiteRoles},
		{Method: "GET", Path: "/users/{user}", Summary: "Get a user",
			Action: codersdk.RBACActionRead, Resource: user, Out: codersdk.User{}, Handler: a.getUser},
		{Method: "DELETE", Path: "/users/{user}", Summary: "Delete a user",
			Action: codersdk.RBACActionDelete, Resource: user, Out: codersdk.Response{}, Handler: a.deleteUser},
		{Method: "PUT", Path: "/users/{user}/profile", Summary: "Update a user's profile",
			Action: codersdk.RBACActionUpdatePersonal, Resource: user, In: codersdk.UpdateUserProfileRequest{}, Out: codersdk.User{},
			Handler: a.putProfile},
		{Method: "PUT", Path: "/users/{user}/password", Summary: "Change a password",
			Action: codersdk.RBACActionUpdatePersonal, Resource: user, In: codersdk.UpdateUserPasswordRequest{}, Status: 204,
			Handler: a.putPassword},
		{Method: "PUT", Path: "/users/{user}/status/activate", Summary: "Activate a user",
			Action: codersdk.RBACActionUpdate, Resource: user, Out: codersdk.User{}, Handler: a.putStatus(codersdk.UserStatusActive)},
		{Method: "PUT", Path: "/users/{user}/status/suspend", Summary: "Suspend a user",
			Action: codersdk.RBACActionUpdate, Resource: user, Out: codersdk.User{}, Handler: a.putStatus(codersdk.UserStatusSuspended)},
		{Method: "GET", Path: "/users/{user}/roles", Summary: "Get a user's site and organization roles",
			Action: codersdk.RBACActionRead, Resource: user, Out: codersdk.UserRoles{}, Handler: a.getUserRoles},
		{Method: "PUT", Path: "/users/{user}/roles", Summary: "Replace a user's site roles",
			Action: codersdk.RBACActionAssign, Resource: codersdk.RBACResourceAssignRole, In: codersdk.UpdateRoles{}, Out: codersdk.User{},
			Handler: a.putRoles},
	}, a.userSettingRoutes()...)
}

// userSettingRoutes are the settings, sign-in method and organizations of a user.
func (a *API) userSettingRoutes() []rest.Route {
	const user = codersdk.RBACResourceUser
	return []rest.Route{
		{Method: "GET", Path: "/users/{user}/gitsshkey", Summary: "Get a user's public Git SSH key",
			Action: codersdk.RBACActionReadPersonal, Resource: user, Out: codersdk.GitSSHKey{}, Handler: a.getGitSSHKey},
		{Method: "PUT", Path: "/users/{user}/gitsshkey", Summary: "Regenerate a user's Git SSH key",
			Action: codersdk.RBACActionUpdatePersonal, Resource: user, Out: codersdk.GitSSHKey{}, Handler: a.putGitSSHKey},
		{Method: "GET", Path: "/users/{user}/login-type", Summary: "Get a user's sign-in method",
			Action: codersdk.RBACActionReadPersonal, Resource: user, Out: codersdk.UserLoginType{}, Handler: a.getLoginType},
		{Method: "GET", Path: "/users/{user}/appearance", Summary: "Get a user's appearance settings",
			Action: codersdk.RBACActionReadPersonal, Resource: user, Out: codersdk.UserAppearanceSettings{}, Handler: a.getAppearance},
		{Method: "PUT", Path: "/users/{user}/appearance", Summary: "Update a user's appearance settings",
			Action: codersdk.RBACActionUpdatePersonal, Resource: user, In: codersdk.UpdateUserAppearanceSettingsRequest{},
			Out: codersdk.UserAppearanceSettings{}, Handler: a.putAppearance},
		{Method: "GET", Path: "/users/{user}/preferences", Summary: "Get a user's preferences",
			Action: codersdk.RBACActionReadPersonal, Resource: user, Out: codersdk.UserPreferenceSettings{}, Handler: a.getPreferences},
		{Method: "PUT", Path: "/users/{user}/preferences", Summary: "Update a user's preferences",
			Action: codersdk.RBACActionUpdatePersonal, Resource: user, In: codersdk.UserPreferenceSettings{},
			Out: codersdk.UserPreferenceSettings{}, Handler: a.putPreferences},
		{Method: "POST", Path: "/users/{user}/convert-login", Summary: "Start changing a user's sign-in method",
			Action: codersdk.RBACActionUpdatePersonal, Resource: user, In: codersdk.ConvertLoginRequest{},
			Out: codersdk.OAuthConversionResponse{}, Status: 201, Handler: a.postConvertLogin},
		{Method: "GET", Path: "/users/{user}/quiet-hours", Summary: "Get a user's quiet hours",
			Action: codersdk.RBACActionReadPersonal, Resource: user, Out: codersdk.UserQuietHoursScheduleResponse{},
			Handler: a.getQuietHours},
		{Method: "PUT", Path: "/users/{user}/quiet-hours", Summary: "Update a user's quiet hours",
			Action: codersdk.RBACActionUpdatePersonal, Resource: user, In: codersdk.UpdateUserQuietHoursScheduleRequest{},
			Out: codersdk.UserQuietHoursScheduleResponse{}, Handler: a.putQuietHours},
		{Method: "GET", Path: "/users/{user}/organizations", Summary: "List a user's organizations",
			Query:  rest.Paged(),
			Action: codersdk.RBACActionRead, Resource: user, Out: []codersdk.Organization{}, Handler: a.getUserOrganizations},
		{Method: "GET", Path: "/users/{user}/organizations/{organizationname}", Summary: "Get an organization of a user",
			Action: codersdk.RBACActionRead, Resource: user, Out: codersdk.Organization{}, Handler: a.getUserOrganization},
	}
}

func (a *API) getFirstUser(w http.ResponseWriter, r *http.Request) error {
	some, err := a.Identity.HasFirstUser(r.Context())
	if err != nil {
		return err
	}
	if !some {
		return codersdk.Errorf(codersdk.CodeNotFound, "No user exists yet; create the first one with coder login or POST /api/v2/users/first")
	}
	return rest.Reply(w, http.StatusOK, codersdk.Response{Message: "The first user exists"})
}

func (a *API) postFirstUser(w http.ResponseWriter, r *http.Request) error {
	req, err := rest.Decode[codersdk.CreateFirstUserRequest](r)
	if err != nil {
		return err
	}
	out, err := a.Identity.CreateFirstUser(r.Context(), a.origin(r), req)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusCreated, out)
}

func (a *API) postLogin(w http.ResponseWriter, r *http.Request) error {
	req, err := rest.Decode[codersdk.LoginWithPasswordRequest](r)
	if err != nil {
		return err
	}
	if err := a.checkSameSite(r); err != nil {
		return err
	}
	out, err := a.Identity.Login(r.Context(), a.origin(r), req)
	if err != nil {
		return err
	}
	a.setSessionCookie(w, out.SessionToken)
	return rest.Reply(w, http.StatusCreated, out)
}

func (a *API) postLogout(w http.ResponseWriter, r *http.Request) error {
	if err := a.Identity.Logout(r.Context(), rest.Actor(r)); err != nil {
		return err
	}
	a.setSessionCookie(w, "")
	return rest.Reply(w, http.StatusOK, codersdk.Response{Message: "You are signed out"})
}

func (a *API) postValidatePassword(w http.ResponseWriter, r *http.Request) error {
	req, err := rest.Decode[codersdk.ValidateUserPasswordRequest](r)
	if err != nil {
		return err
	}
	out := codersdk.ValidateUserPasswordResponse{Valid: true}
	if e, bad := errors.AsType[*codersdk.Error](credential.CheckPassword("password", req.Password)); bad {
		out = codersdk.ValidateUserPasswordResponse{Details: e.Fields[0].Detail}
	}
	return rest.Reply(w, http.StatusOK, out)
}

func (a *API) getUsers(w http.ResponseWriter, r *http.Request) error {
	f, err := userSearch(r)
	if err != nil {
		return err
	}
	out, err := a.Identity.Users(r.Context(), rest.Actor(r), f)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}

// userSearch reads the search terms and the page of a list of users. (AU-09)
func userSearch(r *http.Request) (f identity.UserSearch, err error) {
	t, err := search.Parse(r.URL.Query().Get("q"))
	if err != nil {
		return f, err
	}
	f.Text = t.FreeText()
	if s := t.Text("search"); s != "" {
		f.Text = s
	}
	f.Statuses, f.Roles, f.LoginTypes = t.List("status"), t.List("role"), t.List("login_type")
	if v := t.Text("github_com_user_id"); v != "" {
		id, err := strconv.ParseInt(v, 10, 64)
		if err != nil || id <= 0 {
			t.AddError("github_com_user_id", "%q is not a GitHub user id", rest.Truncate(v, 32))
		}
		f.GitHubID = id
	}
	f.LastSeenBefore, f.LastSeenAfter = t.Time("last_seen_before"), t.Time("last_seen_after")
	f.CreatedBefore, f.CreatedAfter = t.Time("created_before"), t.Time("created_after")
	f.ServiceAccount = t.Boolean("service_account")
	if err := t.Finish(); err != nil {
		return f, err
	}
	if f.AfterID, err = rest.QueryID(r, "after_id"); err != nil {
		return f, err
	}
	f.Limit, f.Offset, err = rest.Page(r)
	return f, err
}

func (a *API) postUser(w http.ResponseWriter, r *http.Request) error {
	req, err := rest.Decode[codersdk.CreateUserRequestWithOrgs](r)
	if err != nil {
		return err
	}
	out, err := a.Identity.CreateUser(r.Context(), rest.Actor(r), req)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusCreated, out)
}

func (a *API) getSiteRoles(w http.ResponseWriter, r *http.Request) error {
	out, err := a.Identity.SiteRoles(rest.Actor(r))
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}

func (a *API) getUser(w http.ResponseWriter, r *http.Request) error {
	out, err := a.pathUser(r)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}

func (a *API) getUserRoles(w http.ResponseWriter, r *http.Request) error {
	return rest.ReplyForUser(w, r, rest.Actor(r), a.Identity.UserRoles)
}

func (a *API) deleteUser(w http.ResponseWriter, r *http.Request) error {
	if err := a.Identity.DeleteUser(r.Context(), rest.Actor(r), r.PathValue("user")); err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, codersdk.Response{Message: "The user is deleted"})
}

func (a *API) putProfile(w http.ResponseWriter, r *http.Request) error {
	return rest.ChangeForUser(w, r, rest.Actor(r), a.Identity.UpdateProfile)
}

func (a *API) putPassword(w http.ResponseWriter, r *http.Request) error {
	req, err := rest.Decode[codersdk.UpdateUserPasswordRequest](r)
	if err != nil {
		return err
	}
	if err := a.Identity.UpdatePassword(r.Context(), rest.Actor(r), r.PathValue("user"), req); err != nil {
		return err
	}
	return rest.ReplyNoContent(w)
}

func (a *API) putStatus(status codersdk.UserStatus) rest.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		out, err := a.Identity.SetStatus(r.Context(), rest.Actor(r), r.PathValue("user"), status)
		if err != nil {
			return err
		}
		return rest.Reply(w, http.StatusOK, out)
	}
}

func (a *API) putRoles(w http.ResponseWriter, r *http.Request) error {
	return rest.ChangeForUser(w, r, rest.Actor(r), a.Identity.UpdateRoles)
}

func (a *API) getGitSSHKey(w http.ResponseWriter, r *http.Request) error {
	return rest.ReplyForUser(w, r, rest.Actor(r), a.Identity.GitSSHKey)
}

func (a *API) putGitSSHKey(w http.ResponseWriter, r *http.Request) error {
	return rest.ReplyForUser(w, r, rest.Actor(r), a.Identity.RegenerateGitSSHKey)
}

func (a *API) getLoginType(w http.ResponseWriter, r *http.Request) error {
	return rest.ReplyForUser(w, r, rest.Actor(r), a.Identity.LoginType)
}

func (a *API) getAppearance(w http.ResponseWriter, r *http.Request) error {
	return rest.ReplyForUser(w, r, rest.Actor(r), a.Identity.Appearance)
}

func (a *API) putAppearance(w http.ResponseWriter, r *http.Request) error {
	return rest.ChangeForUser(w, r, rest.Actor(r), a.Identity.UpdateAppearance)
}

func (a *API) getPreferences(w http.ResponseWriter, r *http.Request) error {
	return rest.ReplyForUser(w, r, rest.Actor(r), a.Identity.Preferences)
}

func (a *API) putPreferences(w http.ResponseWriter, r *http.Request) error {
	return rest.ChangeForUser(w, r, rest.Actor(r), a.Identity.UpdatePreferences)
}

func (a *API) postConvertLogin(w http.ResponseWriter, r *http.Request) error {
	req, err := rest.Decode[codersdk.ConvertLoginRequest](r)
	if err != nil {
		return err
	}
	if !a.signInEnabled(req.ToType) {
		return codersdk.Errorf(codersdk.CodeInvalid, "Sign-in method %.40s is not enabled on this server", req.ToType)
	}
	out, err := a.Identity.ConvertLogin(r.Context(), rest.Actor(r), r.PathValue("user"), req)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusCreated, out)
}

// signInEnabled reports whether the server offers the sign-in method. Types
// that are not external providers are left for the use case to refuse.
func (a *API) signInEnabled(by codersdk.LoginType) bool {
	if a.Login == nil {
		return true
	}
	oidc, github := a.Login.Methods()
	return (by != codersdk.LoginTypeOIDC || oidc.Enabled) && (by != codersdk.LoginTypeGitHub || github.Enabled)
}

func (a *API) getQuietHours(w http.ResponseWriter, r *http.Request) error {
	return rest.ReplyForUser(w, r, rest.Actor(r), a.Identity.QuietHours)
}

func (a *API) putQuietHours(w http.ResponseWriter, r *http.Request) error {
	return rest.ChangeForUser(w, r, rest.Actor(r), a.Identity.UpdateQuietHours)
}

func (a *API) getUserOrganizations(w http.ResponseWriter, r *http.Request) error {
	return rest.ReplyPageForUser(w, r, rest.Actor(r), a.Identity.UserOrganizations)
}

func (a *API) getUserOrganization(w http.ResponseWriter, r *http.Request) error {
	of, err := a.Identity.UserOrganizations(r.Context(), rest.Actor(r), r.PathValue("user"), codersdk.Page{})
	if err != nil {
		return err
	}
	name := r.PathValue("organizationname")
	for _, o := range of {
		if strings.EqualFold(o.Name, name) || o.ID.String() == name || o.IsDefault && name == "default" {
			return rest.Reply(w, http.StatusOK, o)
		}
	}
	return codersdk.NotFound()
}
