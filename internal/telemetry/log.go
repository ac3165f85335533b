// Package telemetry provides the logger of a process, its registry of metrics,
// and the listener that serves metrics or profiles. They are passed to their
// users; nothing is global.
package telemetry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"regexp"
	"strings"
)

// LogConfig configures the logs. Each of Human, JSON and Stackdriver is a path,
// /dev/stdout, /dev/stderr, or "" to disable it. (CP-17)
type LogConfig struct {
	Human, JSON, Stackdriver string
	// Filter enables debug lines whose "name" attribute matches one of the
	// expressions; ".*" enables all.
	Filter []string
	// Verbose enables all debug lines.
	Verbose bool
	Stderr  io.Writer // for /dev/stderr; nil means os.Stderr
	Stdout  io.Writer // for /dev/stdout; nil means os.Stdout
	Recent  *Recent   // also receives the lines, as text; nil keeps none
}

// NewLogger opens the log files and returns a logger that writes to all of
// them, and a function that closes them.
func NewLogger(c LogConfig) (*slog.Logger, func() error, error) {
	var (
		handlers []slog.Handler
		closers  []io.Closer
	)
	done := func() error {
		var errs []error
		for _, c := range closers {
			errs = append(errs, c.Close())
		}
		return errors.Join(errs...)
	}
	filter, err := newFilter(c)
	if err != nil {
		return nil, nil, err
	}
	for _, k := range []struct {
		path string
		make func(io.Writer) slog.Handler
	}{
		{c.Human, func(w io.Writer) slog.Handler {
			return slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug})
		}},
		{c.JSON, func(w io.Writer) slog.Handler {
			return slog.NewJSONHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug})
		}},
		{c.Stackdriver, stackdriver},
	} {
		if k.path == "" {
			continue
		}
		w, closer, err := open(k.path, c)
		if err != nil {
			return nil, nil, errors.Join(err, done())
		}
		if closer != nil {
			closers = append(closers, closer)
		}
		handlers = append(handlers, k.make(w))
	}
	if c.Recent != nil {
		handlers = append(handlers, slog.NewTextHandler(c.Recent, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	return slog.New(&fanout{handlers: handlers, filter: filter}), done, nil
}

func open(path string, c LogConfig) (io.Writer, io.Closer, error) {
	switch path {
	case "/dev/stderr":
		if c.Stderr != nil {
			return c.Stderr, nil, nil
		}
		return os.Stderr, nil, nil
	case "/dev/stdout":
		if c.Stdout != nil {
			return c.Stdout, nil, nil
		}
		return os.Stdout, nil, nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("open the log: %w", err)
	}
	return f, f, nil
}

// stackdriver renames the attributes that Google's collector expects.
func stackdriver(w io.Writer) slog.Handler {
	return slog.NewJSONHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) > 0 {
			return a
		}
		switch a.Key {
		case slog.LevelKey:
			a.Key = "severity"
			if a.Value.String() == "WARN" {
				a.Value = slog.StringValue("WARNING")
			}
		case slog.MessageKey:
			a.Key = "message"
		case slog.TimeKey:
			a.Key = "timestamp"
		}
		return a
	}})
}

// NameKey is the attribute with the name of a component, for LogConfig.Filter.
const NameKey = "name"

type filter struct {
	all   bool
	names []*regexp.Regexp
}

func newFilter(c LogConfig) (*filter, error) {
	f := &filter{all: c.Verbose}
	for _, e := range c.Filter {
		re, err := regexp.Compile(e)
		if err != nil {
			return nil, fmt.Errorf("the log filter %q is not a regular expression: %w", e, err)
		}
		f.names = append(f.names, re)
		f.all = f.all || e == ".*"
	}
	return f, nil
}

func (f *filter) debug(name string) bool {
	if f.all {
		return true
	}
	for _, re := range f.names {
		if re.MatchString(name) {
			return true
		}
	}
	return false
}

// fanout writes each record to every handler.
type fanout struct {
	handlers []slog.Handler
	filter   *filter
	name     string
}

func (h *fanout) Enabled(_ context.Context, l slog.Level) bool {
	return len(h.handlers) > 0 && (l >= slog.LevelInfo || h.filter.debug(h.name))
}

func (h *fanout) Handle(ctx context.Context, r slog.Record) error {
	var errs []error
	for _, x := range h.handlers {
		errs = append(errs, x.Handle(ctx, r.Clone()))
	}
	return errors.Join(errs...)
}

func (h *fanout) WithAttrs(attrs []slog.Attr) slog.Handler {
	n := &fanout{filter: h.filter, name: h.name}
	for _, a := range attrs {
		if a.Key == NameKey {
			n.name = strings.TrimPrefix(n.name+"."+a.Value.String(), ".")
		}
	}
	for _, x := range h.handlers {
		n.handlers = append(n.handlers, x.WithAttrs(attrs))
	}
	return n
}

func (h *fanout) WithGroup(name string) slog.Handler {
	n := &fanout{filter: h.filter, name: h.name}
	for _, x := range h.handlers {
		n.handlers = append(n.handlers, x.WithGroup(name))
	}
	return n
}
