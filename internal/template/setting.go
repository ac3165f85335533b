package template

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

func weekdays() []string {
	return []string{"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"}
}

// newRow returns the row of a requested template, with defaults for absent settings.
func newRow(organizationID, creator uuid.UUID, req codersdk.CreateTemplateRequest) sqlc.Template {
	or := func(p *bool) bool { return p == nil || *p }
	t := sqlc.Template{
		ID: uuid.New(), OrganizationID: organizationID, Name: req.Name, DisplayName: req.DisplayName,
		Description: req.Description, Icon: req.Icon, ActiveVersionID: req.TemplateVersionID, CreatedBy: creator,
		DefaultTTLMS: req.DefaultTTLMS, ActivityBumpMs: 3600_000, FailureTtlMs: req.FailureTTLMS,
		MaxConcurrentBuilds: req.MaxConcurrentBuilds, PrebuildBudget: req.PrebuildBudget,
		TimeTilDormantMs: req.DormantTTLMS, TimeTilDormantAutodeleteMs: req.DeleteTTLMS,
		AutostartDays: weekdays(), AutostopDays: []string{}, AutostopWeeks: 1,
		AllowUserAutostart: or(req.AllowUserAutostart), AllowUserAutostop: or(req.AllowUserAutostop),
		AllowUserCancelWorkspaceJobs: or(req.AllowUserCancelWorkspaceJobs), RequireActiveVersion: req.RequireActiveVersion,
		MaxPortShareLevel: string(codersdk.WorkspaceAgentPortShareLevelOwner), CorsBehavior: string(codersdk.CORSBehaviorSimple),
		UseClassicParameterFlow: req.TemplateUseClassicParameterFlow,
		UserACL:                 map[string]string{},
		GroupACL:                map[string]string{organizationID.String(): string(codersdk.TemplateRoleUse)},
	}
	if req.ActivityBumpMS != nil {
		t.ActivityBumpMs = *req.ActivityBumpMS
	}
	if req.AutostartRequirement != nil {
		t.AutostartDays = req.AutostartRequirement.DaysOfWeek
	}
	if req.AutostopRequirement != nil {
		t.AutostopDays, t.AutostopWeeks = req.AutostopRequirement.DaysOfWeek, int64(req.AutostopRequirement.Weeks)
	}
	if req.MaxPortShareLevel != "" {
		t.MaxPortShareLevel = string(req.MaxPortShareLevel)
	}
	if req.CORSBehavior != "" {
		t.CorsBehavior = string(req.CORSBehavior)
	}
	if req.DisableEveryoneGroupAccess {
		delete(t.GroupACL, organizationID.String())
	}
	return normalized(t)
}

// normalized returns days in canonical form.
func normalized(t sqlc.Template) sqlc.Template {
	days := weekdays()
	lower := func(list []string) []string {
		out := make([]string, 0, len(list))
		for _, d := range list {
			if d = strings.ToLower(d); d == "all" {
				return days
			}
			out = append(out, d)
		}
		slices.SortFunc(out, func(a, b string) int { return slices.Index(days, a) - slices.Index(days, b) })
		return slices.Compact(out)
	}
	t.AutostartDays, t.AutostopDays = lower(t.AutostartDays), lower(t.AutostopDays)
	if t.AutostopWeeks == 0 {
		t.AutostopWeeks = 1
	}
	return t
}

// check rejects invalid settings. (TPL-17)
func check(t sqlc.Template) error {
	if err := codersdk.CheckName("name", t.Name); err != nil {
		return err
	}
	if err := codersdk.CheckDisplayName("display_name", t.DisplayName); err != nil {
		return err
	}
	if len(t.Description) >= 128 {
		return codersdk.Invalid("description", "is %d bytes long; at most 127 are allowed", len(t.Description))
	}
	if err := codersdk.CheckIcon("icon", t.Icon); err != nil {
		return err
	}
	if len(t.DeprecationMessage) > 4096 {
		return codersdk.Invalid("deprecation_message", "is longer than 4096 bytes")
	}
	for _, d := range []struct {
		field string
		ms    int64
	}{
		{"default_ttl_ms", t.DefaultTTLMS}, {"activity_bump_ms", t.ActivityBumpMs}, {"failure_ttl_ms", t.FailureTtlMs},
		{"time_til_dormant_ms", t.TimeTilDormantMs}, {"time_til_dormant_autodelete_ms", t.TimeTilDormantAutodeleteMs},
	} {
		if d.ms < 0 || d.ms > 10*365*24*3600_000 {
			return codersdk.Invalid(d.field, "must be between 0 and ten years, in milliseconds")
		}
	}
	if t.MaxConcurrentBuilds < 0 {
		return codersdk.Invalid("max_concurrent_builds", "must be the number of concurrent builds, or 0 for no limit")
	}
	if t.PrebuildBudget < 0 || t.PrebuildBudget > codersdk.MaxPrebuilds {
		return codersdk.Invalid("prebuild_budget",
			"must be a number of prebuilt workspaces up to %d, or 0 for no more than the presets define", codersdk.MaxPrebuilds)
	}
	days := weekdays()
	for _, d := range t.AutostartDays {
		if !slices.Contains(days, d) {
			return codersdk.Invalid("autostart_requirement.days_of_week", "%.20q is not a day of the week", d)
		}
	}
	for _, d := range t.AutostopDays {
		if !slices.Contains(days, d) {
			return codersdk.Invalid("autostop_requirement.days_of_week", "%.20q is not a day of the week", d)
		}
	}
	if t.AutostopWeeks < 1 || t.AutostopWeeks > 16 {
		return codersdk.Invalid("autostop_requirement.weeks", "must be between 1 and 16")
	}
	return checkWords(t)
}

// checkWords rejects settings that are not in their enumerations.
func checkWords(t sqlc.Template) error {
	levels := []codersdk.WorkspaceAgentPortShareLevel{
		codersdk.WorkspaceAgentPortShareLevelOwner, codersdk.WorkspaceAgentPortShareLevelAuthenticated,
		codersdk.WorkspaceAgentPortShareLevelOrganization, codersdk.WorkspaceAgentPortShareLevelPublic,
	}
	if !slices.Contains(levels, codersdk.WorkspaceAgentPortShareLevel(t.MaxPortShareLevel)) {
		return codersdk.Invalid("max_port_share_level", "%.20q is not valid; use owner, organization, authenticated or public", t.MaxPortShareLevel)
	}
	if t.CorsBehavior != string(codersdk.CORSBehaviorSimple) && t.CorsBehavior != string(codersdk.CORSBehaviorPassthru) {
		return codersdk.Invalid("cors_behavior", "%.20q is not valid; use simple or passthru", t.CorsBehavior)
	}
	for field, text := range map[string]string{
		"description": t.Description, "icon": t.Icon, "display_name": t.DisplayName, "deprecation_message": t.DeprecationMessage,
	} {
		if strings.ContainsRune(text, 0) {
			return codersdk.Invalid(field, "contains a NUL character")
		}
	}
	return nil
}

// completeOldForm returns the request with false and 0 for the settings that
// clients up to API level 2.30 leave out because they are false or 0. Such a
// request replaces all settings, so it names the template, describes it, and has
// both schedules; it never holds an explicit false or 0. Any other request
// changes the settings that it names. See docs/decisions/0008-template-patch.md.
func completeOldForm(req codersdk.UpdateTemplateMeta) codersdk.UpdateTemplateMeta {
	described := req.DisplayName != nil || req.Description != nil || req.Icon != nil
	if req.Name == "" || !described || req.AutostartRequirement == nil || req.AutostopRequirement == nil {
		return req
	}
	switches := []**bool{&req.AllowUserAutostart, &req.AllowUserAutostop, &req.AllowUserCancelWorkspaceJobs, &req.RequireActiveVersion}
	times := []**int64{&req.DefaultTTLMS, &req.ActivityBumpMS, &req.FailureTTLMS, &req.TimeTilDormantMS, &req.TimeTilDormantAutodeleteMS}
	if slices.ContainsFunc(switches, func(p **bool) bool { return *p != nil && !**p }) ||
		slices.ContainsFunc(times, func(p **int64) bool { return *p != nil && **p == 0 }) {
		return req
	}
	for _, p := range switches {
		if *p == nil {
			*p = new(bool)
		}
	}
	for _, p := range times {
		if *p == nil {
			*p = new(int64)
		}
	}
	return req
}

// change applies the settings that are present in a request.
func change(t sqlc.Template, req codersdk.UpdateTemplateMeta) sqlc.Template {
	req = completeOldForm(req)
	if req.Name != "" {
		t.Name = req.Name
	}
	set(&t.DisplayName, req.DisplayName)
	set(&t.Description, req.Description)
	set(&t.Icon, req.Icon)
	set(&t.DefaultTTLMS, req.DefaultTTLMS)
	set(&t.ActivityBumpMs, req.ActivityBumpMS)
	set(&t.FailureTtlMs, req.FailureTTLMS)
	set(&t.TimeTilDormantMs, req.TimeTilDormantMS)
	set(&t.TimeTilDormantAutodeleteMs, req.TimeTilDormantAutodeleteMS)
	set(&t.AllowUserAutostart, req.AllowUserAutostart)
	set(&t.AllowUserAutostop, req.AllowUserAutostop)
	set(&t.AllowUserCancelWorkspaceJobs, req.AllowUserCancelWorkspaceJobs)
	set(&t.RequireActiveVersion, req.RequireActiveVersion)
	set(&t.DeprecationMessage, req.DeprecationMessage)
	set(&t.UseClassicParameterFlow, req.UseClassicParameterFlow)
	set(&t.DisableModuleCache, req.DisableModuleCache)
	set(&t.DisableUserSecrets, req.DisableUserSecrets)
	set(&t.MaxConcurrentBuilds, req.MaxConcurrentBuilds)
	set(&t.PrebuildBudget, req.PrebuildBudget)
	if req.MaxPortShareLevel != nil && *req.MaxPortShareLevel != "" {
		t.MaxPortShareLevel = string(*req.MaxPortShareLevel)
	}
	if req.CORSBehavior != nil && *req.CORSBehavior != "" {
		t.CorsBehavior = string(*req.CORSBehavior)
	}
	if req.AutostartRequirement != nil {
		t.AutostartDays = req.AutostartRequirement.DaysOfWeek
	}
	if req.AutostopRequirement != nil {
		t.AutostopDays, t.AutostopWeeks = req.AutostopRequirement.DaysOfWeek, int64(req.AutostopRequirement.Weeks)
	}
	if req.DisableEveryoneGroupAccess != nil && *req.DisableEveryoneGroupAccess {
		t.GroupACL = maps.Clone(t.GroupACL)
		delete(t.GroupACL, t.OrganizationID.String())
	}
	return normalized(t)
}

func set[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}

// UpdateTemplate changes the settings of a template. A request without a change succeeds and
// is not audited. (TPL-15, TPL-17)
func (s *Service) UpdateTemplate(ctx context.Context, actor access.Subject, id uuid.UUID, req codersdk.UpdateTemplateMeta) (codersdk.Template, error) {
	var organization uuid.UUID // organization whose builds may have been released
	err := s.Store.Tx(ctx, func(q *sqlc.Queries) error {
		old, err := lock(ctx, q, actor, codersdk.RBACActionUpdate, id)
		if err != nil {
			return err
		}
		if err := req.Check("template", old.UpdatedAt); err != nil {
			return err
		}
		t := change(old, req)
		if err := check(t); err != nil {
			return err
		}
		if req.UpdateWorkspaceLastUsedAt || req.UpdateWorkspaceDormantAt {
			if err := q.TemplateTouchWorkspaces(ctx, sqlc.TemplateTouchWorkspacesParams{
				TemplateID: id, LastUsed: req.UpdateWorkspaceLastUsedAt, Dormant: req.UpdateWorkspaceDormantAt,
				AutodeleteMs: t.TimeTilDormantAutodeleteMs, Now: s.now(),
			}); err != nil {
				return err
			}
		}
		diff := audit.Diff(settingsOf(old), settingsOf(t))
		if len(diff) == 0 {
			return nil
		}
		if err := q.TemplateUpdate(ctx, updateParams(t, s)); err != nil {
			return taken(err, "templates_name", "name", "template", t.Name)
		}
		if err := reschedule(ctx, q, old, t, s.now()); err != nil {
			return err
		}
		if err := notifyDeprecated(ctx, q, actor, old, t); err != nil {
			return err
		}
		if t.MaxConcurrentBuilds != old.MaxConcurrentBuilds {
			if err := s.Queue.LetGo(ctx, q, id); err != nil {
				return err
			}
			organization = t.OrganizationID
		}
		return audit.Record(ctx, q, actor, audit.Entry{
			Action: codersdk.AuditActionWrite, ResourceType: codersdk.ResourceTypeTemplate, ResourceID: id,
			OrganizationID: t.OrganizationID, Target: t.Name, Icon: t.Icon, Diff: diff,
		})
	})
	if err != nil {
		return codersdk.Template{}, err
	}
	if organization != uuid.Nil {
		s.Queue.Wake(organization)
	}
	if req.DisableUserSecrets != nil && s.SecretsChanged != nil {
		s.SecretsChanged(id)
	}
	return s.Template(ctx, actor, id)
}

// settingsOf returns the audited settings of a template.
func settingsOf(t sqlc.Template) any {
	v := view(sqlc.TemplateByIDRow{Template: t})
	return struct {
		codersdk.Template
		GroupACL         map[string]string `json:"group_acl"`
		UserACL          map[string]string `json:"user_acl"`
		BuildTimeStats   any               `json:"build_time_stats,omitempty"`
		ActiveUserCount  any               `json:"active_user_count,omitempty"`
		CreatedByName    any               `json:"created_by_name,omitempty"`
		OrganizationName any               `json:"organization_name,omitempty"`
		OrganizationIcon any               `json:"organization_icon,omitempty"`
		Display          any               `json:"organization_display_name,omitempty"`
	}{Template: v, GroupACL: t.GroupACL, UserACL: t.UserACL}
}

func insertParams(t sqlc.Template, s *Service) sqlc.TemplateInsertParams {
	return sqlc.TemplateInsertParams{
		ID: t.ID, OrganizationID: t.OrganizationID, Name: t.Name, DisplayName: t.DisplayName, Description: t.Description,
		Icon: t.Icon, Provisioner: t.Provisioner, ActiveVersionID: t.ActiveVersionID, CreatedBy: t.CreatedBy,
		DefaultTTLMS: t.DefaultTTLMS, ActivityBumpMs: t.ActivityBumpMs, FailureTtlMs: t.FailureTtlMs,
		TimeTilDormantMs: t.TimeTilDormantMs, TimeTilDormantAutodeleteMs: t.TimeTilDormantAutodeleteMs,
		AutostartDays: t.AutostartDays, AutostopDays: t.AutostopDays, AutostopWeeks: t.AutostopWeeks,
		AllowUserAutostart: t.AllowUserAutostart, AllowUserAutostop: t.AllowUserAutostop,
		AllowUserCancelWorkspaceJobs: t.AllowUserCancelWorkspaceJobs, RequireActiveVersion: t.RequireActiveVersion,
		MaxPortShareLevel: t.MaxPortShareLevel, CorsBehavior: t.CorsBehavior, MaxConcurrentBuilds: t.MaxConcurrentBuilds,
		PrebuildBudget: t.PrebuildBudget, UseClassicParameterFlow: t.UseClassicParameterFlow, GroupACL: t.GroupACL, Now: s.now(),
	}
}

func updateParams(t sqlc.Template, s *Service) sqlc.TemplateUpdateParams {
	return sqlc.TemplateUpdateParams{
		ID: t.ID, Name: t.Name, DisplayName: t.DisplayName, Description: t.Description, Icon: t.Icon,
		DefaultTTLMS: t.DefaultTTLMS, ActivityBumpMs: t.ActivityBumpMs, FailureTtlMs: t.FailureTtlMs,
		TimeTilDormantMs: t.TimeTilDormantMs, TimeTilDormantAutodeleteMs: t.TimeTilDormantAutodeleteMs,
		AutostartDays: t.AutostartDays, AutostopDays: t.AutostopDays, AutostopWeeks: t.AutostopWeeks,
		AllowUserAutostart: t.AllowUserAutostart, AllowUserAutostop: t.AllowUserAutostop,
		AllowUserCancelWorkspaceJobs: t.AllowUserCancelWorkspaceJobs, RequireActiveVersion: t.RequireActiveVersion,
		DeprecationMessage: t.DeprecationMessage, MaxPortShareLevel: t.MaxPortShareLevel, CorsBehavior: t.CorsBehavior,
		UseClassicParameterFlow: t.UseClassicParameterFlow, DisableModuleCache: t.DisableModuleCache, MaxConcurrentBuilds: t.MaxConcurrentBuilds,
		PrebuildBudget: t.PrebuildBudget, DisableUserSecrets: t.DisableUserSecrets, GroupACL: t.GroupACL, Now: s.now(),
	}
}
