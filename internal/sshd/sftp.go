package sshd

import (
	"errors"
	"io"

	"github.com/pkg/sftp"
)

// sftp serves files, beginning where sessions begin.
func (s *session) sftp() {
	srv, err := sftp.NewServer(s.ch, sftp.WithServerWorkingDirectory(s.dir()))
	if err != nil {
		s.log.WarnContext(s.ctx, "sftp could not be served", "error", err)
		s.exit(1)
		return
	}
	err = srv.Serve()
	srv.Close()
	if err != nil && !errors.Is(err, io.EOF) && s.ctx.Err() == nil {
		s.log.DebugContext(s.ctx, "an sftp session broke", "error", err)
		s.exit(1)
		return
	}
	s.exit(0)
}
