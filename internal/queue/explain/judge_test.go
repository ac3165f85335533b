package explain_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/queue/explain"
)

// daemonWith returns an idle provisioner of a user session with the tags.
func daemonWith(name string, tags codersdk.Tags, change ...func(*codersdk.ProvisionerDaemon)) codersdk.ProvisionerDaemon {
	d := codersdk.ProvisionerDaemon{
		ID: uuid.New(), Name: name, Tags: tags, KeyName: codersdk.ProvisionerKeyUserAuth, APIVersion: codersdk.ProvisionerAPIVersion,
		Provisioners: []string{"terraform"}, Slots: 1, Status: codersdk.ProvisionerDaemonStatusIdle,
	}
	for _, f := range change {
		f(&d)
	}
	return d
}

func offline(d *codersdk.ProvisionerDaemon) { d.Status = codersdk.ProvisionerDaemonStatusOffline }
func builtIn(d *codersdk.ProvisionerDaemon) { d.KeyName = codersdk.ProvisionerKeyBuiltIn }
func keyed(d *codersdk.ProvisionerDaemon)   { d.KeyName = "gpus" }
func echoOnly(d *codersdk.ProvisionerDaemon) {
	d.Provisioners = []string{"echo"}
}

func orgTags(pairs ...string) codersdk.Tags {
	t := codersdk.Tags{}
	for _, p := range pairs {
		k, v, _ := strings.Cut(p, "=")
		t[k] = v
	}
	return codersdk.NormalizeTags(uuid.Nil, t)
}

func userTags(user uuid.UUID, pairs ...string) codersdk.Tags {
	t := orgTags(pairs...)
	t[codersdk.TagScope] = codersdk.ScopeUser
	return codersdk.NormalizeTags(user, t)
}

func TestJudgeProvisioner(t *testing.T) {
	a, b := uuid.New(), uuid.New()
	since := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	job := uuid.New()
	busy := func(slots int) func(*codersdk.ProvisionerDaemon) {
		return func(d *codersdk.ProvisionerDaemon) {
			d.Status, d.Slots, d.CurrentJob = codersdk.ProvisionerDaemonStatusBusy, slots, &codersdk.ProvisionerDaemonJob{ID: job}
		}
	}
	for _, c := range []struct {
		name    string
		tags    codersdk.Tags
		daemon  codersdk.ProvisionerDaemon
		reason  codersdk.ProvisionerReason
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
		{"other user", userTags(a), daemonWith("d", userTags(b)), "other_owner", "It only runs jobs of another user."},
		{"user's job", userTags(a), daemonWith("d", orgTags()), "other_owner", "It serves the organization, and the job asks for a provisioner of its user's own (scope=user)."},
		{"user's provisioner", orgTags(), daemonWith("d", userTags(a)), "other_owner", "It takes its own user's jobs only (scope=user), and the job is for a provisioner of the organization."},
		{"user's own with tags", userTags(a), daemonWith("d", userTags(a, "x=1")), "takes_it", "It can take the job."},
		{"engine", orgTags(), daemonWith("d", orgTags(), echoOnly), "engine_missing", "It runs echo jobs, and this one is for terraform."},
		{"version", orgTags(), daemonWith("d", orgTags(), func(d *codersdk.ProvisionerDaemon) { d.APIVersion = "2.0" }), "version", `It speaks protocol "2.0", which this server does not: it needs the server's version.`},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := explain.Need{Engine: "terraform", Tags: c.tags, Type: codersdk.ProvisionerJobTypeWorkspaceBuild}
			r := n.Judge(c.daemon, &since)
			if r.Reason != c.reason || r.Message != c.message {
				t.Fatalf("%s: %s; want %s: %s", r.Reason, r.Message, c.reason, c.message)
			}
			timed := r.Reason == codersdk.ProvisionerReasonBusy || r.Reason == codersdk.ProvisionerReasonOffline
			if (r.Since != nil) != timed || (r.BusyWith != nil) != (r.Reason == codersdk.ProvisionerReasonBusy) {
				t.Fatalf("since %v, busy with %v", r.Since, r.BusyWith)
			}
			clear := slices.Contains([]codersdk.ProvisionerReason{"takes_it", "busy"}, r.Reason)
			if miss := n.NearestMiss([]codersdk.ProvisionerDaemon{c.daemon}); (miss == nil) != clear {
				t.Fatalf("nearest miss %+v", miss)
			}
			if w := n.Warning([]codersdk.ProvisionerDaemon{c.daemon}); (w == "") != clear || strings.ContainsRune(w, '\n') {
				t.Fatalf("warning %q", w)
			}
		})
	}
}

// TestNearestMiss checks which provisioner is the nearest, and what
// would make it take the job.
func TestNearestMiss(t *testing.T) {
	a := uuid.New()
	far, near := daemonWith("far", orgTags("x=1")), daemonWith("near", orgTags("zone=b", "gpu=no"))
	for _, c := range []struct {
		name              string
		need              explain.Need
		daemons           []codersdk.ProvisionerDaemon
		daemon, fix, tmpl string
	}{
		{
			"one tag missing", explain.Need{Tags: orgTags("x=1", "y=2")}, []codersdk.ProvisionerDaemon{near, far},
			"far", "coder provisioner start --name far --tag x=1 --tag y=2", "coder templates push --provisioner-tag x=1",
		}, {
			"untagged one is left alone", explain.Need{Tags: orgTags("x=1")}, []codersdk.ProvisionerDaemon{daemonWith("plain", orgTags())},
			"plain", "coder provisioner start --name plain-2 --tag x=1", `coder templates push --provisioner-tag="-"`,
		}, {
			"built in", explain.Need{Tags: orgTags("x=1")}, []codersdk.ProvisionerDaemon{daemonWith("plain", orgTags(), builtIn)},
			"plain", "coder provisioner start --tag x=1", `coder templates push --provisioner-tag="-"`,
		}, {
			"value differs", explain.Need{Tags: orgTags("zone=a")}, []codersdk.ProvisionerDaemon{near, far},
			"far", "coder provisioner start --name far --tag x=1 --tag zone=a", "coder templates push --provisioner-tag x=1",
		}, {
			"value differs in the template", explain.Need{Tags: orgTags("zone=a", "gpu=no"), TemplateTags: []string{"zone", "gpu"}, Type: codersdk.ProvisionerJobTypeWorkspaceBuild},
			[]codersdk.ProvisionerDaemon{far, near}, "near", "coder provisioner start --name near-2 --tag gpu=no --tag zone=a",
			`tags = { "gpu" = "no", "zone" = "b" } in data "coder_workspace_tags"`,
		}, {
			"some of the template, some of the push", explain.Need{Tags: orgTags("zone=a", "gpu=yes"), TemplateTags: []string{"zone"}, Type: codersdk.ProvisionerJobTypeWorkspaceBuild},
			[]codersdk.ProvisionerDaemon{near}, "near", "coder provisioner start --name near-2 --tag gpu=yes --tag zone=a",
			`tags = { "zone" = "b" } in data "coder_workspace_tags"; coder templates push --provisioner-tag gpu=no`,
		}, {
			"a job without tags", explain.Need{Tags: orgTags(), Type: codersdk.ProvisionerJobTypeWorkspaceBuild}, []codersdk.ProvisionerDaemon{near, far},
			"far", "coder provisioner start --name far-2", `tags = { "x" = "1" } in data "coder_workspace_tags"`,
		}, {
			"an import without tags", explain.Need{Tags: orgTags(), Type: codersdk.ProvisionerJobTypeTemplateVersionImport}, []codersdk.ProvisionerDaemon{far},
			"far", "coder provisioner start --name far-2", `coder templates push --provisioner-tag x=1`,
		}, {
			"offline beats wrong", explain.Need{Tags: orgTags("x=1")}, []codersdk.ProvisionerDaemon{near, daemonWith("gone", orgTags("x=1", "y=1"), offline)},
			"gone", "coder provisioner start --name gone --tag x=1 --tag y=1", "",
		}, {
			"offline with a key", explain.Need{Tags: orgTags("x=1")}, []codersdk.ProvisionerDaemon{daemonWith("gone", orgTags("x=1"), offline, keyed)},
			"gone", `coder provisioner start --name gone, with the key "gpus" in CODER_PROVISIONER_DAEMON_KEY`, "",
		}, {
			"offline and built in", explain.Need{Tags: orgTags()}, []codersdk.ProvisionerDaemon{daemonWith("gone", orgTags(), offline, builtIn)},
			"gone", "start the server with --provisioner-daemons above 0, or another provisioner: coder provisioner start", "",
		}, {
			"tags of a key", explain.Need{Tags: orgTags("x=1", "y=2"), Organization: "second"}, []codersdk.ProvisionerDaemon{daemonWith("k", orgTags("x=1"), keyed)},
			"k", "coder provisioner keys create gpus-2 --org second --tag x=1 --tag y=2, then coder provisioner start with that key in CODER_PROVISIONER_DAEMON_KEY", "coder templates push --provisioner-tag x=1",
		}, {
			"a user's own", explain.Need{Tags: userTags(a, "x=1")}, []codersdk.ProvisionerDaemon{far},
			"far", "coder provisioner start --name far-2 --tag scope=user --tag x=1", "",
		}, {
			"connected beats offline", explain.Need{Tags: orgTags("a=1", "b=1", "c=1")}, []codersdk.ProvisionerDaemon{daemonWith("gone", orgTags("a=1", "b=1"), offline), daemonWith("here", orgTags("a=1"))},
			"here", "coder provisioner start --name here --tag a=1 --tag b=1 --tag c=1", "coder templates push --provisioner-tag a=1",
		}, {
			"words are quoted", explain.Need{Tags: orgTags("a=it's, so", "b=${x}"), TemplateTags: []string{"a", "b"}, Type: codersdk.ProvisionerJobTypeWorkspaceBuild}, []codersdk.ProvisionerDaemon{daemonWith("my one", orgTags("b=${x}"))},
			"my one", `coder provisioner start --name 'my one' --tag '"a=it'\''s, so"' --tag 'b=${x}'`, `tags = { "b" = "$${x}" } in data "coder_workspace_tags"`,
		}, {
			"engine", explain.Need{Engine: "terraform", Tags: orgTags()}, []codersdk.ProvisionerDaemon{daemonWith("e", orgTags(), echoOnly)},
			"e", "coder provisioner start --name e-2", "",
		}, {
			"version", explain.Need{Tags: orgTags()}, []codersdk.ProvisionerDaemon{daemonWith("old", orgTags(), func(d *codersdk.ProvisionerDaemon) { d.APIVersion = "1.99" })},
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
	if n := (explain.Need{Tags: orgTags("a=1"), Organization: "o"}); n.NearestMiss(nil) != nil ||
		n.Warning(nil) != "No provisioner is connected to this organization, so the job waits. To start one: coder provisioner start --org o --tag a=1" {
		t.Errorf("nobody there: %s", n.Warning(nil))
	}
}

// TestUnserved: an organization of weight 0 is told what would let the server's
// own provisioners take its jobs, and that alone is not the nearest miss.
func TestUnserved(t *testing.T) {
	own := daemonWith("own", orgTags(), func(d *codersdk.ProvisionerDaemon) {
		d.KeyName, d.Status = codersdk.ProvisionerKeyBuiltIn, codersdk.ProvisionerDaemonStatusOffline
	})
	tagged := daemonWith("tagged", orgTags("a=1"))
	n := explain.Need{Tags: orgTags(), Organization: "my org", Unserved: true}
	const fix = "coder organizations edit 'my org' --provisioner-weight 1"
	for _, c := range []struct {
		daemons []codersdk.ProvisionerDaemon
		begins  string
		nearest string
	}{
		{nil, "No provisioner is connected to this organization, so the job waits.", ""},
		{[]codersdk.ProvisionerDaemon{own}, "No provisioner is connected to this organization, so the job waits.", ""},
		{[]codersdk.ProvisionerDaemon{own, tagged}, "No provisioner takes jobs without tags", "tagged"},
	} {
		w := n.Warning(c.daemons)
		if !strings.HasPrefix(w, c.begins) || !strings.HasSuffix(w, ", whose weight is 0: "+fix) {
			t.Errorf("the warning is %q", w)
		}
		if miss := n.NearestMiss(c.daemons); (miss == nil) != (c.nearest == "") || miss != nil && miss.DaemonName != c.nearest {
			t.Errorf("the nearest is %+v, not %q", miss, c.nearest)
		}
	}
	if r := n.Judge(own, nil); r.Reason != codersdk.ProvisionerReasonOffline || !strings.Contains(r.Message, "whose weight is 0") {
		t.Errorf("of the server's own it says %+v", r)
	}
	if w := n.Warning([]codersdk.ProvisionerDaemon{daemonWith("theirs", orgTags())}); w != "" {
		t.Errorf("with one that takes it: %q", w)
	}
	if n.WeightFix() != fix || (explain.Need{Unserved: true}).WeightFix() != "coder organizations edit default --provisioner-weight 1" || (explain.Need{}).WeightFix() != "" {
		t.Errorf("the fix is %q", n.WeightFix())
	}
}

// FuzzJudge compares Judge with Tags.Match: exactly the provisioners that match can run
// the job, and a provisioner matches once the reported differences are gone.
func FuzzJudge(f *testing.F) {
	f.Add("", "", false, false)
	f.Add("a=1,b=2", "a=1", false, false)
	f.Add("a=1", "a=2,b=1", true, true)
	f.Add("", "a=2", false, true)
	owner := uuid.New()
	f.Fuzz(func(t *testing.T, job, daemon string, mine, its bool) {
		parse := func(s string, own bool) codersdk.Tags {
			tags := codersdk.Tags{}
			for p := range strings.SplitSeq(s, ",") {
				if k, v, _ := strings.Cut(p, "="); k != "" && k != codersdk.TagScope && k != codersdk.TagOwner {
					tags[k] = v
				}
			}
			if own {
				tags[codersdk.TagScope] = codersdk.ScopeUser
			}
			return codersdk.NormalizeTags(owner, tags)
		}
		n := explain.Need{Engine: "terraform", Tags: parse(job, mine)}
		d := daemonWith("d", parse(daemon, its))
		r := n.Judge(d, nil)
		if takes := r.Reason == codersdk.ProvisionerReasonTakesIt; takes != codersdk.Tags(d.Tags).Match(n.Tags) {
			t.Fatalf("%s for job %v and provisioner %v", r.Reason, n.Tags, d.Tags)
		}
		if r.Reason != codersdk.ProvisionerReasonTagMissing && r.Reason != codersdk.ProvisionerReasonTagDiffers {
			return
		}
		fixed := codersdk.Tags(maps.Clone(d.Tags))
		maps.Copy(fixed, r.MissingTags)
		for _, x := range r.DifferentTags {
			fixed[x.Name] = x.Job
		}
		if !fixed.Match(n.Tags) {
			t.Fatalf("%v does not take %v", fixed, n.Tags)
		}
	})
}
