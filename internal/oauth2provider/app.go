package oauth2provider

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/oauth2provider/redirecturi"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// maxRows bounds a list, as the pages of the API do.
const maxRows = 1000

var appObject = access.Object{Type: codersdk.RBACResourceOauth2App}

// view returns the API form of an application.
func (s *Service) view(r sqlc.OAuth2App) codersdk.OAuth2ProviderApp {
	out := codersdk.OAuth2ProviderApp{
		ID: r.ID, Name: r.Name, Icon: r.Icon, RedirectURIs: r.RedirectURIs, Scope: r.Scope,
		Dynamic: r.RegistrationHash != nil, Public: isPublic(r),
		Endpoints: codersdk.OAuth2AppEndpoints{
			Authorization: s.address(AuthorizePath), Token: s.address(TokenPath), TokenRevoke: s.address(RevokePath),
		},
	}
	if len(r.RedirectURIs) > 0 {
		out.CallbackURL = r.RedirectURIs[0]
	}
	return out
}

// isPublic reports whether an application has no secret.
func isPublic(r sqlc.OAuth2App) bool {
	return r.AuthMethod == string(codersdk.OAuth2TokenEndpointAuthMethodNone)
}

// Apps returns a page of the applications, by name. With a user ID, or "me", it returns those that act for the user.
func (s *Service) Apps(ctx context.Context, actor access.Subject, user string, page codersdk.Page) ([]codersdk.OAuth2ProviderApp, error) {
	if err := actor.Check(codersdk.RBACActionRead, appObject); err != nil {
		return nil, err
	}
	var of *uuid.UUID
	if user != "" {
		id := actor.UserID
		if user != "me" {
			var err error
			if id, err = uuid.Parse(user); err != nil {
				return nil, codersdk.Invalid("user_id", "%.64q is neither a UUID nor me", user)
			}
		}
		if err := actor.Check(codersdk.RBACActionRead, consents(id)); err != nil {
			return nil, err
		}
		of = &id
	}
	rows, err := s.c.Store.OAuth2Apps(ctx, of, page.Skip(), page.Rows(maxRows))
	out := make([]codersdk.OAuth2ProviderApp, len(rows))
	for i, r := range rows {
		out[i] = s.view(r)
	}
	return out, err
}

// App returns an application.
func (s *Service) App(ctx context.Context, actor access.Subject, id uuid.UUID) (codersdk.OAuth2ProviderApp, error) {
	if err := actor.Check(codersdk.RBACActionRead, appObject); err != nil {
		return codersdk.OAuth2ProviderApp{}, err
	}
	row, err := s.c.Store.OAuth2App(ctx, id)
	return s.view(row), err
}

// redirectsOf returns the redirect URIs of a request in either form.
func redirectsOf(callback string, uris []string) []string {
	if len(uris) == 0 && callback != "" {
		return []string{callback}
	}
	return uris
}

// checkApp checks the fields of an application that an administrator manages, and returns its scopes in one form.
func checkApp(name, icon string, redirects []string, scope string, public bool) (scopes string, err error) {
	if name == "" {
		return "", codersdk.Invalid("name", "is required")
	}
	if err := codersdk.CheckDisplayName("name", name); err != nil {
		return "", err
	}
	if err := codersdk.CheckIcon("icon", icon); err != nil {
		return "", err
	}
	if reason := redirecturi.CheckAll(redirects, public); reason != "" {
		return "", codersdk.Invalid("redirect_uris", "%s", reason)
	}
	list, err := parseScopes(scope)
	if err != nil {
		return "", codersdk.Invalid("scope", "%s", AsFailure(err).Description)
	}
	return joinScopes(list), nil
}

// CreateApp creates an application.
func (s *Service) CreateApp(ctx context.Context, actor access.Subject, req codersdk.PostOAuth2ProviderAppRequest) (codersdk.OAuth2ProviderApp, error) {
	var none codersdk.OAuth2ProviderApp
	if err := actor.Check(codersdk.RBACActionCreate, appObject); err != nil {
		return none, err
	}
	redirects := redirectsOf(req.CallbackURL, req.RedirectURIs)
	scope, err := checkApp(req.Name, req.Icon, redirects, req.Scope, false)
	if err != nil {
		return none, err
	}
	var out codersdk.OAuth2ProviderApp
	err = s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		row, err := q.OAuth2InsertApp(ctx, sqlc.OAuth2InsertAppParams{
			ID: uuid.New(), Name: req.Name, Icon: req.Icon, RedirectURIs: redirects, Scope: scope,
			AuthMethod: string(codersdk.OAuth2TokenEndpointAuthMethodClientSecretBasic), CreatedBy: &actor.UserID,
			Metadata: []byte("{}"), Now: s.now(),
		})
		if err != nil {
			return taken(err)
		}
		out = s.view(row)
		return recordApp(ctx, q, actor, codersdk.AuditActionCreate, nil, &out)
	})
	return out, err
}

// UpdateApp changes an application that an administrator manages.
func (s *Service) UpdateApp(
	ctx context.Context,
	actor access.Subject,
	id uuid.UUID,
	req codersdk.PutOAuth2ProviderAppRequest,
) (out codersdk.OAuth2ProviderApp, err error) {
	if err := actor.Check(codersdk.RBACActionUpdate, appObject); err != nil {
		return out, err
	}
	err = s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		old, err := q.OAuth2AppForUpdate(ctx, id)
		if err != nil {
			return err
		}
		if old.RegistrationHash != nil {
			return codersdk.Errorf(codersdk.CodeConflict, "The application registered itself and manages its own settings; you can delete it")
		}
		redirects, scope := redirectsOf(req.CallbackURL, req.RedirectURIs), old.Scope
		if len(redirects) == 0 {
			redirects = old.RedirectURIs
		}
		if req.Scope != nil {
			scope = *req.Scope
		}
		if scope, err = checkApp(req.Name, req.Icon, redirects, scope, isPublic(old)); err != nil {
			return err
		}
		row, err := q.OAuth2UpdateApp(ctx, sqlc.OAuth2UpdateAppParams{
			ID: id, Name: req.Name, Icon: req.Icon, RedirectURIs: redirects, Scope: scope, AuthMethod: old.AuthMethod, Metadata: old.Metadata, Now: s.now(),
		})
		if err != nil {
			return taken(err)
		}
		before := s.view(old)
		out = s.view(row)
		return recordApp(ctx, q, actor, codersdk.AuditActionWrite, &before, &out)
	})
	return out, err
}

// DeleteApp deletes an application with its secrets, the consents of users and all tokens.
func (s *Service) DeleteApp(ctx context.Context, actor access.Subject, id uuid.UUID) error {
	if err := actor.Check(codersdk.RBACActionDelete, appObject); err != nil {
		return err
	}
	return s.deleteApp(ctx, actor, id)
}

func (s *Service) deleteApp(ctx context.Context, actor access.Subject, id uuid.UUID) error {
	var users []uuid.UUID
	err := s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		row, err := q.OAuth2AppForUpdate(ctx, id)
		if err != nil {
			return err
		}
		if users, err = q.OAuth2UsersOfApp(ctx, id); err != nil {
			return err
		}
		if _, err := q.OAuth2DeleteApp(ctx, id); err != nil {
			return err
		}
		before := s.view(row)
		return recordApp(ctx, q, actor, codersdk.AuditActionDelete, &before, nil)
	})
	if err == nil {
		s.changedRights(users...)
	}
	return err
}

// recordApp writes the audit entry of a change of an application; either state can be nil.
func recordApp(ctx context.Context, q *sqlc.Queries, actor access.Subject, action codersdk.AuditAction, before, after *codersdk.OAuth2ProviderApp) error {
	app, old, fresh := before, any(nil), any(nil)
	if before != nil {
		old = auditApp(*before)
	}
	if after != nil {
		app, fresh = after, auditApp(*after)
	}
	return audit.Record(ctx, q, actor, audit.Entry{
		Action: action, ResourceType: codersdk.ResourceTypeOauth2ProviderApp, ResourceID: app.ID, Target: app.Name, Icon: app.Icon, Diff: audit.Diff(old, fresh),
	})
}

// auditApp returns the fields of an application that can change.
func auditApp(a codersdk.OAuth2ProviderApp) any {
	return map[string]any{
		"name": a.Name, "icon": a.Icon, "redirect_uris": slices.Clone(a.RedirectURIs), "scope": a.Scope, "dynamic": a.Dynamic, "public": a.Public,
	}
}

// taken returns the error of a name that another application has.
func taken(err error) error {
	if postgres.Constraint(err) == "oauth2_apps_name" {
		return (&codersdk.Error{
			Code: codersdk.CodeConflict, Message: "An OAuth2 application with this name already exists; choose another name",
			Fields: []codersdk.ValidationError{{Field: "name", Detail: "is already in use"}},
		}).WithCause(err)
	}
	return err
}
