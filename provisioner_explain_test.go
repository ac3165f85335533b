package coder_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
)

// daemonWith makes a provisioner that is idle, of a user's session, and has tags.
func daemonWith(name string, tags coder.Tags, change ...func(*coder.ProvisionerDaemon)) coder.ProvisionerDaemon {
	d := coder.ProvisionerDaemon{
		ID: uuid.New(), Name: name, Tags: tags, KeyName: coder.ProvisionerKeyUserAuth, APIVersion: coder.ProvisionerAPIVersion,
		Provisioners: []string{"terraform"}, Slots: 1, Status: coder.ProvisionerDaemonStatusIdle,
	}
	for _, f := range change {
		f(&d)
	}
	return d
}

func offline(d *coder.ProvisionerDaemon) { d.Status = coder.ProvisionerDaemonStatusOffline }
func builtIn(d *coder.ProvisionerDaemon) { d.KeyName = coder.ProvisionerKeyBuiltIn }
func keyed(d *coder.ProvisionerDaemon)   { d.KeyName = "gpus" }
func echoOnly(d *coder.ProvisionerDaemon) {
	d.Provisioners = []string{"echo"}
}

func orgTags(pairs ...string) coder.Tags {
	t := coder.Tags{}
	for _, p := range pairs {
		k, v, _ := strings.Cut(p, "=")
		t[k] = v
	}
	return coder.NormalizeTags(uuid.Nil, t)
}

func userTags(user uuid.UUID, pairs ...string) coder.Tags {
	t := orgTags(pairs...)
	t[coder.TagScope] = coder.ScopeUser
	return coder.NormalizeTags(user, t)
}

func TestJudgeProvisioner(t *testing.T) {
	a, b := uuid.New(), uuid.New()
	since := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	job := uuid.New()
	busy := func(slots int) func(*coder.ProvisionerDaemon) {
		return func(d *coder.ProvisionerDaemon) {
			d.Status, d.Slots, d.CurrentJob = coder.ProvisionerDaemonStatusBusy, slots, &coder.ProvisionerDaemonJob{ID: job}
		}
	}
	for _, c := range []struct {
		name    string
		tags    coder.Tags
		daemon  coder.ProvisionerDaemon
		reason  coder.ProvisionerReason
		message string
	}{
		{"free", orgTags(), daemonWith("d", orgTags()), "takes_it", "It can take the job."},
		{"tagged and free", orgTags("a=1"), daemonWith("d", orgTags("a=1", "b=2")), "takes_it", "It can take the job."},
		{"busy", orgTags(), daemonWith("d", orgTags(), busy(1)), "busy", "It takes such jobs, and is busy since 2026-03-01T12:00:00Z."},
		{"busy slots", orgTags(), daemonWith("d", orgTags(), busy(4)), "busy", "It takes such jobs, and all of its 4 slots are busy, the last since 2026-03-01T12:00:00Z."},
		{"offline", orgTags(), daemonWith("d", orgTags(), offline), "offline", "It would take the job, but is offline since 2026-03-01T12:00:00Z."},
		{"missing", orgTags("a=1", "b=2"), daemonWith("d", orgTags("a=1")), "tag_missing", "It lacks the tag b=2."},
		{"missing and offline", orgTags("a=1", "b=2"), daemonWith("d", orgTags("c=1"), offline), "tag_missing", "It lacks the tags a=1, b=2."},
		{"different", orgTags("a=1"), daemonWith("d", orgTags("a=2")), "tag_differs", "It has a=2, the job asks for a=1."},
		{"different and missing", orgTags("a=1", "b=2"), daemonWith("d", orgTags("a=2")), "tag_differs", "It has a=2, the job asks for a=1; it lacks the tag b=2."},
		{"untagged job", orgTags(), daemonWith("d", orgTags("a=1")), "untagged_only", "It has the tag a=1, and a job without tags is taken by provisioners without tags only."},
		{"other user", userTags(a), daemonWith("d", userTags(b)), "other_owner", "It takes the jobs of another user only."},
		{"user's job", userTags(a), daemonWith("d", orgTags()), "other_owner", "It serves the organization, and the job asks for a provisioner of its user's own (scope=user)."},
		{"user's provisioner", orgTags(), daemonWith("d", userTags(a)), "other_owner", "It takes its own user's jobs only (scope=user), and the job is for a provisioner of the organization."},
		{"user's own with tags", userTags(a), daemonWith("d", userTags(a, "x=1")), "takes_it", "It can take the job."},
		{"engine", orgTags(), daemonWith("d", orgTags(), echoOnly), "engine_missing", "It runs echo jobs, and this one is for terraform."},
		{"version", orgTags(), daemonWith("d", orgTags(), func(d *coder.ProvisionerDaemon) { d.APIVersion = "2.0" }), "version", `It speaks protocol "2.0", which this server does not: it needs the server's version.`},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := coder.ProvisionerNeed{Engine: "terraform", Tags: c.tags, Type: coder.ProvisionerJobTypeWorkspaceBuild}
			r := n.Judge(c.daemon, &since)
			if r.Reason != c.reason || r.Message != c.message {
				t.Fatalf("%s: %s; want %s: %s", r.Reason, r.Message, c.reason, c.message)
			}
			timed := r.Reason == coder.ProvisionerReasonBusy || r.Reason == coder.ProvisionerReasonOffline
			if (r.Since != nil) != timed || (r.BusyWith != nil) != (r.Reason == coder.ProvisionerReasonBusy) {
				t.Fatalf("since %v, busy with %v", r.Since, r.BusyWith)
			}
			clear := slices.Contains([]coder.ProvisionerReason{"takes_it", "busy"}, r.Reason)
			if miss := n.NearestMiss([]coder.ProvisionerDaemon{c.daemon}); (miss == nil) != clear {
				t.Fatalf("nearest miss %+v", miss)
			}
			if w := n.Warning([]coder.ProvisionerDaemon{c.daemon}); (w == "") != clear || strings.ContainsRune(w, '\n') {
				t.Fatalf("warning %q", w)
			}
		})
	}
}

// TestNearestMiss holds which provisioner is said to be the nearest, and what
// would make it take the job.
func TestNearestMiss(t *testing.T) {
	a := uuid.New()
	far, near := daemonWith("far", orgTags("x=1")), daemonWith("near", orgTags("zone=b", "gpu=no"))
	for _, c := range []struct {
		name              string
		need              coder.ProvisionerNeed
		daemons           []coder.ProvisionerDaemon
		daemon, fix, tmpl string
	}{
		{
			"one tag missing", coder.ProvisionerNeed{Tags: orgTags("x=1", "y=2")}, []coder.ProvisionerDaemon{near, far},
			"far", "coder provisioner start --name far --tag x=1 --tag y=2", "coder templates push --provisioner-tag x=1",
		}, {
			"untagged one is left alone", coder.ProvisionerNeed{Tags: orgTags("x=1")}, []coder.ProvisionerDaemon{daemonWith("plain", orgTags())},
			"plain", "coder provisioner start --name plain-2 --tag x=1", `coder templates push --provisioner-tag="-"`,
		}, {
			"built in", coder.ProvisionerNeed{Tags: orgTags("x=1")}, []coder.ProvisionerDaemon{daemonWith("plain", orgTags(), builtIn)},
			"plain", "coder provisioner start --tag x=1", `coder templates push --provisioner-tag="-"`,
		}, {
			"value differs", coder.ProvisionerNeed{Tags: orgTags("zone=a")}, []coder.ProvisionerDaemon{near, far},
			"far", "coder provisioner start --name far --tag x=1 --tag zone=a", "coder templates push --provisioner-tag x=1",
		}, {
			"value differs in the template", coder.ProvisionerNeed{Tags: orgTags("zone=a", "gpu=no"), TemplateTags: []string{"zone", "gpu"}, Type: coder.ProvisionerJobTypeWorkspaceBuild},
			[]coder.ProvisionerDaemon{far, near}, "near", "coder provisioner start --name near-2 --tag gpu=no --tag zone=a",
			`tags = { "gpu" = "no", "zone" = "b" } in data "coder_workspace_tags"`,
		}, {
			"some of the template, some of the push", coder.ProvisionerNeed{Tags: orgTags("zone=a", "gpu=yes"), TemplateTags: []string{"zone"}, Type: coder.ProvisionerJobTypeWorkspaceBuild},
			[]coder.ProvisionerDaemon{near}, "near", "coder provisioner start --name near-2 --tag gpu=yes --tag zone=a",
			`tags = { "zone" = "b" } in data "coder_workspace_tags"; coder templates push --provisioner-tag gpu=no`,
		}, {
			"a job without tags", coder.ProvisionerNeed{Tags: orgTags(), Type: coder.ProvisionerJobTypeWorkspaceBuild}, []coder.ProvisionerDaemon{near, far},
			"far", "coder provisioner start --name far-2", `tags = { "x" = "1" } in data "coder_workspace_tags"`,
		}, {
			"an import without tags", coder.ProvisionerNeed{Tags: orgTags(), Type: coder.ProvisionerJobTypeTemplateVersionImport}, []coder.ProvisionerDaemon{far},
			"far", "coder provisioner start --name far-2", `coder templates push --provisioner-tag x=1`,
		}, {
			"offline beats wrong", coder.ProvisionerNeed{Tags: orgTags("x=1")}, []coder.ProvisionerDaemon{near, daemonWith("gone", orgTags("x=1", "y=1"), offline)},
			"gone", "coder provisioner start --name gone --tag x=1 --tag y=1", "",
		}, {
			"offline with a key", coder.ProvisionerNeed{Tags: orgTags("x=1")}, []coder.ProvisionerDaemon{daemonWith("gone", orgTags("x=1"), offline, keyed)},
			"gone", `coder provisioner start --name gone, with the key "gpus" in CODER_PROVISIONER_DAEMON_KEY`, "",
		}, {
			"offline and built in", coder.ProvisionerNeed{Tags: orgTags()}, []coder.ProvisionerDaemon{daemonWith("gone", orgTags(), offline, builtIn)},
			"gone", "start the server with --provisioner-daemons above 0, or another provisioner: coder provisioner start", "",
		}, {
			"tags of a key", coder.ProvisionerNeed{Tags: orgTags("x=1", "y=2"), Organization: "second"}, []coder.ProvisionerDaemon{daemonWith("k", orgTags("x=1"), keyed)},
			"k", "coder provisioner keys create gpus-2 --org second --tag x=1 --tag y=2, then coder provisioner start with that key in CODER_PROVISIONER_DAEMON_KEY", "coder templates push --provisioner-tag x=1",
		}, {
			"a user's own", coder.ProvisionerNeed{Tags: userTags(a, "x=1")}, []coder.ProvisionerDaemon{far},
			"far", "coder provisioner start --name far-2 --tag scope=user --tag x=1", "",
		}, {
			"connected beats offline", coder.ProvisionerNeed{Tags: orgTags("a=1", "b=1", "c=1")}, []coder.ProvisionerDaemon{daemonWith("gone", orgTags("a=1", "b=1"), offline), daemonWith("here", orgTags("a=1"))},
			"here", "coder provisioner start --name here --tag a=1 --tag b=1 --tag c=1", "coder templates push --provisioner-tag a=1",
		}, {
			"words are quoted", coder.ProvisionerNeed{Tags: orgTags("a=it's, so", "b=${x}"), TemplateTags: []string{"a", "b"}, Type: coder.ProvisionerJobTypeWorkspaceBuild}, []coder.ProvisionerDaemon{daemonWith("my one", orgTags("b=${x}"))},
			"my one", `coder provisioner start --name 'my one' --tag '"a=it'\''s, so"' --tag 'b=${x}'`, `tags = { "b" = "$${x}" } in data "coder_workspace_tags"`,
		}, {
			"engine", coder.ProvisionerNeed{Engine: "terraform", Tags: orgTags()}, []coder.ProvisionerDaemon{daemonWith("e", orgTags(), echoOnly)},
			"e", "coder provisioner start --name e-2", "",
		}, {
			"version", coder.ProvisionerNeed{Tags: orgTags()}, []coder.ProvisionerDaemon{daemonWith("old", orgTags(), func(d *coder.ProvisionerDaemon) { d.APIVersion = "1.99" })},
			"old", "install the server's version of coder there, then: coder provisioner start", "",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			miss := c.need.NearestMiss(c.daemons)
			if miss == nil {
				t.Fatal("none")
			}
			if miss.DaemonName != c.daemon || miss.Fix != c.fix || miss.TemplateFix != c.tmpl {
				t.Fatalf("got\n%s | %s | %s, want\n%s | %s | %s", miss.DaemonName, miss.Fix, miss.TemplateFix, c.daemon, c.fix, c.tmpl)
			}
			slices.Reverse(c.daemons)
			if again := c.need.NearestMiss(c.daemons); again.DaemonName != c.daemon {
				t.Fatalf("in another order the nearest is %s", again.DaemonName)
			}
			if w := c.need.Warning(c.daemons); !strings.Contains(w, c.fix) || !strings.Contains(w, c.tmpl) {
				t.Fatalf("the warning does not say what to do: %s", w)
			}
		})
	}
	if n := (coder.ProvisionerNeed{Tags: orgTags("a=1"), Organization: "o"}); n.NearestMiss(nil) != nil ||
		n.Warning(nil) != "No provisioner is connected to this organization, so the job waits. To start one: coder provisioner start --org o --tag a=1" {
		t.Errorf("nobody there: %s", n.Warning(nil))
	}
}

// TestUnserved: an organization of weight 0 is told what would let the server's
// own provisioners take its jobs, and that alone is not the nearest miss.
func TestUnserved(t *testing.T) {
	own := daemonWith("own", orgTags(), func(d *coder.ProvisionerDaemon) {
		d.KeyName, d.Status = coder.ProvisionerKeyBuiltIn, coder.ProvisionerDaemonStatusOffline
	})
	tagged := daemonWith("tagged", orgTags("a=1"))
	n := coder.ProvisionerNeed{Tags: orgTags(), Organization: "my org", Unserved: true}
	const fix = "coder organizations edit 'my org' --provisioner-weight 1"
	for _, c := range []struct {
		daemons []coder.ProvisionerDaemon
		begins  string
		nearest string
	}{
		{nil, "No provisioner is connected to this organization, so the job waits.", ""},
		{[]coder.ProvisionerDaemon{own}, "No provisioner is connected to this organization, so the job waits.", ""},
		{[]coder.ProvisionerDaemon{own, tagged}, "No provisioner takes jobs without tags", "tagged"},
	} {
		w := n.Warning(c.daemons)
		if !strings.HasPrefix(w, c.begins) || !strings.HasSuffix(w, ", whose weight is 0: "+fix) {
			t.Errorf("the warning is %q", w)
		}
		if miss := n.NearestMiss(c.daemons); (miss == nil) != (c.nearest == "") || miss != nil && miss.DaemonName != c.nearest {
			t.Errorf("the nearest is %+v, not %q", miss, c.nearest)
		}
	}
	if r := n.Judge(own, nil); r.Reason != coder.ProvisionerReasonOffline || !strings.Contains(r.Message, "whose weight is 0") {
		t.Errorf("of the server's own it says %+v", r)
	}
	if w := n.Warning([]coder.ProvisionerDaemon{daemonWith("theirs", orgTags())}); w != "" {
		t.Errorf("with one that takes it: %q", w)
	}
	if n.WeightFix() != fix || (coder.ProvisionerNeed{Unserved: true}).WeightFix() != "coder organizations edit default --provisioner-weight 1" || (coder.ProvisionerNeed{}).WeightFix() != "" {
		t.Errorf("the fix is %q", n.WeightFix())
	}
}

// FuzzJudge holds the explanation to the rule that it explains: whoever is
// said to be able to take a job matches it, and the other way round; and what
// is said to be missing or different, once mended, makes a match.
func FuzzJudge(f *testing.F) {
	f.Add("", "", false, false)
	f.Add("a=1,b=2", "a=1", false, false)
	f.Add("a=1", "a=2,b=1", true, true)
	f.Add("", "a=2", false, true)
	owner := uuid.New()
	f.Fuzz(func(t *testing.T, job, daemon string, mine, its bool) {
		parse := func(s string, own bool) coder.Tags {
			tags := coder.Tags{}
			for p := range strings.SplitSeq(s, ",") {
				if k, v, _ := strings.Cut(p, "="); k != "" && k != coder.TagScope && k != coder.TagOwner {
					tags[k] = v
				}
			}
			if own {
				tags[coder.TagScope] = coder.ScopeUser
			}
			return coder.NormalizeTags(owner, tags)
		}
		n := coder.ProvisionerNeed{Engine: "terraform", Tags: parse(job, mine)}
		d := daemonWith("d", parse(daemon, its))
		r := n.Judge(d, nil)
		if takes := r.Reason == coder.ProvisionerReasonTakesIt; takes != coder.Tags(d.Tags).Match(n.Tags) {
			t.Fatalf("%s for job %v and provisioner %v", r.Reason, n.Tags, d.Tags)
		}
		if r.Reason != coder.ProvisionerReasonTagMissing && r.Reason != coder.ProvisionerReasonTagDiffers {
			return
		}
		mended := coder.Tags(maps.Clone(d.Tags))
		maps.Copy(mended, r.MissingTags)
		for _, x := range r.DifferentTags {
			mended[x.Name] = x.Job
		}
		if !mended.Match(n.Tags) {
			t.Fatalf("%v does not take %v", mended, n.Tags)
		}
	})
}

func TestRecommendedSlots(t *testing.T) {
	for _, c := range []struct {
		pending, running int
		mean, target     time.Duration
		want             int
	}{
		{0, 0, time.Minute, time.Minute, 0},
		{0, 3, time.Minute, time.Minute, 3},
		{5, 0, 0, time.Minute, 5},                       // nothing is known
		{5, 2, 5 * time.Minute, time.Minute, 7},         // each needs its own
		{60, 0, time.Second, time.Minute, 1},            // one does all within the target
		{61, 1, time.Second, time.Minute, 3},            // a little more than one does
		{1, 0, time.Millisecond, time.Minute, 1},        // never none
		{90, 0, 20 * time.Second, 0, 30},                // the default target
		{100_000, 10, 30 * time.Second, time.Hour, 844}, // 833.3 rounded up, and what runs
		{3, 0, 59 * time.Second, time.Minute, 3},
	} {
		if got := coder.RecommendedSlots(c.pending, c.running, c.mean, c.target); got != c.want {
			t.Errorf("%d pending, %d running, mean %s, target %s: %d, want %d", c.pending, c.running, c.mean, c.target, got, c.want)
		}
	}
}

// TestProvisionerWarnings holds the health codes of versions.
func TestProvisionerWarnings(t *testing.T) {
	for _, c := range []struct {
		version, api, server string
		want                 []coder.HealthCode
	}{
		{"v2.30.1", "1.14", "v2.30.9", nil},
		{"v2.30.1+abc", "1.3", "v2.30.0-rc.1", nil},
		{"v2.29.1", "1.14", "v2.30.0", []coder.HealthCode{"EPD02"}},
		{"v3.30.0", "1.14", "v2.30.0", []coder.HealthCode{"EPD02"}},
		{"v2.1.0", "1.0", "v2.30.0", []coder.HealthCode{"EPD02", "EPD03"}},
		{"", "1.0", "v2.30.0", []coder.HealthCode{"EPD03"}},
		{"v0.0.0-devel", "1.14", "v2.30.0", nil},
		{"v2.30.0", "1.14", "devel", nil},
		{"v2.x.0", "1.14", "v2.30.0", nil},
	} {
		var got []coder.HealthCode
		for _, w := range coder.ProvisionerWarnings(coder.ProvisionerDaemon{Version: c.version, APIVersion: c.api}, c.server) {
			got = append(got, w.Code)
			if w.Message == "" {
				t.Errorf("%s says nothing", w.Code)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("provisioner %s, protocol %s, server %s: %v, want %v", c.version, c.api, c.server, got, c.want)
		}
	}
}
