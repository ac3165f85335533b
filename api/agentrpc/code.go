package agentrpc

import (
	"storj.io/drpc/drpcerr"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// Version is the version of the connection between the server and its own
// agents, in the query of its URL and in the API of agents. Other programs use
// the versions 2.x, see internal/agentapi.
const Version = "1.0"

// TookOver is what Ping says, with CodeConflict, to a connection whose agent
// has a newer one: the agent's token is used by another process.
const TookOver = "A newer connection of this agent took over; is the agent running twice?"

// codes is the number on the wire of each code that an agent acts upon; other
// codes travel as 0, which says nothing but that the call failed.
func codes() map[codersdk.Code]uint64 {
	return map[codersdk.Code]uint64{
		codersdk.CodeInvalid: 1, codersdk.CodeUnauthenticated: 2, codersdk.CodeForbidden: 3, codersdk.CodeNotFound: 4,
		codersdk.CodeConflict: 5, codersdk.CodeTooLarge: 6, codersdk.CodeUnavailable: 7,
	}
}

// WithCode returns an error with what may be sent of err: its message for users and its code.
// An error that is no *codersdk.Error becomes a message without details: its text
// is for the log alone.
func WithCode(err error) error {
	if err == nil {
		return nil
	}
	c := codersdk.CodeOf(err)
	if c == codersdk.CodeInternal {
		return drpcerr.WithCode(codersdk.Errorf(c, "Internal server error; the server's log has the cause"), 0)
	}
	return drpcerr.WithCode(err, codes()[c])
}

// CodeOf returns the code that an error brought over the wire, CodeInternal when
// it brought none.
func CodeOf(err error) codersdk.Code {
	if err == nil {
		return ""
	}
	n := drpcerr.Code(err)
	for c, m := range codes() {
		if n == m {
			return c
		}
	}
	return codersdk.CodeInternal
}
