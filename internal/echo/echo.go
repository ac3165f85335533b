// Package echo implements an engine of provisioner jobs for tests. The engine plays
// scripts from the template archive and runs no other program, so that tests can
// exercise every path of a job without infrastructure.
//
// For each step, the archive can contain files of JSON lines. The engine plays the
// first of these files that exists:
//
//	<step>.claim.jsonl                   the start of a claimed prebuilt workspace
//	<step>.<source>.<transition>.jsonl   graph only; source is plan or state
//	<step>.<transition>.jsonl            transition is start, stop or destroy
//	<step>.<source>.jsonl                graph only
//	<step>.jsonl                         step is init, parse, plan, apply or graph
//
// A step without a file succeeds with an empty response; apply then returns the
// state "echo". A line is an object with one or more of these fields:
//
//	{"log": {"level": "INFO", "output": "hello"}}   a log line; "repeat": n logs it n times
//	{"sleep": "200ms"}                              waits; a cancel ends the step with an error
//	{"hang": true}                                  waits for a cancel; "deaf" instead of true ignores the cancel
//	{"complete": {...}}                             the response, as protojson of the step's Complete message
//	{"state": "text"}                               apply only: the state of the response; Watch reports it at once
//	{"error": "text"}                               the error of the response: a fault of the template
//	{"fail": "text"}                                an error of the engine itself
//	{"panic": "text"}                               a panic of the engine
//
// In the files, ${workspace_id}, ${workspace_name}, ${build_id}, ${owner},
// ${owner_session_token}, ${access_url}, ${parameter.NAME} and ${variable.NAME}
// are replaced by the build's values. ${prebuilt} is none, create or claim.
// ${token} is a UUID derived from the build ID, or the token of the running agent
// if the build keeps exactly one. README.md is the template's README unless parse
// returns another.
package echo

import (
	"archive/tar"
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
)

// maxArchiveSize is the number of bytes that are read of an archive at most.
const maxArchiveSize = 64 << 20

// Engine plays scripts. The zero value is ready to use.
type Engine struct{}

// New returns an engine.
func New() Engine { return Engine{} }

// Open starts a session for a job.
func (Engine) Open(_ context.Context, _ *provisioner.Config, log func(*provisioner.Log)) (provisioner.Session, error) {
	return &session{log: log, files: map[string]string{}, values: map[string]string{}}, nil
}

// Archive returns a template archive with the files, by name.
func Archive(files map[string]string) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(files[name]))}); err != nil {
			return nil, err
		}
		if _, err := io.WriteString(w, files[name]); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), w.Close()
}

type session struct {
	log     func(*provisioner.Log)
	onState func(state []byte) // from Watch; nil for none
	files   map[string]string
	values  map[string]string
}

// line is one line of a script.
type line struct {
	Log      json.RawMessage `json:"log"`
	Repeat   int             `json:"repeat"`
	Sleep    string          `json:"sleep"`
	Hang     any             `json:"hang"`
	Complete json.RawMessage `json:"complete"`
	State    *string         `json:"state"`
	Error    string          `json:"error"`
	Fail     string          `json:"fail"`
	Panic    string          `json:"panic"`
}

func (s *session) Init(ctx context.Context, r *provisioner.InitRequest) (*provisioner.InitComplete, error) {
	out := &provisioner.InitComplete{}
	if err := s.unpackArchive(r.TemplateSourceArchive); err != nil {
		out.Error = err.Error()
		return out, nil
	}
	text, err := s.playScript(ctx, out, "init")
	if text != "" {
		out.Error = text
	}
	return out, err
}

func (s *session) Parse(ctx context.Context, _ *provisioner.ParseRequest) (*provisioner.ParseComplete, error) {
	out := &provisioner.ParseComplete{Readme: []byte(s.files["README.md"])}
	text, err := s.playScript(ctx, out, "parse")
	if text != "" {
		out.Error = text
	}
	return out, err
}

func (s *session) Plan(ctx context.Context, r *provisioner.PlanRequest) (*provisioner.PlanComplete, error) {
	s.setMetadataValues(r.Metadata)
	for _, p := range r.RichParameterValues {
		s.values["parameter."+p.Name] = p.Value
	}
	for _, v := range r.VariableValues {
		s.values["variable."+v.Name] = v.Value
	}
	out := &provisioner.PlanComplete{}
	text, err := s.playScript(ctx, out, "plan."+transition(r.Metadata), "plan")
	if text != "" {
		out.Error = text
	}
	return out, err
}

func (s *session) Apply(ctx context.Context, r *provisioner.ApplyRequest) (*provisioner.ApplyComplete, error) {
	s.setMetadataValues(r.Metadata)
	out := &provisioner.ApplyComplete{State: []byte("echo")}
	text, err := s.playScript(ctx, out, "apply."+transition(r.Metadata), "apply")
	if text != "" {
		out.Error = text
	}
	return out, err
}

func (s *session) Graph(ctx context.Context, r *provisioner.GraphRequest) (*provisioner.GraphComplete, error) {
	s.setMetadataValues(r.Metadata)
	source := "plan"
	if r.Source == provisioner.GraphSource_SOURCE_STATE {
		source = "state"
	}
	out := &provisioner.GraphComplete{}
	t := transition(r.Metadata)
	text, err := s.playScript(ctx, out, "graph."+source+"."+t, "graph."+t, "graph."+source, "graph")
	if text != "" {
		out.Error = text
	}
	return out, err
}

// Watch sets the function that is called with each state of the script.
func (s *session) Watch(_ string, changed func(state []byte)) { s.onState = changed }

// Leave does nothing, because the session has no work directory.
func (s *session) Leave() {}

// Close does nothing, because the session has nothing to clean up.
func (s *session) Close() error { return nil }

func transition(m *provisioner.Metadata) string {
	return strings.ToLower(m.GetWorkspaceTransition().String())
}

func (s *session) setMetadataValues(m *provisioner.Metadata) {
	s.values["workspace_id"] = m.GetWorkspaceId()
	s.values["workspace_name"] = m.GetWorkspaceName()
	s.values["build_id"] = m.GetWorkspaceBuildId()
	s.values["owner"] = m.GetWorkspaceOwner()
	s.values["owner_session_token"] = m.GetWorkspaceOwnerSessionToken()
	s.values["access_url"] = m.GetCoderUrl()
	s.values["token"] = uuid.NewSHA1(uuid.NameSpaceURL, []byte("echo:"+m.GetWorkspaceBuildId())).String()
	if running := m.GetRunningAgentAuthTokens(); len(running) == 1 {
		s.values["token"] = running[0].GetToken()
	}
	s.values["prebuilt"] = strings.ToLower(m.GetPrebuiltWorkspaceBuildStage().String())
}

func (s *session) unpackArchive(archive []byte) error {
	r := tar.NewReader(io.LimitReader(bytes.NewReader(archive), maxArchiveSize))
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the template archive: %w", err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		b, err := io.ReadAll(r)
		if err != nil {
			return fmt.Errorf("read the template archive: %w", err)
		}
		s.files[path.Clean(h.Name)] = string(b)
	}
}

// playScript runs the first script of names that exists. It merges the script's
// response into out and returns the error text of the response.
func (s *session) playScript(ctx context.Context, out proto.Message, names ...string) (string, error) {
	if s.values["prebuilt"] == "claim" {
		step, _, _ := strings.Cut(names[0], ".")
		names = append([]string{step + ".claim"}, names...)
	}
	for _, name := range names {
		if script, ok := s.files[name+".jsonl"]; ok {
			return s.runScript(ctx, name, script, out)
		}
	}
	return "", nil
}

func (s *session) runScript(ctx context.Context, name, script string, out proto.Message) (string, error) {
	sc := bufio.NewScanner(strings.NewReader(s.expandPlaceholders(script)))
	sc.Buffer(nil, maxArchiveSize)
	failure := ""
	for n := 1; sc.Scan(); n++ {
		if strings.TrimSpace(sc.Text()) == "" {
			continue
		}
		if ctx.Err() != nil {
			return cmp.Or(failure, "interrupted"), nil
		}
		var l line
		dec := json.NewDecoder(bytes.NewReader(sc.Bytes()))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&l); err != nil {
			return fmt.Sprintf("%s.jsonl, line %d: %v", name, n, err), nil
		}
		text, err := s.runLine(ctx, l, out)
		if text != "" {
			failure = text
		}
		if err != nil {
			return failure, err
		}
	}
	return failure, sc.Err()
}

// runLine runs a line of a script and returns the error text of the response.
func (s *session) runLine(ctx context.Context, l line, out proto.Message) (string, error) {
	if l.Log != nil {
		m := &provisioner.Log{}
		if err := protojson.Unmarshal(l.Log, m); err != nil {
			return err.Error(), nil
		}
		for range max(l.Repeat, 1) {
			s.log(proto.CloneOf(m))
		}
	}
	if l.Sleep != "" {
		d, err := time.ParseDuration(l.Sleep)
		if err != nil {
			return err.Error(), nil
		}
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
			return "interrupted", nil
		}
	}
	if l.Hang != nil {
		if l.Hang == "deaf" {
			select {} //nolint:staticcheck // the script asks for it
		}
		<-ctx.Done()
		return "interrupted", nil
	}
	if l.Complete != nil {
		m := out.ProtoReflect().New().Interface()
		if err := protojson.Unmarshal(l.Complete, m); err != nil {
			return err.Error(), nil
		}
		proto.Merge(out, m)
	}
	if a, ok := out.(*provisioner.ApplyComplete); ok && l.State != nil {
		a.State = []byte(*l.State)
		if s.onState != nil {
			s.onState(a.State)
		}
	}
	if l.Panic != "" {
		panic(l.Panic)
	}
	if l.Fail != "" {
		return "", errors.New(l.Fail)
	}
	return l.Error, nil
}

// expandPlaceholders replaces the placeholders of a script by their values, escaped
// for JSON strings.
func (s *session) expandPlaceholders(script string) string {
	pairs := make([]string, 0, 2*len(s.values))
	for k, v := range s.values {
		q, err := json.Marshal(v)
		if err != nil {
			continue // a string always encodes
		}
		pairs = append(pairs, "${"+k+"}", string(q[1:len(q)-1]))
	}
	return strings.NewReplacer(pairs...).Replace(script)
}
