package breakdown

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Kinds of rows.
const kindAll, kindDay, kindOrganization, kindTemplate, kindUser = "all", "day", "organization", "template", "user"

// day is 24 hours in seconds: the time for which a daily cost is the credits.
const day = 24 * 3600

// groups are the amounts of organizations, templates and users, by kind.
type groups map[string]map[uuid.UUID]codersdk.InsightsAmounts

// change changes the amounts of a group.
func (g groups) change(kind string, id uuid.UUID, set func(*codersdk.InsightsAmounts)) {
	if g[kind] == nil {
		g[kind] = map[uuid.UUID]codersdk.InsightsAmounts{}
	}
	a := g[kind][id]
	set(&a)
	g[kind][id] = a
}

// Usage returns the usage and the costs of a period.
func (s *Service) Usage(ctx context.Context, actor access.Subject, q Query) (codersdk.InsightsBreakdown, error) {
	if err := s.may(ctx, actor, q.Scope); err != nil {
		return codersdk.InsightsBreakdown{}, err
	}
	p, err := s.parse(q)
	if err != nil {
		return codersdk.InsightsBreakdown{}, err
	}
	ctx, release, err := s.reserve(ctx)
	if err != nil {
		return codersdk.InsightsBreakdown{}, err
	}
	defer release()
	out := codersdk.InsightsBreakdown{
		StartDate: p.days[0].Format(time.DateOnly), EndDate: p.days[len(p.days)-1].Format(time.DateOnly), Timezone: p.zone, Days: []codersdk.InsightsDay{},
	}
	for _, start := range p.days {
		out.Days = append(out.Days, codersdk.InsightsDay{Date: start.Format(time.DateOnly)})
	}
	all := groups{}
	err = s.c.Store.Tx(ctx, func(tx *sqlc.Queries) error {
		if err := tx.BreakdownSettings(ctx); err != nil {
			return err
		}
		if err := use(ctx, tx, &out, all, q.Scope, p); err != nil {
			return err
		}
		if err := cost(ctx, tx, &out, all, q.Scope, p); err != nil {
			return err
		}
		return name(ctx, tx, &out, all)
	})
	return out, err
}

// use adds the active users and the active time.
func use(ctx context.Context, tx *sqlc.Queries, out *codersdk.InsightsBreakdown, all groups, scope Scope, p period) error {
	rows, err := tx.BreakdownUse(ctx, sqlc.BreakdownUseParams{
		Days: p.days, Starts: p.days[0], Ends: p.ends, OrganizationID: scope.Organization, TemplateID: scope.Template, UserID: scope.User, Most: maxGroups,
	})
	if err != nil {
		return err
	}
	for _, r := range rows {
		set := func(a *codersdk.InsightsAmounts) { a.ActiveUsers, a.ActiveSeconds = r.Users, r.Seconds }
		switch r.Kind {
		case kindAll:
			set(&out.InsightsAmounts)
		case kindDay:
			set(&out.Days[r.N-1].InsightsAmounts)
		default:
			all.change(r.Kind, r.ID, set)
		}
	}
	return nil
}

// cost adds the credits.
func cost(ctx context.Context, tx *sqlc.Queries, out *codersdk.InsightsBreakdown, all groups, scope Scope, p period) error {
	start := p.days[0]
	rows, err := tx.BreakdownCost(ctx, sqlc.BreakdownCostParams{
		Days: p.days, Starts: start, Ends: p.ends, OrganizationID: scope.Organization, TemplateID: scope.Template, UserID: scope.User, Most: maxGroups,
	})
	if err != nil {
		return err
	}
	level := 0.0 // credits per day at the start of the day
	changes, weighted := make([]float64, len(p.days)), make([]float64, len(p.days))
	for _, r := range rows {
		switch r.Kind {
		case kindAll:
			level, out.Credits = float64(r.Credits), r.Weighted/day
		case kindDay:
			changes[r.N-1], weighted[r.N-1] = float64(r.Credits), r.Weighted
		default:
			all.change(r.Kind, r.ID, func(a *codersdk.InsightsAmounts) { a.Credits = r.Weighted / day })
		}
	}
	for i, from := range p.days {
		to := p.ends
		if i+1 < len(p.days) {
			to = p.days[i+1]
		}
		// A change counts from its time to the end of the day.
		since := changes[i]*to.Sub(start).Seconds() - weighted[i]
		out.Days[i].Credits = (level*to.Sub(from).Seconds() + since) / day
		level += changes[i]
	}
	return nil
}

// name adds the groups with the most time or costs, with their names.
func name(ctx context.Context, tx *sqlc.Queries, out *codersdk.InsightsBreakdown, all groups) error {
	lists := map[string]*[]codersdk.InsightsShare{kindOrganization: &out.Organizations, kindTemplate: &out.Templates, kindUser: &out.Users}
	var ids []uuid.UUID
	for kind, list := range lists {
		*list = highest(all[kind])
		for _, share := range *list {
			ids = append(ids, share.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	names, err := tx.BreakdownNames(ctx, ids)
	if err != nil {
		return err
	}
	for _, n := range names {
		for i := range *lists[n.Kind] {
			if share := &(*lists[n.Kind])[i]; share.ID == n.ID {
				share.Name, share.DisplayName = n.Name, n.DisplayName
			}
		}
	}
	return nil
}

// highest returns the groups with the highest costs and those with the most time,
// by costs, then by time.
func highest(all map[uuid.UUID]codersdk.InsightsAmounts) []codersdk.InsightsShare {
	list := make([]codersdk.InsightsShare, 0, len(all))
	for id, amounts := range all {
		if amounts != (codersdk.InsightsAmounts{}) {
			list = append(list, codersdk.InsightsShare{ID: id, InsightsAmounts: amounts})
		}
	}
	byID := func(a, b codersdk.InsightsShare) int { return slices.Compare(a.ID[:], b.ID[:]) }
	byTime := func(a, b codersdk.InsightsShare) int {
		return cmp.Or(cmp.Compare(b.ActiveSeconds, a.ActiveSeconds), byID(a, b))
	}
	byCost := func(a, b codersdk.InsightsShare) int { return cmp.Or(cmp.Compare(b.Credits, a.Credits), byTime(a, b)) }
	if len(list) > most {
		slices.SortFunc(list, byTime)
		active := list[:most]
		rest := list[most:]
		slices.SortFunc(rest, byCost)
		list = append(active, rest[:min(len(rest), most)]...)
	}
	slices.SortFunc(list, byCost)
	return list
}
