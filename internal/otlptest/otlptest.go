// Package otlptest receives traces in tests, over HTTP and gRPC, as an
// OpenTelemetry collector does.
package otlptest

import (
	"context"
	"encoding/hex"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

// Span is a received span.
type Span struct {
	*otlp.Span
	Service string
}

// ID returns the ID of the span in hexadecimal.
func (s Span) ID() string { return hex.EncodeToString(s.SpanId) }

// Trace returns the ID of the trace in hexadecimal.
func (s Span) Trace() string { return hex.EncodeToString(s.TraceId) }

// Parent returns the ID of the parent in hexadecimal; "" for a root span.
func (s Span) Parent() string { return hex.EncodeToString(s.ParentSpanId) }

// Attribute returns the value of an attribute as text; "" if it is missing.
func (s Span) Attribute(key string) string {
	for _, a := range s.Attributes {
		if a.Key == key {
			if v, ok := a.Value.Value.(interface{ String() string }); ok && a.Value.GetStringValue() == "" {
				return v.String()
			}
			return a.Value.GetStringValue()
		}
	}
	return ""
}

// Receiver stores the spans that it receives. It is safe for concurrent use.
type Receiver struct {
	collector.UnimplementedTraceServiceServer
	URL     string // base URL of OTLP over HTTP
	GRPCURL string // URL of OTLP over gRPC

	mu      sync.Mutex
	spans   []Span
	raw     []byte
	headers http.Header // of the last request over HTTP
}

// Start starts a receiver. The test's cleanup stops it.
func Start(t testing.TB) *Receiver {
	t.Helper()
	r := &Receiver{}
	s := httptest.NewServer(http.HandlerFunc(r.serve))
	t.Cleanup(s.Close)
	r.URL = s.URL
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := grpc.NewServer()
	collector.RegisterTraceServiceServer(g, r)
	go g.Serve(ln) //nolint:errcheck // ends with Stop
	t.Cleanup(g.Stop)
	r.GRPCURL = "http://" + ln.Addr().String()
	return r
}

func (r *Receiver) serve(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	var m collector.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(body, &m)
	}
	if err != nil || req.URL.Path != "/v1/traces" {
		http.Error(w, "not a request with traces", http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	r.headers = req.Header.Clone()
	r.mu.Unlock()
	r.add(&m)
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// Export implements the trace service of OTLP over gRPC.
func (r *Receiver) Export(_ context.Context, m *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	r.add(m)
	return &collector.ExportTraceServiceResponse{}, nil
}

func (r *Receiver) add(m *collector.ExportTraceServiceRequest) {
	raw, _ := proto.Marshal(m)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.raw = append(r.raw, raw...)
	for _, resource := range m.ResourceSpans {
		service := ""
		for _, a := range resource.Resource.GetAttributes() {
			if a.Key == "service.name" {
				service = a.Value.GetStringValue()
			}
		}
		for _, scope := range resource.ScopeSpans {
			for _, s := range scope.Spans {
				r.spans = append(r.spans, Span{s, service})
			}
		}
	}
}

// Spans returns all spans received so far.
func (r *Receiver) Spans() []Span {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Span{}, r.spans...)
}

// Raw returns the bytes of all received spans, to search them for secrets.
func (r *Receiver) Raw() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]byte{}, r.raw...)
}

// Header returns a header of the last request over HTTP.
func (r *Receiver) Header(name string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.headers.Get(name)
}

// Trace returns all spans of the first trace that has a span with this name.
func (r *Receiver) Trace(name string) []Span {
	var out []Span
	spans := r.Spans()
	for _, found := range spans {
		if found.Name != name {
			continue
		}
		for _, s := range spans {
			if s.Trace() == found.Trace() {
				out = append(out, s)
			}
		}
		return out
	}
	return nil
}
