package insight

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

func userActivity(q Query) sqlc.InsightUserActivityParams {
	return sqlc.InsightUserActivityParams{Starts: q.Start, Ends: q.End, Templates: orEmpty(q.Templates), MaxRows: int32(q.Limit), SkipRows: int32(q.Offset)}
}

func userLatency(q Query) sqlc.InsightUserLatencyParams {
	return sqlc.InsightUserLatencyParams{Starts: q.Start, Ends: q.End, Templates: orEmpty(q.Templates), MaxRows: int32(q.Limit), SkipRows: int32(q.Offset)}
}

// orEmpty returns a list that PostgreSQL treats as empty instead of NULL.
func orEmpty(l []uuid.UUID) []uuid.UUID {
	if l == nil {
		return []uuid.UUID{}
	}
	return l
}

// ids is a set of IDs.
// ids is a set of them.
type ids map[uuid.UUID]bool

func (s ids) add(all ...uuid.UUID) {
	for _, id := range all {
		s[id] = true
	}
}

func (s ids) list() []uuid.UUID {
	out := make([]uuid.UUID, 0, len(s))
	for id := range s {
		out = append(out, id)
	}
	slices.SortFunc(out, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
	return out
}

// Templates returns the usage of templates in the whole period and, if interval is set, by day or
// week.
func (s *Service) Templates(
	ctx context.Context,
	actor access.Subject,
	q Query,
	interval codersdk.InsightsReportInterval,
) (codersdk.TemplateInsightsResponse, error) {
	out := codersdk.TemplateInsightsResponse{IntervalReports: []codersdk.TemplateInsightsIntervalReport{}}
	step := 0
	switch interval {
	case "":
	case codersdk.InsightsReportIntervalDay:
		step = 1
	case codersdk.InsightsReportIntervalWeek:
		step = 7
	default:
		return out, codersdk.Invalid("interval", "must be day or week, got %q", interval)
	}
	if err := s.check(ctx, actor, q); err != nil {
		return out, err
	}
	starts, ends := []time.Time{q.Start}, []time.Time{q.End}
	for t := q.Start; step > 0 && t.Before(q.End); t = t.AddDate(0, 0, step) {
		end := t.AddDate(0, 0, step)
		if end.After(q.End) {
			end = q.End
		}
		starts, ends = append(starts, t), append(ends, end)
	}
	rows, err := s.c.Store.InsightActiveUsers(ctx, starts, ends, orEmpty(q.Templates))
	if err != nil {
		return out, err
	}
	for i := 1; i < len(rows); i++ {
		out.IntervalReports = append(out.IntervalReports, codersdk.TemplateInsightsIntervalReport{
			StartTime: starts[i], EndTime: ends[i], Interval: interval, ActiveUsers: rows[i].Users, TemplateIDs: rows[i].Templates,
		})
	}
	out.Report = codersdk.TemplateInsightsReport{StartTime: q.Start, EndTime: q.End, ActiveUsers: rows[0].Users}
	seen := ids{}
	seen.add(rows[0].Templates...)
	if out.Report.AppsUsage, err = s.apps(ctx, q); err != nil {
		return out, err
	}
	if out.Report.ParametersUsage, err = s.parameters(ctx, q); err != nil {
		return out, err
	}
	for _, u := range out.Report.ParametersUsage {
		seen.add(u.TemplateIDs...)
	}
	out.Report.TemplateIDs = seen.list()
	return out, nil
}

// apps returns how long each app was in use: first the built-in apps, then apps and ports of
// templates, the most used first.
func (s *Service) apps(ctx context.Context, q Query) ([]codersdk.TemplateAppUsage, error) {
	sessions, err := s.c.Store.InsightSessions(ctx, q.Start, q.End, orEmpty(q.Templates))
	if err != nil {
		return nil, err
	}
	builtin := []codersdk.TemplateAppUsage{
		{Slug: "vscode", DisplayName: "Visual Studio Code", Icon: "/icon/code.svg"},
		{Slug: "jetbrains", DisplayName: "JetBrains", Icon: "/icon/intellij.svg"},
		{Slug: "reconnecting-pty", DisplayName: "Web Terminal", Icon: "/icon/terminal.svg"},
		{Slug: "ssh", DisplayName: "SSH", Icon: "/icon/terminal.svg"},
	}
	for i := range builtin {
		builtin[i].Type, builtin[i].TemplateIDs = codersdk.TemplateAppsTypeBuiltin, []uuid.UUID{}
	}
	for _, r := range sessions {
		for i, x := range [][2]int64{{r.Vscode, r.VscodeUsers}, {r.Jetbrains, r.JetbrainsUsers}, {r.ReconnectingPty, r.ReconnectingPtyUsers}, {r.Ssh, r.SshUsers}} {
			if x[0] > 0 {
				builtin[i].Seconds += x[0]
				builtin[i].TimesUsed += x[1]
				builtin[i].TemplateIDs = append(builtin[i].TemplateIDs, r.TemplateID)
			}
		}
	}
	rows, err := s.c.Store.InsightApps(ctx, q.Start, q.End, orEmpty(q.Templates))
	if err != nil {
		return nil, err
	}
	type key struct{ slug, name, icon string }
	at := map[key]int{}
	out := builtin
	for _, r := range rows {
		name := r.DisplayName
		if _, err := strconv.Atoi(r.SlugOrPort); err == nil && name == "" {
			name = "Port " + r.SlugOrPort
		}
		k := key{r.SlugOrPort, cmp.Or(name, r.SlugOrPort), r.Icon}
		i, ok := at[k]
		if !ok {
			i = len(out)
			at[k] = i
			out = append(out, codersdk.TemplateAppUsage{Slug: k.slug, DisplayName: k.name, Icon: k.icon, Type: codersdk.TemplateAppsTypeApp, TemplateIDs: []uuid.UUID{}})
		}
		out[i].Seconds += r.Seconds
		out[i].TimesUsed += r.Times
		out[i].TemplateIDs = append(out[i].TemplateIDs, r.TemplateID)
	}
	return out, nil
}

// parameters returns the parameter values of workspaces, for parameters of the active versions of
// their templates.
func (s *Service) parameters(ctx context.Context, q Query) ([]codersdk.TemplateParameterUsage, error) {
	rows, err := s.c.Store.InsightParameters(ctx, q.Start, q.End, orEmpty(q.Templates))
	if err != nil {
		return nil, err
	}
	templates := ids{}
	for _, r := range rows {
		templates.add(r.TemplateID)
	}
	versions, err := s.c.Store.InsightParameterRows(ctx, templates.list())
	if err != nil {
		return nil, err
	}
	type key struct {
		template uuid.UUID
		name     string
	}
	declared := map[key]codersdk.TemplateVersionParameter{}
	for _, v := range versions {
		for _, p := range v.Parameters {
			declared[key{v.TemplateID, p.Name}] = p
		}
	}
	out := []codersdk.TemplateParameterUsage{}
	at := map[key]int{}
	for _, r := range rows {
		k := key{r.TemplateID, r.Name}
		p, ok := declared[k]
		if !ok || p.Ephemeral {
			continue
		}
		i, ok := at[k]
		if !ok {
			i = len(out)
			at[k] = i
			options := p.Options
			if options == nil {
				options = []codersdk.TemplateVersionParameterOption{}
			}
			out = append(out, codersdk.TemplateParameterUsage{
				Name: p.Name, DisplayName: p.DisplayName, Description: p.Description, Type: string(p.Type), Options: options, TemplateIDs: []uuid.UUID{r.TemplateID},
			})
		}
		out[i].Values = append(out[i].Values, codersdk.TemplateParameterValue{Value: r.Value, Count: r.Workspaces})
	}
	slices.SortStableFunc(out, func(a, b codersdk.TemplateParameterUsage) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}
