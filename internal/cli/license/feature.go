package license

import (
	"context"
	"maps"
	"slices"
	"strconv"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/option"
)

// feature is one feature and its name.
type feature struct {
	name string
	codersdk.Feature
}

// FeaturesCommand returns the command features.
func FeaturesCommand(a *command.Run) *command.Command {
	return &command.Command{
		Name: "features", Aliases: []string{"feature"},
		Short: "List the features of the deployment; none needs a license",
		Subs:  []*command.Command{listFeaturesCommand(a)},
	}
}

func listFeaturesCommand(a *command.Run) *command.Command {
	number := func(n *int64) string {
		if n == nil {
			return ""
		}
		return strconv.FormatInt(*n, 10)
	}
	l := &command.Listing[feature]{All: []command.Column[feature]{
		{Name: "name", Show: func(f feature) string { return f.name }},
		{Name: "entitlement", Show: func(f feature) string { return string(f.Entitlement) }},
		{Name: "enabled", Show: func(f feature) string { return command.YesNo(f.Enabled) }},
		{Name: "limit", Show: func(f feature) string { return number(f.Limit) }},
		{Name: "actual", Show: func(f feature) string { return number(f.Actual) }},
	}}
	return &command.Command{
		Name: "list", Aliases: []string{"ls"}, Max: 0,
		Short:   "List the features",
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
				return command.WriteJSON(a.Stdout, e)
			}
			var rows []feature
			for _, name := range slices.Sorted(maps.Keys(e.Features)) {
				rows = append(rows, feature{name, e.Features[name]})
			}
			return l.Write(a, rows)
		},
	}
}
