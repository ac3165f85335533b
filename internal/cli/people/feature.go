package people

import (
	"context"
	"maps"
	"slices"
	"strconv"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/cli/app"
	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
)

// feature is one feature by its name.
type feature struct {
	name string
	coder.Feature
}

func featuresCommand(a *app.Run) *app.Command {
	return &app.Command{
		Name: "features", Aliases: []string{"feature"},
		Short: "See what the server has; all of it is free.",
		Subs:  []*app.Command{featuresListCommand(a)},
	}
}

func featuresListCommand(a *app.Run) *app.Command {
	number := func(n *int64) string {
		if n == nil {
			return ""
		}
		return strconv.FormatInt(*n, 10)
	}
	l := &app.Listing[feature]{All: []app.Column[feature]{
		{Name: "name", Show: func(f feature) string { return f.name }},
		{Name: "entitlement", Show: func(f feature) string { return string(f.Entitlement) }},
		{Name: "enabled", Show: func(f feature) string { return app.YesNo(f.Enabled) }},
		{Name: "limit", Show: func(f feature) string { return number(f.Limit) }},
		{Name: "actual", Show: func(f feature) string { return number(f.Actual) }},
	}}
	return &app.Command{
		Name: "list", Aliases: []string{"ls"}, Max: 0,
		Short:   "List the features.",
		Options: []*option.Option{l.ColumnOption("name,entitlement,enabled,limit,actual"), l.FormatOption()},
		Run: func(ctx context.Context, _ []string) error {
			c, err := a.Client(ctx)
			if err != nil {
				return err
			}
			e, err := c.Entitlements(ctx)
			if err != nil {
				return err
			}
			if l.Format == "json" {
				return app.WriteJSON(a.Stdout, e)
			}
			var rows []feature
			for _, name := range slices.Sorted(maps.Keys(e.Features)) {
				rows = append(rows, feature{name, e.Features[name]})
			}
			return l.Write(a, rows)
		},
	}
}
