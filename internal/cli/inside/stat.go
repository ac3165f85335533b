package inside

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/cli/app"
	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
)

// amount is how much of something is used, and of how much if that is limited.
type amount struct {
	Used  float64  `json:"used"`
	Total *float64 `json:"total"`
	Unit  string   `json:"unit"` // cores, or B for bytes
}

func of(used, total float64, unit string) *amount {
	return &amount{Used: used, Total: &total, Unit: unit}
}

// text gives the amount for people, bytes in the binary prefix given, such as
// "1.2/4 cores (30%)" or "3.1/7.7 GiB (40%)".
func (a *amount) text(prefix string) string {
	if a == nil {
		return "not available"
	}
	scale, unit := 1.0, a.Unit
	if a.Unit == "B" {
		scale, unit = map[string]float64{"": 1, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40}[prefix], prefix+"B"
	}
	short := func(f float64) string { return strings.TrimSuffix(strconv.FormatFloat(f/scale, 'f', 1, 64), ".0") }
	if a.Total == nil {
		return short(a.Used) + " " + unit
	}
	s := short(a.Used) + "/" + short(*a.Total) + " " + unit
	if *a.Total > 0 {
		s += fmt.Sprintf(" (%.0f%%)", 100*a.Used / *a.Total)
	}
	return s
}

// samplePeriod is how long the use of processors is watched. Scripts of
// metadata wait for it.
const samplePeriod = 200 * time.Millisecond

// used watches a counter of processor seconds and gives how many processors
// were busy meanwhile.
func used(ctx context.Context, seconds func() (float64, error)) (float64, error) {
	before, err := seconds()
	if err != nil {
		return 0, err
	}
	begin := time.Now()
	select {
	case <-time.After(samplePeriod):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	after, err := seconds()
	if err != nil {
		return 0, err
	}
	return max(0, (after-before)/time.Since(begin).Seconds()), nil
}

// errNoContainer says that there is no container around this process whose use
// could be told.
var errNoContainer = errors.New("this is no container that says what it uses; leave out --host for the machine")

// prefixOption is --prefix.
func prefixOption(p *string) *option.Option {
	return option.Choice(p, "prefix", "Unit of the text.", "Ki", "Mi", "Gi", "Ti").Def("Gi")
}

// one is a subcommand that shows one amount.
func one(a *app.Run, c *app.Command, prefix *string, measure func(ctx context.Context) (*amount, error)) *app.Command {
	l := &app.Listing[*amount]{Text: func(w io.Writer, rows []*amount) error {
		_, err := fmt.Fprintln(w, rows[0].text(*prefix))
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
		return l.Write(a, []*amount{v})
	}
	return c
}

// overview is what stat shows.
type overview struct {
	HostCPU         *amount `json:"host_cpu"`
	HostMemory      *amount `json:"host_memory"`
	HomeDisk        *amount `json:"home_disk"`
	ContainerCPU    *amount `json:"container_cpu"`
	ContainerMemory *amount `json:"container_memory"`
}

// statCommand tells how much a workspace uses: of its container where it is
// one, of the machine otherwise. Templates use it for metadata. (AG-24)
func statCommand(a *app.Run) *app.Command {
	m := machine{root: "/"}
	var host, memHost bool
	var prefix, diskPrefix, path, cores string
	l := &app.Listing[overview]{All: []app.Column[overview]{
		{Name: "host cpu", Show: func(o overview) string { return o.HostCPU.text("") }},
		{Name: "host memory", Show: func(o overview) string { return o.HostMemory.text("Gi") }},
		{Name: "home disk", Show: func(o overview) string { return o.HomeDisk.text("Gi") }},
		{Name: "container cpu", Show: func(o overview) string { return o.ContainerCPU.text("") }},
		{Name: "container memory", Show: func(o overview) string { return o.ContainerMemory.text("Gi") }},
	}}
	return &app.Command{
		Name: "stat", Max: 0,
		Short:   "Show how much of its processors, memory and disk this workspace uses.",
		Options: []*option.Option{l.ColumnOption("host cpu,host memory,home disk,container cpu,container memory"), l.FormatOption()},
		Run: func(ctx context.Context, _ []string) error {
			return l.Write(a, []overview{m.overview(ctx, a.Home())})
		},
		Subs: []*app.Command{
			one(a, &app.Command{
				Name: "cpu", Short: "Show how many processors are busy.",
				Options: []*option.Option{option.Bool(&host, "host", "Of the machine, even inside of a container.")},
			}, &cores, func(ctx context.Context) (*amount, error) { return m.cpu(ctx, host) }),
			one(a, &app.Command{
				Name: "mem", Short: "Show how much memory is used.",
				Options: []*option.Option{option.Bool(&memHost, "host", "Of the machine, even inside of a container."), prefixOption(&prefix)},
			}, &prefix, func(context.Context) (*amount, error) { return m.memory(memHost) }),
			one(a, &app.Command{
				Name: "disk", Short: "Show how much of a disk is used.",
				Options: []*option.Option{option.String(&path, "path", "A file or directory on the disk.").Def("/"), prefixOption(&diskPrefix)},
			}, &diskPrefix, func(context.Context) (*amount, error) { return disk(path) }),
		},
	}
}

// machine is what this process runs on, and the container around it. root is
// where its files are: / but in tests.
type machine struct{ root string }

func (m machine) cpu(ctx context.Context, host bool) (*amount, error) {
	if c, ok := m.container(); ok && !host {
		return c.cpu(ctx)
	}
	return m.hostCPU(ctx)
}

func (m machine) memory(host bool) (*amount, error) {
	if c, ok := m.container(); ok && !host {
		return c.memory()
	}
	return m.hostMemory()
}

// overview gives all amounts there are.
func (m machine) overview(ctx context.Context, home string) overview {
	var o overview
	got := make(chan *amount, 1)
	go func() {
		v, _ := m.hostCPU(ctx) // shown as not available
		got <- v
	}()
	if c, ok := m.container(); ok {
		o.ContainerCPU, _ = c.cpu(ctx)
		o.ContainerMemory, _ = c.memory()
	}
	o.HostMemory, _ = m.hostMemory()
	if _, err := os.Stat(home); err == nil {
		o.HomeDisk, _ = disk(home)
	}
	o.HostCPU = <-got
	return o
}
