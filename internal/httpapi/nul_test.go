package httpapi

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
)

func TestNULNamesItsField(t *testing.T) {
	type request struct {
		codersdk.UpdateRoles
		Name   string            `json:"name"`
		Tags   map[string]string `json:"tags"`
		Values []struct {
			Value *string `json:"value"`
		} `json:"values"`
		State []byte `json:"state"`
	}
	for body, want := range map[string]string{
		`{"name": "a\u0000b"}`:                                 "name",
		`{"roles": ["owner", "\u0000"]}`:                       "roles[1]",
		`{"tags": {"zone": "\u0000"}}`:                         "tags.zone",
		`{"tags": {"\u0000": "x"}}`:                            "tags",
		`{"values": [{"value": "a"}, {"value": "b\u0000"}]}`:   "values[1].value",
		`{"name": "a\\u0000b", "values": [], "state": "AAAA"}`: "",
	} {
		_, err := rest.Decode[request](httptest.NewRequest("POST", "/", strings.NewReader(body)))
		var e *codersdk.Error
		got := ""
		if err != nil {
			e, _ = err.(*codersdk.Error)
			if e == nil || e.Code != codersdk.CodeInvalid || len(e.Fields) != 1 {
				t.Fatalf("%s: %v", body, err)
			}
			got = e.Fields[0].Field
		}
		if got != want {
			t.Errorf("%s: the field is %q, want %q", body, got, want)
		}
	}
}
