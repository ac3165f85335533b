package sshd

import (
	"errors"
	"io"

	"github.com/pkg/sftp"
)

// sftp serves files, beginning where sessions begin.
func (s *session) sftp() {
	srv, err := sftp.NewServer(keepOpen{s.ch}, sftp.WithServerWorkingDirectory(s.dir()))
	if err != nil {
		s.log.WarnContext(s.ctx, "sftp could not be served", "error", err)
		s.exit(1)
		return
	}
	err = srv.Serve()
	if err != nil && !errors.Is(err, io.EOF) && s.ctx.Err() == nil {
		s.log.DebugContext(s.ctx, "an sftp session broke", "error", err)
		s.exit(1)
		return
	}
	s.exit(0)
}

// keepOpen keeps the channel open when the sftp server is done with it, for
// the exit status is still to be sent.
type keepOpen struct{ io.ReadWriter }

// Close does nothing.
func (keepOpen) Close() error { return nil }
