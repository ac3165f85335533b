package provisionapi_test

import (
	"maps"
	"testing"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

func TestRotationToOtherTags(t *testing.T) {
	w := newTown(t)
	ctx := t.Context()
	old := w.key(t, w.org, "ci", codersdk.Tags{"zone": "a"})
	for _, c := range []struct {
		req  codersdk.RotateProvisionerKeyRequest
		want map[string]string
	}{
		{codersdk.RotateProvisionerKeyRequest{GraceSeconds: 60, Tags: map[string]string{"zone": "b"}}, map[string]string{"zone": "b"}},
		{codersdk.RotateProvisionerKeyRequest{GraceSeconds: 60}, map[string]string{"zone": "b"}},
		{codersdk.RotateProvisionerKeyRequest{GraceSeconds: 60, ReplaceTags: true}, map[string]string{}},
	} {
		out, err := w.ring.Rotate(ctx, w.ownerSubject, w.org, "ci", c.req)
		if err != nil {
			t.Fatal(err)
		}
		k, err := w.ring.BySecret(ctx, out.Key)
		if err != nil || !maps.Equal(k.Tags, c.want) {
			t.Errorf("after %+v the tags are %v, want %v, %v", c.req, k.Tags, c.want, err)
		}
	}
	if k, err := w.ring.BySecret(ctx, old); err != nil || k.Tags["zone"] != "a" {
		t.Errorf("the key that was replaced has the tags %v, %v", k.Tags, err)
	}
	for _, tags := range []map[string]string{{"owner": "x"}, {"": "x"}} {
		if _, err := w.ring.Rotate(ctx, w.ownerSubject, w.org, "ci", codersdk.RotateProvisionerKeyRequest{Tags: tags}); !codersdk.Is(err, codersdk.CodeInvalid) {
			t.Errorf("tags %v: %v", tags, err)
		}
	}
}
