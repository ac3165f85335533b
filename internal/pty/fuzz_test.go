package pty

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// FuzzParse holds what is asked of an agent to its bounds, whatever it is.
func FuzzParse(f *testing.F) {
	id, viewer := uuid.NewString(), uuid.NewString()
	for _, seed := range []string{
		"", "x", id, id + " 80x24", id + " 80x24 -", id + " 80x24 " + base64.RawURLEncoding.EncodeToString([]byte("top")),
		id + " 80x24 - " + viewer, id + " 80x24 - " + viewer + " " + id + ":7", id + " 80x24 - " + viewer + " " + id + ":-1",
		id + " 0x0", id + " 99999999999999999999x1", id + " 80x24 %%% ", id + " 80x24 - " + uuid.Nil.String(), strings.Repeat(id+" ", 9),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, arg string) {
		r, err := parse(arg)
		if err != nil {
			if len(err.Error()) > 200 || strings.Contains(err.Error(), "%!") {
				t.Errorf("%q: %v", arg, err)
			}
			return
		}
		if r.columns < 1 || r.rows < 1 || r.columns > 10_000 || r.rows > 10_000 || r.offset < 0 {
			t.Errorf("%q is taken for %+v", arg, r)
		}
	})
}
