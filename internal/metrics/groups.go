package metrics

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// Metrics with the names and labels of api/contract/metrics.json. Those of hints are not in the contract;
// dashboards use them.
var (
	activeUsers = describe("coderd_api_active_users_duration_hour", "Users who were active within the last hour.")

	licenseUsers    = describe("coderd_license_active_users", "Active users. They do not need a license.")
	licenseLimit    = describe("coderd_license_limit_users", "Users that the license allows. There is no limit, so it is 0.")
	licenseLimited  = describe("coderd_license_user_limit_enabled", "Whether a license limits users: always 0.")
	licenseErrors   = describe("coderd_license_errors", "License errors: always 0, since nothing requires a license.")
	licenseWarnings = describe("coderd_license_warnings", "License warnings: always 0, since nothing requires a license.")

	latestByStatus = describe("coderd_api_workspace_latest_build", "Workspaces by the status of their latest build.", "status")
	latestBuilds   = describe("coderd_workspace_latest_build_status", "Workspaces by the attributes of their latest build.",
		"status", "template_name", "template_version", "workspace_owner", "workspace_transition")

	insightUsers = describe(
		"coderd_insights_templates_active_users",
		"Users who were active in workspaces of a template within the last 24 hours.",
		"template_name",
	)
	insightApps = describe("coderd_insights_applications_usage_seconds", "Seconds that applications of workspaces were in use within the last 24 hours.",
		"application_name", "slug", "template_name")
	insightParameters = describe("coderd_insights_parameters", "Workspaces started within the last 24 hours, by the values of their parameters.",
		"parameter_name", "parameter_type", "parameter_value", "template_name")

	pubsubSend    = describe("coder_pubsub_send_latency_seconds", "Seconds that the database took to accept a hint for other replicas.")
	pubsubReceive = describe("coder_pubsub_receive_latency_seconds", "Seconds from then until the hint came back.")

	descriptions = []*prometheus.Desc{
		activeUsers, licenseUsers, licenseLimit, licenseLimited, licenseErrors, licenseWarnings, latestByStatus, latestBuilds,
		insightUsers, insightApps, insightParameters, pubsubSend, pubsubReceive,
	}
)

const (
	// other is the label of series beyond maxSeries.
	other = "(other)"
	// maxLabel is the maximum length of a parameter value in a label, in bytes.
	maxLabel = 200
	day      = 24 * time.Hour
)

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

// add adds v to the series with these labels.
func (s *series) add(v float64, labels ...string) {
	for i, l := range labels {
		if len(l) > maxLabel {
			l = l[:maxLabel]
		}
		labels[i] = strings.ToValidUTF8(l, "")
	}
	key := strings.Join(labels, "\x00")
	if have, ok := s.values[key]; ok {
		have.v += v
		return
	}
	if len(s.values) >= maxSeries {
		return
	}
	s.values[key] = &value{labels, v}
}

func (s *Service) users(ctx context.Context) ([]prometheus.Metric, error) {
	r, err := s.Store.MetricUsers(ctx, s.Now().Add(-time.Hour))
	if err != nil {
		return nil, err
	}
	return []prometheus.Metric{
		gauge(activeUsers, float64(r.Seen)), gauge(licenseUsers, float64(r.Active)),
		gauge(licenseLimit, 0), gauge(licenseLimited, 0), gauge(licenseErrors, 0), gauge(licenseWarnings, 0),
	}, nil
}

// latestBuilds counts workspaces. Groups beyond maxSeries are counted by status alone, with other as the
// remaining labels.
func (s *Service) latestBuilds(ctx context.Context) ([]prometheus.Metric, error) {
	totals, err := s.Store.MetricLatestStatus(ctx)
	if err != nil {
		return nil, err
	}
	const room = 100 // for the others, one of each status
	rows, err := s.Store.MetricLatestBuilds(ctx, maxSeries-room)
	if err != nil {
		return nil, err
	}
	all := newSeries(latestBuilds)
	counted := map[string]int64{}
	for _, r := range rows {
		all.add(float64(r.Workspaces), r.Status, r.Template, r.Version, r.Owner, r.Transition)
		counted[r.Status] += r.Workspaces
	}
	var out []prometheus.Metric
	for _, t := range totals {
		out = append(out, gauge(latestByStatus, float64(t.Workspaces), t.Status))
		if rest := t.Workspaces - counted[t.Status]; rest > 0 && len(rows) == maxSeries-room {
			all.add(float64(rest), t.Status, other, other, other, other)
		}
	}
	return append(out, all.metrics()...), nil
}

func (s *Service) latency(ctx context.Context) ([]prometheus.Metric, error) {
	send, receive, err := s.Latency(ctx)
	if err != nil {
		if !errors.Is(ctx.Err(), context.Canceled) { // the server stops
			s.failed.Inc()
		}
		return nil, err
	}
	return []prometheus.Metric{gauge(pubsubSend, send.Seconds()), gauge(pubsubReceive, receive.Seconds())}, nil
}

// insights reads the last day, from the start of an hour on.
func (s *Service) insights(ctx context.Context) ([]prometheus.Metric, error) {
	end := s.Now().UTC()
	start := end.Add(-day).Truncate(time.Hour)
	users, err := s.Store.MetricActiveUsers(ctx, start, maxSeries)
	if err != nil {
		return nil, err
	}
	byTemplate := newSeries(insightUsers)
	for _, r := range users {
		byTemplate.add(float64(r.Users), r.Template)
	}
	apps, err := s.applications(ctx, start, end)
	if err != nil {
		return nil, err
	}
	values, err := s.parameters(ctx, start, end)
	if err != nil {
		return nil, err
	}
	return slices.Concat(byTemplate.metrics(), apps.metrics(), values.metrics()), nil
}

func (s *Service) applications(ctx context.Context, start, end time.Time) (*series, error) {
	sessions, err := s.Store.InsightSessions(ctx, start, end, []uuid.UUID{})
	if err != nil {
		return nil, err
	}
	apps, err := s.Store.InsightApps(ctx, start, end, []uuid.UUID{})
	if err != nil {
		return nil, err
	}
	var ids []uuid.UUID
	for _, r := range sessions {
		ids = append(ids, r.TemplateID)
	}
	for _, r := range apps {
		ids = append(ids, r.TemplateID)
	}
	names, err := s.names(ctx, ids)
	if err != nil {
		return nil, err
	}
	out := newSeries(insightApps)
	for _, r := range sessions {
		for _, x := range []struct {
			name, slug string
			seconds    int64
		}{{"Visual Studio Code", "vscode", r.Vscode}, {"JetBrains", "jetbrains", r.Jetbrains}, {"Web Terminal", "reconnecting-pty", r.ReconnectingPty},
			{"SSH", "ssh", r.Ssh}} {
			if x.seconds > 0 {
				out.add(float64(x.seconds), x.name, x.slug, names[r.TemplateID])
			}
		}
	}
	for _, r := range apps {
		name := r.DisplayName
		if _, err := strconv.Atoi(r.SlugOrPort); err == nil && name == "" {
			name = "Port " + r.SlugOrPort
		} else if name == "" {
			name = r.SlugOrPort
		}
		out.add(float64(r.Seconds), name, r.SlugOrPort, names[r.TemplateID])
	}
	return out, nil
}

func (s *Service) parameters(ctx context.Context, start, end time.Time) (*series, error) {
	rows, err := s.Store.InsightParameters(ctx, start, end, []uuid.UUID{})
	if err != nil {
		return nil, err
	}
	var ids []uuid.UUID
	for _, r := range rows {
		ids = append(ids, r.TemplateID)
	}
	names, err := s.names(ctx, ids)
	if err != nil {
		return nil, err
	}
	versions, err := s.Store.InsightParameterRows(ctx, unique(ids))
	if err != nil {
		return nil, err
	}
	definitions := map[uuid.UUID][]codersdk.TemplateVersionParameter{}
	for _, v := range versions {
		definitions[v.TemplateID] = v.Parameters
	}
	out := newSeries(insightParameters)
	for _, r := range rows {
		defs := definitions[r.TemplateID]
		if i := slices.IndexFunc(defs, func(p codersdk.TemplateVersionParameter) bool { return p.Name == r.Name }); i >= 0 {
			out.add(float64(r.Workspaces), r.Name, string(defs[i].Type), r.Value, names[r.TemplateID])
		}
	}
	return out, nil
}

// names returns the names of templates.
func (s *Service) names(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]string, error) {
	rows, err := s.Store.MetricTemplateNames(ctx, unique(ids))
	if err != nil {
		return nil, err
	}
	out := make(map[uuid.UUID]string, len(rows))
	for _, r := range rows {
		out[r.ID] = r.Name
	}
	return out, nil
}

// unique returns the IDs without duplicates; never nil.
func unique(ids []uuid.UUID) []uuid.UUID {
	out := slices.Clone(ids)
	slices.SortFunc(out, func(a, b uuid.UUID) int { return strings.Compare(a.String(), b.String()) })
	return append([]uuid.UUID{}, slices.Compact(out)...)
}
