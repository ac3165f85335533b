package template

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// view returns the API view of a template.
func view(r sqlc.TemplateByIDRow) codersdk.Template {
	t := r.Template
	return codersdk.Template{
		ActiveUserCount: int(r.Users), ActiveVersionID: t.ActiveVersionID, ActivityBumpMS: t.ActivityBumpMs, MaxConcurrentBuilds: t.MaxConcurrentBuilds,
		AllowUserAutostart: t.AllowUserAutostart, AllowUserAutostop: t.AllowUserAutostop,
		AllowUserCancelWorkspaceJobs: t.AllowUserCancelWorkspaceJobs,
		AutostartRequirement:         codersdk.TemplateAutostartRequirement{DaysOfWeek: t.AutostartDays},
		AutostopRequirement:          codersdk.TemplateAutostopRequirement{DaysOfWeek: t.AutostopDays, Weeks: int32(t.AutostopWeeks)},
		BuildTimeStats:               noTimes(), CORSBehavior: codersdk.CORSBehavior(t.CorsBehavior),
		CreatedAt: t.CreatedAt.UTC(), CreatedByID: t.CreatedBy, CreatedByName: r.Creator,
		DefaultTTLMS: t.DefaultTTLMS, Deprecated: t.DeprecationMessage != "", DeprecationMessage: t.DeprecationMessage,
		Description: t.Description, DisableModuleCache: t.DisableModuleCache, DisableUserSecrets: t.DisableUserSecrets, DisplayName: t.DisplayName,
		FailureTTLMS: t.FailureTtlMs, Icon: t.Icon, ID: t.ID,
		MaxPortShareLevel: codersdk.WorkspaceAgentPortShareLevel(t.MaxPortShareLevel), Name: t.Name,
		OrganizationDisplayName: r.OrganizationDisplayName, OrganizationIcon: r.OrganizationIcon,
		OrganizationID: t.OrganizationID, OrganizationName: r.OrganizationName, PrebuildBudget: t.PrebuildBudget, Provisioner: t.Provisioner,
		RequireActiveVersion: t.RequireActiveVersion, TimeTilDormantAutodeleteMS: t.TimeTilDormantAutodeleteMs,
		TimeTilDormantMS: t.TimeTilDormantMs, UpdatedAt: t.UpdatedAt.UTC(), UseClassicParameterFlow: t.UseClassicParameterFlow,
	}
}

func noTimes() codersdk.TemplateBuildTimeStats {
	return codersdk.TemplateBuildTimeStats{"start": {}, "stop": {}, "delete": {}}
}

// Period and number of the builds that count for build times.
const (
	timesOf  = 30 * 24 * time.Hour
	timesFor = time.Minute
)

// addTimes adds the usual durations of builds to templates. The figures are at most one minute
// old, because every list needs them and they change slowly.
func (s *Service) addTimes(ctx context.Context, ts []codersdk.Template) error {
	s.times.Lock()
	defer s.times.Unlock()
	now := s.now()
	if now.After(s.times.until) {
		s.times.known, s.times.until = map[uuid.UUID]codersdk.TemplateBuildTimeStats{}, now.Add(timesFor)
	}
	var wanted []uuid.UUID
	for _, t := range ts {
		if _, ok := s.times.known[t.ID]; !ok {
			wanted = append(wanted, t.ID)
		}
	}
	if len(wanted) > 0 {
		rows, err := s.Store.TemplateBuildTimes(ctx, wanted, now.Add(-timesOf))
		if err != nil {
			return err
		}
		for _, id := range wanted {
			s.times.known[id] = noTimes()
		}
		for _, r := range rows {
			s.times.known[r.TemplateID][r.Transition] = codersdk.TransitionStats{P50: &r.P50, P95: &r.P95}
		}
	}
	for i := range ts {
		ts[i].BuildTimeStats = s.times.known[ts[i].ID]
	}
	return nil
}

// versionView returns the API view of a version, without its job.
func versionView(v sqlc.TemplateVersion, creator codersdk.MinimalUser, job codersdk.ProvisionerJob) codersdk.TemplateVersion {
	out := codersdk.TemplateVersion{
		Archived: v.Archived, CreatedAt: v.CreatedAt.UTC(), CreatedBy: creator, HasExternalAgent: v.HasExternalAgent,
		ID: v.ID, Job: job, Message: v.Message, Name: v.Name, OrganizationID: v.OrganizationID, Readme: v.Readme,
		UpdatedAt: v.UpdatedAt.UTC(), Warnings: []codersdk.TemplateVersionWarning{},
	}
	if v.TemplateID != nil {
		out.TemplateID = *v.TemplateID
	}
	return out
}
