package identity

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// personal finds a user on whose personal things the actor may do the action.
func (s *Service) personal(ctx context.Context, actor access.Subject, ref string, action coder.RBACAction) (sqlc.User, error) {
	u, err := s.userRow(ctx, s.c.Store.Queries, actor, ref)
	if err != nil {
		return u, err
	}
	return u, actor.Check(action, userObject(u.ID))
}

// Appearance gives how a user likes the dashboard to look. (AU-19)
func (s *Service) Appearance(ctx context.Context, actor access.Subject, ref string) (coder.UserAppearanceSettings, error) {
	u, err := s.personal(ctx, actor, ref, coder.RBACActionReadPersonal)
	return coder.UserAppearanceSettings{ThemePreference: u.Theme, TerminalFont: coder.TerminalFontName(u.TerminalFont)}, err
}

// UpdateAppearance changes how a user likes the dashboard to look.
func (s *Service) UpdateAppearance(ctx context.Context, actor access.Subject, ref string, req coder.UpdateUserAppearanceSettingsRequest) (coder.UserAppearanceSettings, error) {
	var none coder.UserAppearanceSettings
	u, err := s.personal(ctx, actor, ref, coder.RBACActionUpdatePersonal)
	if err != nil {
		return none, err
	}
	if len(req.ThemePreference) > 64 {
		return none, coder.Invalid("theme_preference", "is longer than 64 characters")
	}
	if !slices.Contains([]coder.TerminalFontName{
		coder.TerminalFontNameDefault, coder.TerminalFontNameFiraCode, coder.TerminalFontNameIbmPlexMono,
		coder.TerminalFontNameJetbrainsMono, coder.TerminalFontNameSourceCodePro,
	}, req.TerminalFont) {
		return none, coder.Invalid("terminal_font", "there is no font %.64q", req.TerminalFont)
	}
	_, err = s.c.Store.UpdateUserAppearance(ctx, sqlc.UpdateUserAppearanceParams{
		ID: u.ID, Theme: req.ThemePreference, TerminalFont: string(req.TerminalFont), Now: s.now(),
	})
	return coder.UserAppearanceSettings(req), err
}

// Preferences gives a user's small settings. (AU-19)
func (s *Service) Preferences(ctx context.Context, actor access.Subject, ref string) (coder.UserPreferenceSettings, error) {
	u, err := s.personal(ctx, actor, ref, coder.RBACActionReadPersonal)
	return coder.UserPreferenceSettings{TaskNotificationAlertDismissed: u.TaskAlertDismissed}, err
}

// UpdatePreferences changes a user's small settings.
func (s *Service) UpdatePreferences(ctx context.Context, actor access.Subject, ref string, req coder.UserPreferenceSettings) (coder.UserPreferenceSettings, error) {
	u, err := s.personal(ctx, actor, ref, coder.RBACActionUpdatePersonal)
	if err != nil {
		return coder.UserPreferenceSettings{}, err
	}
	_, err = s.c.Store.UpdateUserPreferences(ctx, req.TaskNotificationAlertDismissed, s.now(), u.ID)
	return req, err
}

// LoginType says how a user logs in.
func (s *Service) LoginType(ctx context.Context, actor access.Subject, ref string) (coder.UserLoginType, error) {
	u, err := s.personal(ctx, actor, ref, coder.RBACActionReadPersonal)
	return coder.UserLoginType{LoginType: coder.LoginType(u.LoginType)}, err
}

// maxChecks bounds the questions of one call of AuthCheck.
const maxChecks = 1000

// AuthCheck answers permission questions by their names. A question about a
// template or workspace by its id is answered with its organization, owner and
// access lists; one about something absent is answered no. (AU-08)
func (s *Service) AuthCheck(ctx context.Context, actor access.Subject, req coder.AuthorizationRequest) (coder.AuthorizationResponse, error) {
	if len(req.Checks) > maxChecks {
		return nil, coder.Invalid("checks", "at most %d at once", maxChecks)
	}
	out := coder.AuthorizationResponse{}
	for name, c := range req.Checks {
		o, err := s.object(ctx, actor, c.Object)
		if coder.Is(err, coder.CodeNotFound) {
			out[name] = false
			continue
		}
		if err != nil {
			return nil, err
		}
		if c.Object.AnyOrg {
			out[name] = actor.CanAnywhere(c.Action, o)
		} else {
			out[name] = actor.Can(c.Action, o)
		}
	}
	return out, nil
}

// object reads what a question is about.
func (s *Service) object(ctx context.Context, actor access.Subject, a coder.AuthorizationObject) (access.Object, error) {
	o := access.Object{Type: a.ResourceType}
	if _, known := access.Actions[a.ResourceType]; !known && a.ResourceType != coder.RBACResourceAny {
		return o, coder.Invalid("resource_type", "there is no resource type %.64q", a.ResourceType)
	}
	for _, f := range []struct {
		name, text string
		id         *uuid.UUID
	}{{"owner_id", a.OwnerID, &o.OwnerID}, {"organization_id", a.OrganizationID, &o.OrganizationID}, {"resource_id", a.ResourceID, &o.ID}} {
		if f.text == "" {
			continue
		}
		if f.name == "owner_id" && f.text == "me" {
			*f.id = actor.UserID
			continue
		}
		id, err := uuid.Parse(f.text)
		if err != nil {
			return o, coder.Invalid(f.name, "%.64q is not a UUID", f.text)
		}
		*f.id = id
	}
	if o.ID == uuid.Nil {
		return o, nil
	}
	switch o.Type {
	case coder.RBACResourceTemplate:
		r, err := s.c.Store.AccessToTemplate(ctx, o.ID)
		o.OrganizationID = r.OrganizationID
		o.UserACL, o.GroupACL = r.UserACL, r.GroupACL
		return o, err
	case coder.RBACResourceWorkspace, coder.RBACResourceWorkspaceDormant:
		r, err := s.c.Store.AccessToWorkspace(ctx, o.ID)
		o.OrganizationID, o.OwnerID = r.OrganizationID, r.OwnerID
		o.UserACL, o.GroupACL = r.UserACL, r.GroupACL
		return o, err
	case coder.RBACResourceUser:
		o.OwnerID = o.ID
	case coder.RBACResourceOrganization:
		o.OrganizationID = o.ID
	}
	return o, nil
}
