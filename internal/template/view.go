package template

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// view is a template as people see it.
func view(r sqlc.TemplateByIDRow) coder.Template {
	t := r.Template
	return coder.Template{
		ActiveUserCount: int(r.Users), ActiveVersionID: t.ActiveVersionID, ActivityBumpMS: t.ActivityBumpMs, MaxConcurrentBuilds: t.MaxConcurrentBuilds,
		AllowUserAutostart: t.AllowUserAutostart, AllowUserAutostop: t.AllowUserAutostop,
		AllowUserCancelWorkspaceJobs: t.AllowUserCancelWorkspaceJobs,
		AutostartRequirement:         coder.TemplateAutostartRequirement{DaysOfWeek: t.AutostartDays},
		AutostopRequirement:          coder.TemplateAutostopRequirement{DaysOfWeek: t.AutostopDays, Weeks: int32(t.AutostopWeeks)},
		BuildTimeStats:               noTimes(), CORSBehavior: coder.CORSBehavior(t.CorsBehavior),
		CreatedAt: t.CreatedAt.UTC(), CreatedByID: t.CreatedBy, CreatedByName: r.Creator,
		DefaultTTLMS: t.DefaultTTLMS, Deprecated: t.DeprecationMessage != "", DeprecationMessage: t.DeprecationMessage,
		Description: t.Description, DisableModuleCache: t.DisableModuleCache, DisplayName: t.DisplayName,
		FailureTTLMS: t.FailureTtlMs, Icon: t.Icon, ID: t.ID,
		MaxPortShareLevel: coder.WorkspaceAgentPortShareLevel(t.MaxPortShareLevel), Name: t.Name,
		OrganizationDisplayName: r.OrganizationDisplayName, OrganizationIcon: r.OrganizationIcon,
		OrganizationID: t.OrganizationID, OrganizationName: r.OrganizationName, Provisioner: t.Provisioner,
		RequireActiveVersion: t.RequireActiveVersion, TimeTilDormantAutodeleteMS: t.TimeTilDormantAutodeleteMs,
		TimeTilDormantMS: t.TimeTilDormantMs, UpdatedAt: t.UpdatedAt.UTC(), UseClassicParameterFlow: t.UseClassicParameterFlow,
	}
}

func noTimes() coder.TemplateBuildTimeStats {
	return coder.TemplateBuildTimeStats{"start": {}, "stop": {}, "delete": {}}
}

// How far back, and for how long, build times count.
const (
	timesOf  = 30 * 24 * time.Hour
	timesFor = time.Minute
)

// addTimes tells templates how long their builds usually take. The numbers are
// at most a minute old: they are read for every list and change slowly.
func (s *Service) addTimes(ctx context.Context, ts []coder.Template) error {
	s.times.Lock()
	defer s.times.Unlock()
	now := s.now()
	if now.After(s.times.until) {
		s.times.known, s.times.until = map[uuid.UUID]coder.TemplateBuildTimeStats{}, now.Add(timesFor)
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
			s.times.known[r.TemplateID][r.Transition] = coder.TransitionStats{P50: &r.P50, P95: &r.P95}
		}
	}
	for i := range ts {
		ts[i].BuildTimeStats = s.times.known[ts[i].ID]
	}
	return nil
}

// versionView is a version as people see it, but for its job.
func versionView(v sqlc.TemplateVersion, creator coder.MinimalUser, job coder.ProvisionerJob) coder.TemplateVersion {
	out := coder.TemplateVersion{
		Archived: v.Archived, CreatedAt: v.CreatedAt.UTC(), CreatedBy: creator, HasExternalAgent: v.HasExternalAgent,
		ID: v.ID, Job: job, Message: v.Message, Name: v.Name, OrganizationID: v.OrganizationID, Readme: v.Readme,
		UpdatedAt: v.UpdatedAt.UTC(), Warnings: []coder.TemplateVersionWarning{},
	}
	if v.TemplateID != nil {
		out.TemplateID = *v.TemplateID
	}
	return out
}
