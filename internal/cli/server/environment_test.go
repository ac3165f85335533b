package server

import (
	"slices"
	"testing"

	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/option"
)

func TestUnknownVariablesAreNamed(t *testing.T) {
	root := &command.Command{
		Options: []*option.Option{option.Switch("verbose", "").Env("CODER_VERBOSE")},
		Subs:    []*command.Command{{Options: []*option.Option{option.Switch("trust", "").Env("CODER_TRUST")}}},
	}
	env := map[string]string{
		"CODER_VERBOSE": "1", "CODER_TRUST": "1", "HOME": "/", // known, or not ours
		"CODER_ACESS_URL": "secret", "CODER_EXTERNAL_AUTH_ID": "github", "CODER_DB_PORT": "5432", "CODER_WORKSPACE_HOSTNAME_SUFIX": "x", // unknown
		"CODER_AGENT_TOKEN": "x", "CODER_WORKSPACE_NAME": "x", "CODER_FIRST_USER_EMAIL": "x", "CODER_SSH_SESSION_TYPE": "x", // other programs'
		"CODER_SERVICE_HOST": "10.0.0.1", "CODER_SERVICE_PORT": "80", "CODER_SERVICE_PORT_HTTP": "80", "CODER_PORT": "tcp://10.0.0.1:80", // of Kubernetes
		"CODER_PORT_80_TCP": "tcp://10.0.0.1:80", "CODER_PORT_80_TCP_ADDR": "10.0.0.1",
		"CODER_MAIL_SERVICE_HOST": "10.0.0.2", "CODER_MAIL_PORT_25_TCP_PROTO": "tcp",
	}
	want := []string{"CODER_ACESS_URL", "CODER_DB_PORT", "CODER_EXTERNAL_AUTH_ID", "CODER_WORKSPACE_HOSTNAME_SUFIX"}
	if got := unknownVariables(env, knownVariables(root)); !slices.Equal(got, want) {
		t.Errorf("unknown are %q, want %q", got, want)
	}
}
