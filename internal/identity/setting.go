package identity

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// personal returns the user if the actor can do the action on the user's personal data.
func (s *Service) personal(ctx context.Context, actor access.Subject, ref string, action codersdk.RBACAction) (sqlc.User, error) {
	u, err := s.userRow(ctx, s.c.Store.Queries, actor, ref)
	if err != nil {
		return u, err
	}
	return u, actor.Check(action, userObject(u.ID))
}

// Appearance returns a user's appearance settings of the dashboard. (AU-19)
func (s *Service) Appearance(ctx context.Context, actor access.Subject, ref string) (codersdk.UserAppearanceSettings, error) {
	u, err := s.personal(ctx, actor, ref, codersdk.RBACActionReadPersonal)
	return codersdk.UserAppearanceSettings{ThemePreference: u.Theme, TerminalFont: codersdk.TerminalFontName(u.TerminalFont)}, err
}

// UpdateAppearance changes a user's appearance settings.
func (s *Service) UpdateAppearance(
	ctx context.Context,
	actor access.Subject,
	ref string,
	req codersdk.UpdateUserAppearanceSettingsRequest,
) (codersdk.UserAppearanceSettings, error) {
	var none codersdk.UserAppearanceSettings
	u, err := s.personal(ctx, actor, ref, codersdk.RBACActionUpdatePersonal)
	if err != nil {
		return none, err
	}
	if len(req.ThemePreference) > 64 {
		return none, codersdk.Invalid("theme_preference", "is longer than 64 characters")
	}
	if !slices.Contains([]codersdk.TerminalFontName{
		codersdk.TerminalFontNameDefault, codersdk.TerminalFontNameFiraCode, codersdk.TerminalFontNameIbmPlexMono,
		codersdk.TerminalFontNameJetbrainsMono, codersdk.TerminalFontNameSourceCodePro,
	}, req.TerminalFont) {
		return none, codersdk.Invalid("terminal_font", "font %.64q not found", req.TerminalFont)
	}
	_, err = s.c.Store.UpdateUserAppearance(ctx, sqlc.UpdateUserAppearanceParams{
		ID: u.ID, Theme: req.ThemePreference, TerminalFont: string(req.TerminalFont), Now: s.now(),
	})
	return codersdk.UserAppearanceSettings(req), err
}

// Preferences returns a user's preferences. (AU-19)
func (s *Service) Preferences(ctx context.Context, actor access.Subject, ref string) (codersdk.UserPreferenceSettings, error) {
	u, err := s.personal(ctx, actor, ref, codersdk.RBACActionReadPersonal)
	return codersdk.UserPreferenceSettings{TaskNotificationAlertDismissed: u.TaskAlertDismissed}, err
}

// UpdatePreferences changes a user's preferences.
func (s *Service) UpdatePreferences(
	ctx context.Context,
	actor access.Subject,
	ref string,
	req codersdk.UserPreferenceSettings,
) (codersdk.UserPreferenceSettings, error) {
	u, err := s.personal(ctx, actor, ref, codersdk.RBACActionUpdatePersonal)
	if err != nil {
		return codersdk.UserPreferenceSettings{}, err
	}
	_, err = s.c.Store.UpdateUserPreferences(ctx, req.TaskNotificationAlertDismissed, s.now(), u.ID)
	return req, err
}

// LoginType returns a user's login type.
func (s *Service) LoginType(ctx context.Context, actor access.Subject, ref string) (codersdk.UserLoginType, error) {
	u, err := s.personal(ctx, actor, ref, codersdk.RBACActionReadPersonal)
	return codersdk.UserLoginType{LoginType: codersdk.LoginType(u.LoginType)}, err
}

// maxChecks is the maximum number of checks in one call of AuthCheck.
const maxChecks = 1000

// AuthCheck returns the results of permission checks by name. A check of a template or
// workspace by ID considers its organization, owner and access lists; for a missing
// object the result is false. (AU-08)
func (s *Service) AuthCheck(ctx context.Context, actor access.Subject, req codersdk.AuthorizationRequest) (codersdk.AuthorizationResponse, error) {
	if len(req.Checks) > maxChecks {
		return nil, codersdk.Invalid("checks", "at most %d checks are allowed in one request", maxChecks)
	}
	out := codersdk.AuthorizationResponse{}
	read := map[codersdk.AuthorizationObject]access.Object{}
	for name, c := range req.Checks {
		o, known := read[c.Object]
		var err error
		if !known {
			o, err = s.object(ctx, actor, c.Object)
		}
		if codersdk.Is(err, codersdk.CodeNotFound) {
			out[name] = false
			continue
		}
		if err != nil {
			return nil, err
		}
		read[c.Object] = o
		if c.Object.AnyOrg {
			out[name] = actor.CanAnywhere(c.Action, o)
		} else {
			out[name] = actor.Can(c.Action, o)
		}
	}
	return out, nil
}

// object reads the object of a check.
func (s *Service) object(ctx context.Context, actor access.Subject, a codersdk.AuthorizationObject) (access.Object, error) {
	o, err := access.ParseObject(a, actor.UserID)
	if err != nil {
		return o, err
	}
	if o.ID == uuid.Nil {
		return o, nil
	}
	switch o.Type {
	case codersdk.RBACResourceTemplate:
		r, err := s.c.Store.AccessToTemplate(ctx, o.ID)
		o.OrganizationID = r.OrganizationID
		o.UserACL, o.GroupACL = r.UserACL, r.GroupACL
		return o, err
	case codersdk.RBACResourceWorkspace, codersdk.RBACResourceWorkspaceDormant:
		r, err := s.c.Store.AccessToWorkspace(ctx, o.ID)
		o.OrganizationID, o.OwnerID = r.OrganizationID, r.OwnerID
		o.UserACL, o.GroupACL = r.UserACL, r.GroupACL
		return o, err
	case codersdk.RBACResourceUser:
		o.OwnerID = o.ID
	case codersdk.RBACResourceOrganization:
		o.OrganizationID = o.ID
	}
	return o, nil
}
