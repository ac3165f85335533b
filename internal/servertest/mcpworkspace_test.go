package servertest_test

import (
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder/internal/servertest"
)

// TestMCPInWorkspace runs commands and changes files in a workspace.
func TestMCPInWorkspace(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t, nil)
	w, token := agentWorkspace(t, s)
	startAgent(t, s, w, token)
	session := mcpSession(t, s, s.Client.SessionToken)
	type m = map[string]any
	in := func(more m) m {
		more["workspace"] = "dev"
		return more
	}
	for _, c := range []struct {
		name, tool string
		in         m
		failed     bool
		want       string
	}{
		{"exit code and both outputs", "coder_workspace_bash", in(m{"command": "echo out; echo err >&2; exit 3"}), false, `{"exit_code":3,"output":"out\nerr\n"}`},
		{"order of both outputs", "coder_workspace_bash", in(m{"command": "for i in 1 2 3 4; do echo o$i; echo e$i >&2; done; echo ${CODER_MCP_COMMAND-none}"}), false,
			`"output":"o1\ne1\no2\ne2\no3\ne3\no4\ne4\nnone\n"`},
		{"quotes", "coder_workspace_bash", in(m{"command": `printf '%s\n' "it's" 'a\b' "$((1+1))"`}), false, `"output":"it's\na\\b\n2\n"`},
		{"timeout", "coder_workspace_bash", in(m{"command": "echo begun; exec sleep 600", "timeout_ms": 10000}), false, `{"exit_code":-1,"timed_out":true,"output":"begun\n"}`},
		{"long output", "coder_workspace_bash", in(m{"command": "yes | head -c 1000000"}), false, "bytes omitted]"},
		{"timeout beyond the maximum", "coder_workspace_bash", in(m{"command": "true", "timeout_ms": 300001}), true, "maximum"},
		{"write", "coder_workspace_write_file", in(m{"path": "~/a/b.txt", "content": "one two one"}), false, "written"},
		{"not once", "coder_workspace_edit_file", in(m{"path": "~/a/b.txt", "edits": []m{{"search": "one", "replace": "x"}}}), true, "occurs 2 times"},
		{"edit", "coder_workspace_edit_file", in(m{"path": "~/a/b.txt", "edits": []m{{"search": "two", "replace": "2"}}}), false, "written"},
		{"no file is changed when one edit fails", "coder_workspace_edit_files", in(m{"files": []m{
			{"path": "~/a/b.txt", "edits": []m{{"search": "2", "replace": "3"}}}, {"path": "~/a/none", "edits": []m{{"search": "a", "replace": "b"}}},
		}}), true, "does not exist"},
		{"read", "coder_workspace_read_file", in(m{"path": "~/a/b.txt", "offset": 4, "limit": 1}), false, `{"size":9,"offset":4,"encoding":"utf-8","content":"2","more":true}`},
		{"write binary", "coder_workspace_write_file", in(m{"path": "~/a/bin", "content": "/wA=", "encoding": "base64"}), false, "written"},
		{"read binary", "coder_workspace_read_file", in(m{"path": "~/a/bin"}), false, `"encoding":"base64","content":"/wA="`},
		{"no base64", "coder_workspace_write_file", in(m{"path": "~/a/bin", "content": "?", "encoding": "base64"}), true, "not valid base64"},
		{"directory as file", "coder_workspace_read_file", in(m{"path": "~/a"}), true, "not a regular file"},
		{"list", "coder_workspace_ls", in(m{"path": "~/a"}), false, `"name":"b.txt","size":9,"mode":"-rw-r--r--"`},
		{"no temporary files remain", "coder_workspace_bash", in(m{"command": "ls -A ~/a | wc -l | tr -d ' '"}), false, `"output":"2\n"`},
		{"unknown input", "coder_workspace_ls", in(m{"nonsense": 1}), true, "nonsense"},
		{"unknown agent", "coder_workspace_bash", m{"workspace": "dev.none", "command": "true"}, true, "its agents are: main"},
	} {
		if got, failed := callTool(t, session, c.tool, c.in); failed != c.failed || !strings.Contains(got, c.want) {
			t.Errorf("%s: failed %t: %.500s", c.name, failed, got)
		}
	}
}
