package workspace_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/presence"
)

// TestLogsBeforeABuildEnds: programs beside an agent send log lines as soon as
// the state of the build names it, and the agent has them when the build ends.
func TestLogsBeforeABuildEnds(t *testing.T) {
	h := open(t)
	p := presence.New(presence.Config{Store: h.store, Hub: h.hub})
	h.create(h.ann, "dev")
	a := h.acquire()
	made := agentResource("main")
	token, source := made.Agents[0].GetToken(), uuid.New()
	send := func(as presence.Agent, text string) error {
		_, err := p.AppendLogs(t.Context(), as, presence.LogBatch{Source: source, Lines: []presence.LogLine{{Level: "warn", Output: text}}})
		return err
	}
	_, err := p.AuthenticateLogs(t.Context(), token)
	wantCode(t, err, codersdk.CodeUnauthenticated)
	state := fmt.Sprintf(`{"resources":[{"mode":"data","type":"coder_agent","instances":[{"attributes":{"token":%q}}]},
		{"mode":"managed","type":"coder_agent","instances":[{"attributes":{"token":%q}},{"attributes":{"token":"no token"}}]}]}`, uuid.NewString(), token)
	tell := func() {
		_, err := h.queue.Update(t.Context(), h.worker, a.Fence, &provisionerd.UpdateJobRequest{JobId: a.JobId, State: zipped(t, []byte(state)), Resumable: true})
		h.must(err)
	}
	tell()
	early, err := p.AuthenticateLogs(t.Context(), token)
	h.must(err)
	_, err = p.AuthenticateAgent(t.Context(), token)
	wantCode(t, err, codersdk.CodeUnauthenticated)
	_, err = p.PutLogSource(t.Context(), early, source, "Kubernetes", "/icon/k8s.png")
	h.must(err)
	h.must(send(early, "pulling the image"))
	full, err := p.AppendLogs(t.Context(), early, presence.LogBatch{Source: source, Lines: []presence.LogLine{{Output: strings.Repeat("x", presence.LogLimit)}}})
	if err != nil || !full {
		t.Errorf("a full log: %v %v", full, err)
	}
	tell() // a later state names it again
	h.finish(a, state, made)
	late, err := p.AuthenticateLogs(t.Context(), token)
	h.must(err)
	agent, err := p.AuthenticateAgent(t.Context(), token)
	if err != nil || late.ID != agent.ID || agent.Status != codersdk.WorkspaceAgentStatusConnecting {
		t.Fatalf("%v: %v %v", err, late.ID, agent.Status)
	}
	// A call that began before the build ended finds the agent.
	_, err = p.PutLogSource(t.Context(), early, source, "Kubernetes again", "/icon/k8s.png")
	h.must(err)
	h.must(send(early, "too much"))
	lines, err := p.Logs(t.Context(), h.ann, agent.ID, 0, 0)
	if err != nil || len(lines) != 1 || lines[0].Output != "pulling the image" || lines[0].Level != "warn" || lines[0].SourceID != source {
		t.Errorf("%v: %+v", err, lines)
	}
	v, err := p.View(t.Context(), h.ann, agent.ID)
	if err != nil || !v.LogsOverflowed || len(v.LogSources) != 2 {
		t.Errorf("%v: %v %+v", err, v.LogsOverflowed, v.LogSources)
	}
}

// TestLogsOfAFailedBuild: the agents that a failed build named are unknown.
func TestLogsOfAFailedBuild(t *testing.T) {
	h := open(t)
	p := presence.New(presence.Config{Store: h.store, Hub: h.hub})
	h.create(h.ann, "dev")
	a, token := h.acquire(), uuid.NewString()
	state := fmt.Sprintf(`{"resources":[{"mode":"managed","type":"coder_agent","instances":[{"attributes":{"token":%q}}]}]}`, token)
	_, err := h.queue.Update(t.Context(), h.worker, a.Fence, &provisionerd.UpdateJobRequest{JobId: a.JobId, State: zipped(t, []byte(state)), Resumable: true})
	h.must(err)
	early, err := p.AuthenticateLogs(t.Context(), token)
	h.must(err)
	h.fail(a, state)
	_, err = p.AuthenticateLogs(t.Context(), token)
	wantCode(t, err, codersdk.CodeUnauthenticated)
	_, err = p.AppendLogs(t.Context(), early, presence.LogBatch{Source: uuid.New(), Lines: []presence.LogLine{{Output: "late"}}})
	wantCode(t, err, codersdk.CodeUnauthenticated)
}
