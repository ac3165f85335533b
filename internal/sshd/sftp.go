package sshd

import (
	"bufio"
	"errors"
	"io"

	"github.com/pkg/sftp"
)

// sftp serves files, starting in the working directory of sessions.
func (s *session) sftp() {
	// A packet contains at most 32 KiB of a file. Each read causes a window
	// message to the client, so small reads are avoided.
	in := bufio.NewReaderSize(s.ch, 64<<10)
	srv, err := sftp.NewServer(keepOpen{in, s.ch}, sftp.WithServerWorkingDirectory(s.dir()), sftp.WithAllocator())
	if err != nil {
		s.log.WarnContext(s.ctx, "cannot serve sftp", "error", err)
		s.exit(1)
		return
	}
	err = srv.Serve()
	if err != nil && !errors.Is(err, io.EOF) && s.ctx.Err() == nil {
		s.log.DebugContext(s.ctx, "sftp session failed", "error", err)
		s.exit(1)
		return
	}
	s.exit(0)
}

// keepOpen ignores Close of the sftp server, because the exit status must still
// be sent on the channel.
type keepOpen struct {
	io.Reader
	io.Writer
}

// Close does nothing.
func (keepOpen) Close() error { return nil }
