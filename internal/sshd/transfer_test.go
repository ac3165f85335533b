package sshd_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"

	"github.com/seed-2a7f8fe7/coder/internal/sshd"
)

func TestNoFileTransfer(t *testing.T) {
	addr, _ := serve(t, func(c *sshd.Config) { c.NoFileTransfer = true })
	c := dial(t, addr)
	for command, refused := range map[string]bool{
		"scp -t /tmp": true, "/usr/bin/rsync --server .": true, `"scp" -f x`: true, "nc -l 1": true, "sftp-server": true,
		"echo scp": false, "true": false,
	} {
		s, err := c.NewSession()
		if err != nil {
			t.Fatal(err)
		}
		var said strings.Builder
		s.Stderr = &said
		err = s.Run(command)
		exit := new(ssh.ExitError)
		if got := errors.As(err, &exit) && exit.ExitStatus() == 65 && strings.Contains(said.String(), "File transfer is disabled"); got != refused {
			t.Errorf("%q: %v, %q", command, err, said.String())
		}
	}
	if f, err := sftp.NewClient(c); err == nil {
		f.Close()
		t.Error("sftp is served")
	}
}
