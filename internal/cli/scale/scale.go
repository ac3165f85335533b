// Package scale is the command group "exp scaletest": it puts load on a
// deployment and measures how it copes. Package scaletest creates the load; this
// package has the options, the progress and the output of reports. (SCL-01)
package scale

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/option"
	"github.com/seed-2a7f8fe7/coder/internal/scaletest"
)

// Command returns the command scaletest.
func Command(a *command.Run) *command.Command {
	return &command.Command{
		Name:  "scaletest",
		Short: "Put load on a deployment and measure how it copes",
		Long: "Users and workspaces that the tests create have names that start with " + scaletest.Prefix + ". Run the tests " +
			"as an owner. Do not run them in production: they can slow the deployment down, and create costs.",
		Examples: []command.Example{
			{Text: "Create 50 workspaces, 10 at a time, and keep them", Line: "coder exp scaletest create-workspaces --template local --count 50 --no-cleanup"},
			{Text: "Send 40 KB/s to each of them for a minute over SSH", Line: "coder exp scaletest workspace-traffic --ssh --bytes-per-tick 4096 --duration 1m"},
			{Text: "Delete everything that the tests created", Line: "coder exp scaletest cleanup"},
		},
		Subs: []*command.Command{createCommand(a), trafficCommand(a), updatesCommand(a), dashboardCommand(a), cleanupCommand(a)},
	}
}

// runner has the options that all tests share.
type runner struct {
	app         *command.Run
	concurrency int
	timeout     time.Duration // of the whole test
	taskTimeout time.Duration
	retries     int
	outputs     []string
	metrics     string // address of the Prometheus endpoint
}

// options returns the shared options; concurrency and the name of the timeout of
// one task are those of the command.
func (o *runner) options(concurrency, taskFlag, taskDefault string) []*option.Option {
	return []*option.Option{
		option.Int(&o.concurrency, "concurrency", "Number of tasks at a time; 0 means all at once").
			Env("CODER_SCALETEST_CONCURRENCY").Def(concurrency),
		option.Duration(&o.timeout, "timeout", "Time limit of the whole test; 0 means no limit").Env("CODER_SCALETEST_TIMEOUT").Def("30m"),
		option.Duration(&o.taskTimeout, taskFlag, "Time limit of each task; 0 means no limit").
			Env("CODER_SCALETEST_" + strings.ToUpper(strings.ReplaceAll(taskFlag, "-", "_"))).Def(taskDefault),
		option.List(&o.outputs, "output", "Form of the report: text, json or markdown, with :<file> to write a file (repeatable)").
			Env("CODER_SCALETEST_OUTPUTS").Def("text"),
		option.Address(&o.metrics, "scaletest-prometheus-address", "Address to serve Prometheus metrics of the test at; empty for none").
			Env("CODER_SCALETEST_PROMETHEUS_ADDRESS"),
	}
}

// execute runs tasks with progress on standard error, then writes the report.
// It fails when a task failed.
//
// Without outputs, only the progress and an error are shown.
func (o *runner) execute(ctx context.Context, c *codersdk.Client, test string, tasks []scaletest.Task) error {
	outputs, err := parseOutputs(o.outputs)
	if err != nil {
		return err
	}
	info, err := c.BuildInfo(ctx)
	if err != nil {
		return err
	}
	recorder := scaletest.NewRecorder()
	if o.metrics != "" {
		stop, err := recorder.Serve(o.metrics)
		if err != nil {
			return command.Failure("--scaletest-prometheus-address: %s", command.RootCause(err))
		}
		defer stop()
	}
	s := o.app.Spin(test)
	report := scaletest.Run{
		Test: test, Concurrency: o.concurrency, Timeout: o.timeout, TaskTimeout: o.taskTimeout, Retries: o.retries, Recorder: recorder,
		Progress: func(p scaletest.Progress) {
			s.Say(fmt.Sprintf("%s: %d of %d done, %d failed, %d running", test, p.Done+p.Failed, p.Total, p.Failed, p.Running))
		},
	}.Execute(ctx, tasks)
	s.Done(report.Failed == 0)
	report.ServerVersion = info.Version
	for _, out := range outputs {
		if err := out.write(o.app.Stdout, report); err != nil {
			return err
		}
	}
	if report.Failed > 0 {
		if len(outputs) == 0 {
			return command.Failure("%s: %d of %d tasks failed, the first with: %s", test, report.Failed, report.Tasks, report.Failures[0].Error)
		}
		return command.Failure("%d of %d tasks failed; the report lists their errors", report.Failed, report.Tasks)
	}
	return nil
}

// output is one value of --output.
type output struct{ form, file string }

func parseOutputs(in []string) ([]output, error) {
	var out []output
	for _, text := range in {
		form, file, _ := strings.Cut(text, ":")
		switch form {
		case "text", "json", "markdown":
			out = append(out, output{form, file})
		default:
			return nil, command.Failure("--output: %q is none of text, json and markdown, with :<file> for a file", text)
		}
	}
	return out, nil
}

func (o output) write(stdout io.Writer, r scaletest.Report) error {
	if o.file == "" {
		return o.render(stdout, r)
	}
	f, err := os.Create(o.file)
	if err != nil {
		return command.Failure("--output: %s", command.RootCause(err))
	}
	err = o.render(f, r)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

func (o output) render(w io.Writer, r scaletest.Report) error {
	switch o.form {
	case "json":
		return command.WriteJSON(w, r)
	case "markdown":
		return r.Markdown(w)
	}
	return r.Text(w)
}

// slice returns the part of all that a range such as "10:20" names: from the
// first number up to but not including the second. An empty range is the whole.
func slice[T any](all []T, flag, text string) ([]T, error) {
	if text == "" {
		return all, nil
	}
	first, second, ok := strings.Cut(text, ":")
	from, err1 := strconv.Atoi(first)
	to, err2 := strconv.Atoi(second)
	if !ok || err1 != nil || err2 != nil || from < 0 || to <= from {
		return nil, command.Failure("--%s: %q is not a range such as 0:100", flag, text)
	}
	if to > len(all) {
		return nil, command.Failure("--%s: %s ends after the last of %d; create more, or use a smaller range", flag, text, len(all))
	}
	return all[from:to], nil
}
