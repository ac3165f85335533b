package inbox

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/notification"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Preferences returns the choices that a user made.
func (s *Service) Preferences(ctx context.Context, actor access.Subject, user uuid.UUID) ([]codersdk.NotificationPreference, error) {
	if err := actor.Check(codersdk.RBACActionRead, object(codersdk.RBACResourceNotificationPreference, user)); err != nil {
		return nil, err
	}
	rows, err := s.c.Store.NotificationPreferences(ctx, user)
	if err != nil {
		return nil, err
	}
	out := make([]codersdk.NotificationPreference, 0, len(rows))
	for _, r := range rows {
		out = append(out, codersdk.NotificationPreference{ID: r.Kind, Disabled: r.Disabled, UpdatedAt: r.UpdatedAt})
	}
	return out, nil
}

// UpdatePreferences stores choices of a user and returns all of them.
func (s *Service) UpdatePreferences(
	ctx context.Context, actor access.Subject, user uuid.UUID, req codersdk.UpdateUserNotificationPreferences,
) ([]codersdk.NotificationPreference, error) {
	if err := actor.Check(codersdk.RBACActionUpdate, object(codersdk.RBACResourceNotificationPreference, user)); err != nil {
		return nil, err
	}
	choices := map[uuid.UUID]bool{}
	for text, disabled := range req.TemplateDisabledMap {
		id, err := uuid.Parse(text)
		t, known := notification.ByID(id)
		switch {
		case err != nil || !known:
			return nil, codersdk.Invalid("template_disabled_map", "%.64q is not the ID of a notification template", text)
		case t.Required && disabled:
			return nil, codersdk.Invalid("template_disabled_map", "the notification %q cannot be disabled", t.Name)
		}
		choices[id] = disabled
	}
	err := s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		for id, disabled := range choices {
			if err := q.NotificationSetPreference(ctx, user, id, disabled); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s.Preferences(ctx, actor, user)
}

// Templates returns the templates that users can disable, with their methods:
// those of the server, or those whose text comes from users.
func (s *Service) Templates(ctx context.Context, custom bool) ([]codersdk.NotificationTemplate, error) {
	rows, err := s.c.Store.NotificationMethods(ctx)
	if err != nil {
		return nil, err
	}
	methods := map[uuid.UUID]codersdk.NotificationMethod{}
	for _, r := range rows {
		methods[r.Kind] = codersdk.NotificationMethod(r.Method)
	}
	kind := codersdk.NotificationTemplateKindSystem
	if custom {
		kind = codersdk.NotificationTemplateKindCustom
	}
	out := []codersdk.NotificationTemplate{}
	for _, t := range notification.All() {
		if t.Custom != custom || t.Required {
			continue
		}
		actions, err := json.Marshal(append([]codersdk.InboxNotificationAction{}, t.Actions...))
		if err != nil {
			return nil, err
		}
		out = append(out, codersdk.NotificationTemplate{
			ID: t.ID, Name: t.Name, Group: t.Group, Kind: kind, TitleTemplate: t.Title, BodyTemplate: t.Body, Actions: string(actions),
			EnabledByDefault: !t.DisabledByDefault, Method: methods[t.ID],
		})
	}
	return out, nil
}

// SetMethod sets the method of a template; "" means the default. changed reports
// whether it was another.
func (s *Service) SetMethod(ctx context.Context, actor access.Subject, id uuid.UUID, method codersdk.NotificationMethod) (changed bool, err error) {
	if err := checkSite(actor, codersdk.RBACActionUpdate, codersdk.RBACResourceNotificationTemplate); err != nil {
		return false, err
	}
	t, known := notification.ByID(id)
	switch {
	case !known:
		return false, codersdk.NotFound()
	case method != "" && !slices.Contains(s.c.Methods, method):
		return false, codersdk.Invalid("method", "%.40q is not a method of this server; choose from %v", method, s.c.Methods)
	}
	err = s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		rows, err := q.NotificationMethods(ctx)
		if err != nil {
			return err
		}
		before := ""
		for _, r := range rows {
			if r.Kind == id {
				before = r.Method
			}
		}
		if changed = before != string(method); !changed {
			return nil
		}
		if method == "" {
			err = q.NotificationClearMethod(ctx, id)
		} else {
			err = q.NotificationSetMethod(ctx, id, string(method))
		}
		if err != nil {
			return err
		}
		return audit.Record(ctx, q, actor, audit.Entry{
			Action: codersdk.AuditActionWrite, ResourceType: codersdk.ResourceTypeNotificationTemplate, ResourceID: id, Target: t.Name,
			Diff: codersdk.AuditDiff{"method": {Old: before, New: string(method)}},
		})
	})
	return changed, err
}

// Methods returns the methods of this server.
func (s *Service) Methods() codersdk.NotificationMethodsResponse {
	return codersdk.NotificationMethodsResponse{Available: s.c.Methods, Default: s.c.Default}
}

// checkSite returns an error unless the actor can do the action on an object of the
// site.
func checkSite(actor access.Subject, action codersdk.RBACAction, t codersdk.RBACResource) error {
	if actor.Can(action, access.Object{Type: t}) {
		return nil
	}
	return codersdk.Errorf(codersdk.CodeForbidden, "You do not have permission to %s the notifications of this deployment; it requires a site role", action)
}
