package download

import (
	"compress/gzip"
	"errors"
	"io"
)

// unpacked reads a gzip file as what it is a copy of. Seeking is free until the
// next Read, which unpacks what lies between: all from the start when it goes
// back.
type unpacked struct {
	file io.ReadSeeker
	size int64 // of the uncompressed bytes

	at, want int64 // of the reader, and of the caller
	reader   *gzip.Reader
}

func (u *unpacked) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += u.want
	case io.SeekEnd:
		offset += u.size
	}
	if offset < 0 {
		return 0, errors.New("seek before the start")
	}
	u.want = offset
	return offset, nil
}

func (u *unpacked) Read(b []byte) (int, error) {
	if u.want >= u.size {
		return 0, io.EOF
	}
	if u.reader == nil || u.want < u.at {
		if _, err := u.file.Seek(0, io.SeekStart); err != nil {
			return 0, err
		}
		z, err := gzip.NewReader(u.file)
		if err != nil {
			return 0, err
		}
		u.reader, u.at = z, 0
	}
	if u.want > u.at {
		n, err := io.CopyN(io.Discard, u.reader, u.want-u.at)
		u.at += n
		if err != nil {
			return 0, err
		}
	}
	n, err := u.reader.Read(b)
	u.at += int64(n)
	u.want = u.at
	return n, err
}
