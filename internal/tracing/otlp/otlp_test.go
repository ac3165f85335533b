package otlp_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder/internal/otlptest"
	"github.com/seed-2a7f8fe7/coder/internal/tracing"
	"github.com/seed-2a7f8fe7/coder/internal/tracing/otlp"
)

// export exports one span and returns the log.
func export(t *testing.T, c otlp.Config) string {
	t.Helper()
	var out bytes.Buffer
	c.Log = slog.New(slog.NewTextHandler(&out, nil))
	e, err := otlp.New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	_, span := e.Tracer.Start(t.Context(), "request", tracing.KindServer, tracing.Int("http.response.status_code", 200))
	span.End()
	if err := e.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestProtocols(t *testing.T) {
	for name, variables := range map[string]func(r *otlptest.Receiver) map[string]string{
		"http": func(r *otlptest.Receiver) map[string]string {
			return map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": r.URL, "OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20key"}
		},
		"traces endpoint": func(r *otlptest.Receiver) map[string]string {
			return map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": r.URL + "/v1/traces"}
		},
		"grpc": func(r *otlptest.Receiver) map[string]string {
			return map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": r.GRPCURL, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := otlptest.Start(t)
			for k, v := range variables(r) {
				t.Setenv(k, v)
			}
			t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=test")
			if log := export(t, otlp.Config{Enable: true, Service: "coder-server", Version: "v1"}); log != "" {
				t.Errorf("the log is %s", log)
			}
			spans := r.Spans()
			if len(spans) != 1 || spans[0].Name != "request" || spans[0].Service != "coder-server" {
				t.Fatalf("received %v", spans)
			}
			if name == "http" && r.Header("Authorization") != "Bearer key" {
				t.Errorf("the header is %q", r.Header("Authorization"))
			}
			if !bytes.Contains(r.Raw(), []byte("deployment.environment")) {
				t.Error("OTEL_RESOURCE_ATTRIBUTES has no effect")
			}
		})
	}
}

func TestServiceName(t *testing.T) {
	r := otlptest.Start(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", r.URL)
	t.Setenv("OTEL_SERVICE_NAME", "staging")
	export(t, otlp.Config{Enable: true, Service: "coder-server"})
	if got := r.Spans(); len(got) != 1 || got[0].Service != "staging" {
		t.Errorf("received %v", got)
	}
}

func TestEnabled(t *testing.T) {
	for _, test := range []struct {
		c        otlp.Config
		disabled string
		want     bool
	}{
		{otlp.Config{}, "", false},
		{otlp.Config{Enable: true}, "", true},
		{otlp.Config{HoneycombKey: "key"}, "", true},
		{otlp.Config{Enable: true, HoneycombKey: "key"}, "true", false},
	} {
		t.Setenv("OTEL_SDK_DISABLED", test.disabled)
		if got := test.c.Enabled(); got != test.want {
			t.Errorf("%+v with OTEL_SDK_DISABLED=%q: enabled is %t", test.c, test.disabled, got)
		}
	}
}

func TestNoExporter(t *testing.T) {
	r := otlptest.Start(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", r.URL)
	t.Setenv("OTEL_TRACES_EXPORTER", "none")
	export(t, otlp.Config{Enable: true})
	if n := len(r.Spans()); n > 0 {
		t.Errorf("%d spans were exported", n)
	}
}

func TestUnknownProtocol(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "carrier-pigeon")
	_, err := otlp.New(t.Context(), otlp.Config{Enable: true, Log: slog.New(slog.DiscardHandler)})
	if err == nil || !strings.Contains(err.Error(), "grpc or http/protobuf") {
		t.Errorf("the error is %v", err)
	}
}

// TestReceiverThatRefuses: the process goes on, and the log has one warning
// without the key.
func TestReceiverThatRefuses(t *testing.T) {
	r := otlptest.Start(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", r.URL+"/elsewhere")
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-honeycomb-team=secret-key")
	log := export(t, otlp.Config{Enable: true})
	if strings.Count(log, "cannot export traces") != 1 || strings.Contains(log, "secret-key") {
		t.Errorf("the log is %s", log)
	}
}
