package option

import (
	"slices"
	"testing"
)

func TestArrange(t *testing.T) {
	named := func(flags ...string) (out []*Option) {
		for _, f := range flags {
			out = append(out, Switch(f, ""))
		}
		return out
	}
	in := slices.Concat(
		After("listen", named("tls-key", "tls-cert")...), // the target is declared later
		After("tls-key", named("tls-ca")...),             // the target is placed itself
		named("url", "listen", "log"),
		After("missing", named("last")...),
	)
	var got []string
	for _, o := range Arrange(in) {
		got = append(got, o.Flag)
	}
	if want := []string{"url", "listen", "tls-key", "tls-ca", "tls-cert", "log", "last"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestUnderIsLocal(t *testing.T) {
	for _, o := range Under("Network", Switch("a", ""), Switch("b", "")) {
		if o.Topic != "Network" || !o.IsLocal() {
			t.Errorf("%s: topic %q, local %v", o.Flag, o.Topic, o.IsLocal())
		}
	}
}
