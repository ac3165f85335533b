package inside

import (
	"context"
	"fmt"
	"io"

	"github.com/seed-2a7f8fe7/coder/internal/cli/app"
	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
	"github.com/seed-2a7f8fe7/coder/internal/usage"
)

// prefixOption is --prefix.
func prefixOption(p *string) *option.Option {
	return option.Choice(p, "prefix", "Unit of the text.", "Ki", "Mi", "Gi", "Ti").Def("Gi")
}

// one is a subcommand that shows one amount.
func one(a *app.Run, c *app.Command, prefix *string, measure func(ctx context.Context) (*usage.Amount, error)) *app.Command {
	l := &app.Listing[*usage.Amount]{Text: func(w io.Writer, rows []*usage.Amount) error {
		_, err := fmt.Fprintln(w, rows[0].Text(*prefix))
		return err
	}}
	c.Options = append(c.Options, l.FormatOption("text", "json"))
	c.Run = func(ctx context.Context, _ []string) error {
		v, err := measure(ctx)
		if err != nil {
			return err
		}
		if l.Format == "json" {
			return app.WriteJSON(a.Stdout, v)
		}
		return l.Write(a, []*usage.Amount{v})
	}
	return c
}

// statCommand tells how much a workspace uses: of its container where it is
// one, of the machine otherwise. Templates use it for metadata. (AG-24)
func statCommand(a *app.Run) *app.Command {
	m := usage.Machine{Root: "/"}
	var host, memHost bool
	var prefix, diskPrefix, path, cores string
	l := &app.Listing[usage.Overview]{All: []app.Column[usage.Overview]{
		{Name: "host cpu", Show: func(o usage.Overview) string { return o.HostCPU.Text("") }},
		{Name: "host memory", Show: func(o usage.Overview) string { return o.HostMemory.Text("Gi") }},
		{Name: "home disk", Show: func(o usage.Overview) string { return o.HomeDisk.Text("Gi") }},
		{Name: "container cpu", Show: func(o usage.Overview) string { return o.ContainerCPU.Text("") }},
		{Name: "container memory", Show: func(o usage.Overview) string { return o.ContainerMemory.Text("Gi") }},
	}}
	return &app.Command{
		Name: "stat", Max: 0,
		Short:   "Show how much of its processors, memory and disk this workspace uses.",
		Options: []*option.Option{l.ColumnOption("host cpu,host memory,home disk,container cpu,container memory"), l.FormatOption()},
		Run: func(ctx context.Context, _ []string) error {
			return l.Write(a, []usage.Overview{m.Overview(ctx, a.Home())})
		},
		Subs: []*app.Command{
			one(a, &app.Command{
				Name: "cpu", Short: "Show how many processors are busy.",
				Options: []*option.Option{option.Bool(&host, "host", "Of the machine, even inside of a container.")},
			}, &cores, func(ctx context.Context) (*usage.Amount, error) { return m.CPU(ctx, host) }),
			one(a, &app.Command{
				Name: "mem", Short: "Show how much memory is used.",
				Options: []*option.Option{option.Bool(&memHost, "host", "Of the machine, even inside of a container."), prefixOption(&prefix)},
			}, &prefix, func(context.Context) (*usage.Amount, error) { return m.Memory(memHost) }),
			one(a, &app.Command{
				Name: "disk", Short: "Show how much of a disk is used.",
				Options: []*option.Option{option.String(&path, "path", "A file or directory on the disk.").Def("/"), prefixOption(&diskPrefix)},
			}, &diskPrefix, func(context.Context) (*usage.Amount, error) { return usage.Disk(path) }),
		},
	}
}
