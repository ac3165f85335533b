package servertest_test

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/echo"
	"github.com/seed-2a7f8fe7/coder/internal/servertest"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// shares is a server with one provisioner of its own.
type shares struct {
	*servertest.Server
	t    *testing.T
	file map[string]uuid.UUID // archives by what their import does
}

func newShares(t *testing.T) *shares {
	s := &shares{Server: servertest.Start(t, nil), t: t, file: map[string]uuid.UUID{}}
	for name, script := range map[string]string{"quick": "{}", "hang": `{"hang": true}`} {
		archive, err := echo.Archive(map[string]string{"parse.jsonl": script + "\n", "init.jsonl": script + "\n"})
		must(t, err)
		up, err := s.Client.Upload(t.Context(), "application/x-tar", bytes.NewReader(archive))
		must(t, err)
		s.file[name] = uuid.MustParse(up.Hash)
	}
	return s
}

func (s *shares) organization(name string, weight int) codersdk.Organization {
	s.t.Helper()
	o, err := s.Client.CreateOrganization(s.t.Context(), codersdk.CreateOrganizationRequest{Name: name})
	must(s.t, err)
	if o.ProvisionerWeight != 0 {
		s.t.Fatalf("a new organization has weight %d", o.ProvisionerWeight)
	}
	if weight > 0 {
		o = s.weigh(name, weight)
	}
	return o
}

func (s *shares) weigh(name string, weight int) codersdk.Organization {
	s.t.Helper()
	o, err := s.Client.UpdateOrganization(s.t.Context(), name, codersdk.UpdateOrganizationRequest{ProvisionerWeight: &weight})
	must(s.t, err)
	if o.ProvisionerWeight != weight {
		s.t.Fatalf("the weight is %d, not %d", o.ProvisionerWeight, weight)
	}
	return o
}

func (s *shares) push(organization, script string) uuid.UUID {
	s.t.Helper()
	v, err := s.Client.CreateTemplateVersion(s.t.Context(), organization, codersdk.CreateTemplateVersionRequest{FileID: s.file[script], Provisioner: "echo", StorageMethod: "file"})
	must(s.t, err)
	return v.Job.ID
}

func (s *shares) status(organization string, job uuid.UUID) codersdk.ProvisionerJobStatus {
	s.t.Helper()
	j, err := s.Client.ProvisionerJob(s.t.Context(), organization, job)
	must(s.t, err)
	return j.Status
}

// own returns the server's own provisioner as an organization sees it.
func (s *shares) own(organization string) (codersdk.ProvisionerDaemon, bool) {
	s.t.Helper()
	ds, err := s.Client.ProvisionerDaemons(s.t.Context(), organization, nil)
	must(s.t, err)
	for _, d := range ds {
		if d.KeyName == codersdk.ProvisionerKeyBuiltIn {
			return d, true
		}
	}
	return codersdk.ProvisionerDaemon{}, false
}

// TestSharesAreInProportion holds the only provisioner busy, lets jobs of two
// organizations wait, and looks in which order they are taken.
func TestSharesAreInProportion(t *testing.T) {
	s := newShares(t)
	s.organization("one", 1)
	s.organization("three", 3)
	testwait.Until(s.t, "it is in both", func() bool {
		_, one := s.own("one")
		_, three := s.own("three")
		return one && three
	})
	busy := s.push("default", "hang")
	testwait.Until(s.t, "it is busy", func() bool { return s.status("default", busy) == codersdk.ProvisionerJobStatusRunning })

	const each = 24
	var jobs []uuid.UUID
	for range each {
		jobs = append(jobs, s.push("one", "quick"), s.push("three", "quick"))
	}
	d, _ := s.own("three")
	if d.Status != codersdk.ProvisionerDaemonStatusBusy || d.BusySlots != 1 || d.CurrentJob != nil {
		t.Errorf("busy in another organization, it looks %s there, %d slots, with %v", d.Status, d.BusySlots, d.CurrentJob)
	}
	x, err := s.Client.ExplainProvisionerJob(t.Context(), "three", jobs[1])
	must(t, err)
	if len(x.Daemons) != 1 || x.Daemons[0].Reason != codersdk.ProvisionerReasonBusy || x.Daemons[0].BusyWith != nil || x.Daemons[0].Since == nil {
		t.Errorf("why it waits: %+v", x.Daemons)
	}
	must(t, s.Client.CancelTemplateVersion(t.Context(), s.version(busy)))

	type start struct {
		three bool
		at    time.Time
	}
	var starts []start
	for i, id := range jobs {
		org := []string{"one", "three"}[i%2]
		testwait.Until(s.t, "all run", func() bool { return s.status(org, id) == codersdk.ProvisionerJobStatusSucceeded })
		j, err := s.Client.ProvisionerJob(t.Context(), org, id)
		must(t, err)
		if j.WorkerName != d.Name {
			t.Errorf("a job of %s ran on %q", org, j.WorkerName)
		}
		starts = append(starts, start{i%2 == 1, *j.StartedAt})
	}
	slices.SortFunc(starts, func(a, b start) int { return a.at.Compare(b.at) })
	var three int
	for n := 1; n <= each; n++ { // both wait all that time
		if starts[n-1].three {
			three++
		}
		if math.Abs(float64(three)-0.75*float64(n)) > 1 {
			t.Fatalf("of the first %d jobs %d are of the organization with weight 3", n, three)
		}
	}
	if d, _ := s.own("one"); d.PreviousJob == nil || d.PreviousJob.Status != codersdk.ProvisionerJobStatusSucceeded {
		t.Errorf("what it did before in an organization: %+v", d.PreviousJob)
	}
}

// version returns the version that an import is for.
func (s *shares) version(job uuid.UUID) uuid.UUID {
	s.t.Helper()
	j, err := s.Client.ProvisionerJob(s.t.Context(), "default", job)
	must(s.t, err)
	return j.Input.TemplateVersionID
}

// TestWeightZeroIsNotServed follows an organization that gets a weight and
// loses it.
func TestWeightZeroIsNotServed(t *testing.T) {
	s := newShares(t)
	s.organization("acme", 0)
	const fix = "coder organizations edit acme --provisioner-weight 1"
	waits := func(job uuid.UUID) {
		t.Helper()
		x, err := s.Client.ExplainProvisionerJob(t.Context(), "acme", job)
		must(t, err)
		if x.Status != codersdk.ProvisionerJobStatusPending || !strings.Contains(x.Summary, fix) || x.Matched.Available != 0 {
			t.Fatalf("it is %s and says %q", x.Status, x.Summary)
		}
	}
	first := s.push("acme", "quick")
	ran := s.push("default", "quick") // which is served, and comes after
	testwait.Until(s.t, "the default organization is served", func() bool { return s.status("default", ran) == codersdk.ProvisionerJobStatusSucceeded })
	waits(first)

	s.weigh("acme", 100)
	testwait.Until(s.t, "it is served now", func() bool { return s.status("acme", first) == codersdk.ProvisionerJobStatusSucceeded })
	if d, ok := s.own("acme"); !ok || d.Status == codersdk.ProvisionerDaemonStatusOffline {
		t.Fatalf("the provisioner is not to be seen: %+v", d)
	}

	s.weigh("acme", 0)
	testwait.Until(s.t, "it is not served any more", func() bool {
		d, _ := s.own("acme")
		return d.Status == codersdk.ProvisionerDaemonStatusOffline
	})
	second := s.push("acme", "quick")
	ran = s.push("default", "quick")
	testwait.Until(s.t, "the default organization is served", func() bool { return s.status("default", ran) == codersdk.ProvisionerJobStatusSucceeded })
	waits(second)
	x, err := s.Client.ExplainProvisionerJob(t.Context(), "acme", second)
	must(t, err)
	if len(x.Daemons) != 1 || !strings.Contains(x.Daemons[0].Message, "whose weight is 0") {
		t.Errorf("of the provisioner that left it says %+v", x.Daemons)
	}
}

// TestAWeightThatIsTakenAwayMeanwhile: a job that runs is finished.
func TestAWeightThatIsTakenAwayMeanwhile(t *testing.T) {
	s := newShares(t)
	s.organization("acme", 1)
	job := s.push("acme", "hang")
	testwait.Until(s.t, "it runs", func() bool { return s.status("acme", job) == codersdk.ProvisionerJobStatusRunning })
	s.weigh("acme", 0)
	s.weigh("default", 2) // which is read after that
	d, _ := s.own("acme")
	if d.Status != codersdk.ProvisionerDaemonStatusBusy || d.CurrentJob == nil || d.CurrentJob.ID != job {
		t.Errorf("while its job runs it is %s", d.Status)
	}
	j, err := s.Client.ProvisionerJob(t.Context(), "acme", job)
	must(t, err)
	must(t, s.Client.CancelTemplateVersion(t.Context(), j.Input.TemplateVersionID))
	testwait.Until(s.t, "the job ends", func() bool { return s.status("acme", job) == codersdk.ProvisionerJobStatusCanceled })
	testwait.Until(s.t, "it leaves", func() bool {
		d, _ := s.own("acme")
		return d.Status == codersdk.ProvisionerDaemonStatusOffline
	})
}

// TestWhoSetsWeights: it is not for an organization's own administrator.
func TestWhoSetsWeights(t *testing.T) {
	s := newShares(t)
	s.organization("acme", 0)
	ann, u := s.Member(t, "ann")
	_, err := s.Client.AddOrganizationMember(t.Context(), "acme", u.ID.String())
	must(t, err)
	_, err = s.Client.UpdateOrganizationMemberRoles(t.Context(), "acme", u.ID.String(), codersdk.UpdateRoles{Roles: []string{"organization-admin"}})
	must(t, err)
	weight := 50
	_, err = ann.UpdateOrganization(t.Context(), "acme", codersdk.UpdateOrganizationRequest{ProvisionerWeight: &weight})
	if !codersdk.Is(err, codersdk.CodeForbidden) {
		t.Errorf("an administrator of the organization sets its weight: %v", err)
	}
	o, err := ann.UpdateOrganization(t.Context(), "acme", codersdk.UpdateOrganizationRequest{DisplayName: "Acme"})
	must(t, err)
	if o.DisplayName != "Acme" || o.ProvisionerWeight != 0 {
		t.Errorf("got %+v", o)
	}
	for _, weight := range []int{-1, 101, 1 << 40} {
		if _, err := s.Client.UpdateOrganization(t.Context(), "acme", codersdk.UpdateOrganizationRequest{ProvisionerWeight: &weight}); !codersdk.Is(err, codersdk.CodeInvalid) {
			t.Errorf("a weight of %d: %v", weight, err)
		}
	}
	s.weigh("default", 7)
	s.weigh("default", 1)
}
