package sshd

import (
	"bufio"
	"errors"
	"io"

	"github.com/pkg/sftp"
)

// sftp serves files, beginning where sessions begin.
func (s *session) sftp() {
	// A packet has at most 32 KiB of a file. Whenever some of what came is read, that is
	// told to the client in a message of its own: so not for each few bytes.
	in := bufio.NewReaderSize(s.ch, 64<<10)
	srv, err := sftp.NewServer(keepOpen{in, s.ch}, sftp.WithServerWorkingDirectory(s.dir()), sftp.WithAllocator())
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
type keepOpen struct {
	io.Reader
	io.Writer
}

// Close does nothing.
func (keepOpen) Close() error { return nil }
