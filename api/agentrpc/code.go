package agentrpc

import (
	"storj.io/drpc/drpcerr"

	"github.com/seed-2a7f8fe7/coder"
)

// TookOver is what Ping says, with CodeConflict, to a connection whose agent
// has a newer one: the agent's token is used by another process.
const TookOver = "A newer connection of this agent took over; is the agent running twice?"

// codes is the number on the wire of each code that an agent acts upon; other
// codes travel as 0, which says nothing but that the call failed.
func codes() map[coder.Code]uint64 {
	return map[coder.Code]uint64{
		coder.CodeInvalid: 1, coder.CodeUnauthenticated: 2, coder.CodeForbidden: 3, coder.CodeNotFound: 4,
		coder.CodeConflict: 5, coder.CodeTooLarge: 6, coder.CodeUnavailable: 7,
	}
}

// WithCode makes of err what may travel: its message for people and its code.
// What is not a *coder.Error becomes a message that says nothing, for its text
// is for the log alone.
func WithCode(err error) error {
	if err == nil {
		return nil
	}
	c := coder.CodeOf(err)
	if c == coder.CodeInternal {
		return drpcerr.WithCode(coder.Errorf(c, "The server could not do this; its log says why"), 0)
	}
	return drpcerr.WithCode(err, codes()[c])
}

// CodeOf gives the code that an error brought over the wire, CodeInternal when
// it brought none.
func CodeOf(err error) coder.Code {
	if err == nil {
		return ""
	}
	n := drpcerr.Code(err)
	for c, m := range codes() {
		if n == m {
			return c
		}
	}
	return coder.CodeInternal
}
