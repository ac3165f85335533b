package agentcmd

import (
	"context"
	"fmt"
	"io"

	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/option"
	"github.com/seed-2a7f8fe7/coder/internal/sysstat"
)

// prefixOption returns --prefix.
func prefixOption(p *string) *option.Option {
	return option.Choice(p, "prefix", "Unit prefix of the values", "Ki", "Mi", "Gi", "Ti").Def("Gi")
}

// singleValueCommand completes a subcommand that shows one value.
func singleValueCommand(a *command.Run, c *command.Command, prefix *string, measure func(ctx context.Context) (*sysstat.Amount, error)) *command.Command {
	l := &command.Listing[*sysstat.Amount]{Text: func(w io.Writer, rows []*sysstat.Amount) error {
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
			return command.WriteJSON(a.Stdout, v)
		}
		return l.Write(a, []*sysstat.Amount{v})
	}
	return c
}

// statCommand returns the command that shows resource usage: of the container
// if the workspace is one, otherwise of the machine. Templates use it for agent
// metadata. (AG-24)
func statCommand(a *command.Run) *command.Command {
	m := sysstat.Machine{Root: "/"}
	var host, memHost bool
	var prefix, diskPrefix, path, cores string
	l := &command.Listing[sysstat.Overview]{All: []command.Column[sysstat.Overview]{
		{Name: "host cpu", Show: func(o sysstat.Overview) string { return o.HostCPU.Text("") }},
		{Name: "host memory", Show: func(o sysstat.Overview) string { return o.HostMemory.Text("Gi") }},
		{Name: "home disk", Show: func(o sysstat.Overview) string { return o.HomeDisk.Text("Gi") }},
		{Name: "container cpu", Show: func(o sysstat.Overview) string { return o.ContainerCPU.Text("") }},
		{Name: "container memory", Show: func(o sysstat.Overview) string { return o.ContainerMemory.Text("Gi") }},
	}}
	return &command.Command{
		Name: "stat", Max: 0,
		Short:   "Show the CPU, memory and disk usage of the workspace",
		Options: []*option.Option{l.ColumnOption("host cpu,host memory,home disk,container cpu,container memory"), l.FormatOption()},
		Run: func(ctx context.Context, _ []string) error {
			return l.Write(a, []sysstat.Overview{m.Overview(ctx, a.Home())})
		},
		Subs: []*command.Command{
			singleValueCommand(a, &command.Command{
				Name: "cpu", Short: "Show the CPU usage, in cores",
				Options: []*option.Option{option.Bool(&host, "host", "Show the usage of the machine, even inside a container")},
			}, &cores, func(ctx context.Context) (*sysstat.Amount, error) { return m.CPU(ctx, host) }),
			singleValueCommand(a, &command.Command{
				Name: "mem", Short: "Show the memory usage",
				Options: []*option.Option{option.Bool(&memHost, "host", "Show the usage of the machine, even inside a container"), prefixOption(&prefix)},
			}, &prefix, func(context.Context) (*sysstat.Amount, error) { return m.Memory(memHost) }),
			singleValueCommand(a, &command.Command{
				Name: "disk", Short: "Show the disk usage",
				Options: []*option.Option{option.String(&path, "path", "File or directory on the disk").Def("/"), prefixOption(&diskPrefix)},
			}, &diskPrefix, func(context.Context) (*sysstat.Amount, error) { return sysstat.Disk(path) }),
		},
	}
}
