package terraform

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/internal/terraform/graph"
)

// maxLogLine is the longest line of a job's log, in bytes.
const maxLogLine = 4 << 10

// maxDiagnostics is the number of errors in the message of a failed command;
// the log contains all.
const maxDiagnostics = 5

// message is a line of Terraform's machine-readable output.
type message struct {
	Level      string     `json:"@level"`
	Message    string     `json:"@message"`
	Timestamp  time.Time  `json:"@timestamp"`
	Type       string     `json:"type"`
	Diagnostic diagnostic `json:"diagnostic"`
	Hook       struct {
		Resource    hookResource `json:"resource"`
		Action      string       `json:"action"`
		Provisioner string       `json:"provisioner"`
	} `json:"hook"`
	Change struct {
		Resource hookResource `json:"resource"`
		Action   string       `json:"action"`
	} `json:"change"`
}

type hookResource struct {
	Addr            string          `json:"addr"`
	ImpliedProvider string          `json:"implied_provider"`
	Module          string          `json:"module"`
	Type            string          `json:"resource_type"`
	Name            string          `json:"resource_name"`
	Key             json.RawMessage `json:"resource_key,omitempty"`
}

// event converts the message for graph.Creations.
func (m message) event() graph.Event {
	resource, action := m.Hook.Resource, m.Hook.Action
	if m.Type == "planned_change" {
		resource, action = m.Change.Resource, m.Change.Action
	}
	return graph.Event{Type: m.Type, Action: action, Address: graph.Address{
		Module: resource.Module, Type: resource.Type, Name: resource.Name, Key: graph.InstanceKey(resource.Key),
	}}
}

type diagnostic struct {
	Severity string `json:"severity"`
	Summary  string `json:"summary"`
	Detail   string `json:"detail"`
	Address  string `json:"address"`
	Range    *struct {
		Filename string `json:"filename"`
		Start    struct {
			Line int `json:"line"`
		} `json:"start"`
	} `json:"range"`
	Snippet *struct {
		Code string `json:"code"`
	} `json:"snippet"`
}

// String returns the diagnostic as "location: summary: detail", on one or more
// lines.
func (d diagnostic) String() string {
	var b strings.Builder
	switch {
	case d.Range != nil && d.Range.Filename != "":
		fmt.Fprintf(&b, "%s:%d: ", d.Range.Filename, d.Range.Start.Line)
	case d.Address != "":
		fmt.Fprintf(&b, "%s: ", d.Address)
	}
	b.WriteString(d.Summary)
	if d.Detail != "" && d.Detail != d.Summary {
		b.WriteString(": " + d.Detail)
	}
	return b.String()
}

// recorder converts the output of one command to log lines, timings and, on
// failure, one message.
type recorder struct {
	log      func(level provisioner.LogLevel, text string)
	stage    string
	started  map[string]*provisioner.Timing
	timings  []*provisioner.Timing
	errors   []string
	stderr   []string    // the last lines, for failures without diagnostics
	replace  bool        // a planned change replaces something
	applying atomic.Bool // a change has started
	// seen, unless nil, is called with each message before it is logged.
	seen func(graph.Event)
}

func newRecorder(stage string, log func(provisioner.LogLevel, string)) *recorder {
	return &recorder{stage: stage, log: log, started: map[string]*provisioner.Timing{}}
}

// stdout handles one line of JSON output. Other lines are logged unchanged.
func (r *recorder) stdout(line []byte) {
	var m message
	if line[0] != '{' || json.Unmarshal(line, &m) != nil || m.Type == "" && m.Message == "" {
		r.print(provisioner.LogLevel_INFO, string(line))
		return
	}
	if r.seen != nil {
		r.seen(m.event())
	}
	switch m.Type {
	case "version", "outputs":
		r.print(provisioner.LogLevel_DEBUG, m.Message)
		return
	case "diagnostic":
		r.diagnostic(m)
		return
	case "apply_start":
		r.applying.Store(true)
	case "planned_change":
		if m.Change.Action == "replace" {
			r.replace = true
		}
	}
	r.time(m)
	r.print(level(m.Level), m.Message)
}

func (r *recorder) diagnostic(m message) {
	text := m.Diagnostic.String()
	if text == "" {
		text = m.Message
	}
	if m.Diagnostic.Severity == "error" || m.Level == "error" {
		r.errors = append(r.errors, text)
		r.print(provisioner.LogLevel_ERROR, text)
		return
	}
	r.print(provisioner.LogLevel_WARN, text)
}

// takeStderr handles one line of free text: Terraform's debug log, warnings
// about the machine, or a crash.
func (r *recorder) takeStderr(line []byte) {
	text := string(line)
	for mark, l := range map[string]provisioner.LogLevel{
		"[TRACE]": provisioner.LogLevel_TRACE, "[DEBUG]": provisioner.LogLevel_DEBUG,
		"[INFO]": provisioner.LogLevel_DEBUG, "[WARN]": provisioner.LogLevel_DEBUG,
	} {
		if i := strings.Index(text, mark); i >= 0 && i < 40 {
			r.print(l, text)
			return
		}
	}
	if r.stderr = append(r.stderr, text); len(r.stderr) > 20 {
		r.stderr = r.stderr[1:]
	}
	r.print(provisioner.LogLevel_WARN, text)
}

// print logs text line by line, each bounded.
func (r *recorder) print(l provisioner.LogLevel, text string) {
	for line := range strings.Lines(text) {
		line = strings.ToValidUTF8(strings.ReplaceAll(strings.TrimRight(line, "\r\n"), "\x00", ""), "\uFFFD")
		if len(line) > maxLogLine {
			line = strings.ToValidUTF8(line[:maxLogLine], "") + "…"
		}
		r.log(l, line)
	}
}

func level(s string) provisioner.LogLevel {
	switch s {
	case "trace":
		return provisioner.LogLevel_TRACE
	case "debug":
		return provisioner.LogLevel_DEBUG
	case "warn":
		return provisioner.LogLevel_WARN
	case "error":
		return provisioner.LogLevel_ERROR
	}
	return provisioner.LogLevel_INFO
}

// time records the time of a resource from the start of an operation to its
// end.
func (r *recorder) time(m message) {
	operation, event, ok := strings.Cut(m.Type, "_")
	if !ok || m.Hook.Resource.Addr == "" {
		return
	}
	action := m.Hook.Action
	switch operation {
	case "refresh", "provision":
		action = operation
	case "apply":
	default:
		return
	}
	key := operation + " " + m.Hook.Provisioner + " " + m.Hook.Resource.Addr
	switch event {
	case "start":
		r.started[key] = &provisioner.Timing{
			Start: timestamppb.New(m.Timestamp), Action: action, Source: m.Hook.Resource.ImpliedProvider,
			Resource: m.Hook.Resource.Addr, Stage: r.stage, State: provisioner.TimingState_STARTED,
		}
	case "complete", "errored":
		t, ok := r.started[key]
		if !ok {
			return
		}
		delete(r.started, key)
		t.End, t.State = timestamppb.New(m.Timestamp), provisioner.TimingState_COMPLETED
		if event == "errored" {
			t.State = provisioner.TimingState_FAILED
		}
		r.timings = append(r.timings, t)
	}
}

// finish returns the timings of the command and of its resources. An operation
// without an end failed with the command.
func (r *recorder) finish(begin, end time.Time, ok bool) []*provisioner.Timing {
	for _, t := range r.started {
		t.End, t.State = timestamppb.New(end), provisioner.TimingState_FAILED
		r.timings = append(r.timings, t)
	}
	whole := &provisioner.Timing{
		Start: timestamppb.New(begin), End: timestamppb.New(end), Action: r.stage, Source: "terraform",
		Resource: "terraform " + r.stage, Stage: r.stage, State: provisioner.TimingState_COMPLETED,
	}
	if !ok {
		whole.State = provisioner.TimingState_FAILED
	}
	return append([]*provisioner.Timing{whole}, r.timings...)
}

// failure returns why the command failed, for the template's author.
func (r *recorder) failure(err error) string {
	reasons := r.errors
	if len(reasons) == 0 && len(r.stderr) > 0 {
		reasons = []string{strings.Join(r.stderr, "\n")}
	}
	text := strings.Join(reasons[:min(len(reasons), maxDiagnostics)], "\n")
	if more := len(reasons) - maxDiagnostics; more > 0 {
		text += fmt.Sprintf("\nand %d more errors; see the log", more)
	}
	if text == "" {
		text = err.Error()
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}
