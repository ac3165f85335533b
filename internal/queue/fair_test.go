package queue_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/quick"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
)

// person adds a user.
func (h *house) person(t testing.TB, name string) uuid.UUID {
	t.Helper()
	id := uuid.New()
	h.exec(t, `INSERT INTO users (id, email, username, login_type, status, created_at, updated_at) VALUES ($1, $2, $2, 'none', 'active', now(), now())`, id, name)
	return id
}

// build adds a build of a user; edit may change it.
func (h *house) build(t testing.TB, who uuid.UUID, edit func(*queue.NewJob)) uuid.UUID {
	t.Helper()
	j := queue.NewJob{
		ID: uuid.New(), OrganizationID: h.org, InitiatorID: who, FileID: h.file, Type: codersdk.ProvisionerJobTypeWorkspaceBuild,
		Provisioner: "echo", Tags: codersdk.NormalizeTags(h.user, nil), Input: codersdk.ProvisionerJobInput{},
	}
	if edit != nil {
		edit(&j)
	}
	if err := h.store.Tx(t.Context(), func(q *sqlc.Queries) error { return h.Add(t.Context(), q, j) }); err != nil {
		t.Fatal(err)
	}
	return j.ID
}

// take claims and completes n jobs one after the other and gives whose they were.
func (h *house) take(t testing.TB, w queue.Worker, n int) (ids, initiators []uuid.UUID) {
	t.Helper()
	for range n {
		a := h.acquire(t, w)
		if err := h.Complete(t.Context(), w, a.Fence, buildDone(a)); err != nil {
			t.Fatal(err)
		}
		id := uuid.MustParse(a.JobId)
		j, err := h.Job(t.Context(), h.store.Queries, id)
		if err != nil {
			t.Fatal(err)
		}
		ids, initiators = append(ids, id), append(initiators, j.InitiatorID)
	}
	return ids, initiators
}

// TestOneCannotStarveAnother: whatever one user has waiting, the next user's
// one build is at most second, in one tag set and over many.
func TestOneCannotStarveAnother(t *testing.T) {
	for _, sets := range []int{1, 50} {
		t.Run(fmt.Sprint(sets, " tag sets"), func(t *testing.T) {
			h := newHouse(t, queue.Config{})
			many, one := h.person(t, "many"), h.person(t, "one")
			tags := codersdk.Tags{}
			for i := range 500 {
				tags[fmt.Sprint("t", i%sets)] = "x"
				h.build(t, many, func(j *queue.NewJob) {
					j.Tags = codersdk.NormalizeTags(h.user, codersdk.Tags{fmt.Sprint("t", i%sets): "x"})
				})
			}
			w := h.worker(t, "d", tags)
			h.take(t, w, 3)
			h.build(t, one, func(j *queue.NewJob) { j.Tags = codersdk.NormalizeTags(h.user, codersdk.Tags{"t0": "x"}) })
			if _, who := h.take(t, w, 2); !slices.Contains(who, one) {
				t.Errorf("the next two were %v, none of them of %s", who, one)
			}
		})
	}
}

// TestTurns: whatever was added and canceled before, a person's n-th waiting
// build begins before the n+1st round of all other users has.
func TestTurns(t *testing.T) {
	h := newHouse(t, queue.Config{})
	w := h.worker(t, "d", nil)
	people := []uuid.UUID{h.person(t, "p0"), h.person(t, "p1"), h.person(t, "p2")}
	round := func(script []byte) bool {
		var waiting []uuid.UUID
		for _, b := range script {
			who := people[int(b)%len(people)]
			switch {
			case b&0xc0 == 0xc0 && len(waiting) > 0: // cancel one
				i := int(b) % len(waiting)
				h.cancel(t, waiting[i])
				waiting = slices.Delete(waiting, i, i+1)
			case b&0xc0 == 0x80 && len(waiting) > 0:
				ids, _ := h.take(t, w, 1)
				waiting = slices.DeleteFunc(waiting, func(id uuid.UUID) bool { return id == ids[0] })
			default:
				waiting = append(waiting, h.build(t, who, nil))
			}
		}
		// A newcomer's builds, numbered from 1: number n has at most n of each other
		// person's before it.
		fresh := h.person(t, uuid.NewString())
		for range 3 {
			waiting = append(waiting, h.build(t, fresh, nil))
		}
		_, order := h.take(t, w, len(waiting))
		before := map[uuid.UUID]int{}
		for _, who := range order {
			before[who]++
			if who != fresh {
				continue
			}
			for _, p := range people {
				if before[p] > before[fresh] {
					t.Logf("build %d of the newcomer came after %d of another: %v", before[fresh], before[p], order)
					return false
				}
			}
		}
		return true
	}
	if err := quick.Check(round, &quick.Config{MaxCount: 12}); err != nil {
		t.Error(err)
	}
}

func (h *house) cancel(t testing.TB, id uuid.UUID) {
	t.Helper()
	if err := h.store.Tx(t.Context(), func(q *sqlc.Queries) error { return h.Cancel(t.Context(), q, id) }); err != nil {
		t.Fatal(err)
	}
}

// TestPeopleBeforePrebuilds: a class goes before the next whatever its turns.
func TestPeopleBeforePrebuilds(t *testing.T) {
	h := newHouse(t, queue.Config{})
	w := h.worker(t, "d", nil)
	system := h.person(t, "prebuilds")
	for range 5 {
		h.build(t, system, func(j *queue.NewJob) { j.Priority = 1 })
	}
	h.build(t, h.user, nil)
	if _, who := h.take(t, w, 1); who[0] != h.user {
		t.Error("a prebuild went before a person's build")
	}
}

// TestTurnsAtOnce: builds that a person adds at the same moment take turns too.
func TestTurnsAtOnce(t *testing.T) {
	h := newHouse(t, queue.Config{})
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() { h.build(t, h.user, nil) })
	}
	wg.Wait()
	var turns int
	if err := h.store.Pool().QueryRow(t.Context(), `SELECT count(DISTINCT turn) FROM provisioner_jobs`).Scan(&turns); err != nil {
		t.Fatal(err)
	}
	if turns != 20 {
		t.Errorf("20 builds of one person have %d turns", turns)
	}
}

// TestPlacesAreTrue: the place that a job is told is the one in which it is taken.
func TestPlacesAreTrue(t *testing.T) {
	h := newHouse(t, queue.Config{})
	a, b := h.person(t, "a2"), h.person(t, "b2")
	var ids []uuid.UUID
	for i := range 12 {
		who := a
		if i%4 == 3 {
			who = b
		}
		ids = append(ids, h.build(t, who, nil))
	}
	jobs, err := h.Jobs(t.Context(), h.store.Queries, ids)
	if err != nil {
		t.Fatal(err)
	}
	places := map[uuid.UUID]int{}
	for id, j := range jobs {
		if places[id] = j.QueuePosition; j.QueueSize != len(ids) {
			t.Errorf("the size is told as %d", j.QueueSize)
		}
	}
	taken, _ := h.take(t, h.worker(t, "d", nil), len(ids))
	for i, id := range taken {
		if places[id] != i+1 {
			t.Errorf("the job taken as number %d was told to be number %d", i+1, places[id])
		}
	}
}

// TestCap: a template's cap holds back builds over it, says so, and lets them
// go as others end, as it is raised, and when it was forgotten.
func TestCap(t *testing.T) {
	h := newHouse(t, queue.Config{})
	w := h.worker(t, "d", nil)
	template := h.template(t, 2)
	var ids []uuid.UUID
	for range 6 {
		ids = append(ids, h.build(t, h.user, func(j *queue.NewJob) { j.TemplateID = template }))
	}
	free := h.build(t, h.person(t, "other"), nil)
	h.wantHeld(t, ids, 2)

	x, err := h.Explain(t.Context(), access.System(), h.org, ids[4])
	if err != nil || !strings.Contains(x.Held, "The template capped allows 2 builds at once, and 2 are under way") || !strings.Contains(x.Held, "number 3") || x.QueuePosition != 0 {
		t.Errorf("a held build is explained as %+v, %v", x, err)
	}
	over, err := h.Overview(t.Context(), access.System(), h.org, queue.OverviewFilter{})
	if err != nil || len(over.TagSets) != 1 || over.TagSets[0].Held != 4 || over.TagSets[0].Pending != 3 {
		t.Errorf("the queue is told as %+v, %v", over, err)
	}

	first := h.acquire(t, w)
	h.wantHeld(t, ids, 2) // a running one counts
	if err := h.Complete(t.Context(), w, first.Fence, buildDone(first)); err != nil {
		t.Fatal(err)
	}
	h.wantHeld(t, ids, 3)
	h.cancel(t, ids[5]) // one that is held makes no room
	h.wantHeld(t, ids, 3)
	h.setCap(t, template, 3)
	h.wantHeld(t, ids, 4)
	h.exec(t, `UPDATE provisioner_jobs SET held = true WHERE id = $1`, ids[3])
	if err := h.ReapOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.wantHeld(t, ids, 4)
	h.cancel(t, ids[1]) // one that is not held does
	h.wantHeld(t, ids, 5)
	taken, _ := h.take(t, w, 4)
	if !slices.Contains(taken, free) {
		t.Error("a build without a cap was not taken")
	}
}

// template adds a template with a cap.
func (h *house) template(t *testing.T, limit int) uuid.UUID {
	t.Helper()
	id, job := uuid.New(), h.add(t, codersdk.ProvisionerJobTypeTemplateVersionImport, nil)
	h.cancel(t, job)
	h.exec(t, `WITH version AS (
		INSERT INTO template_versions (id, organization_id, job_id, name, created_by, created_at, updated_at) VALUES ($1, $2, $4, 'v', $3, now(), now())
	) INSERT INTO templates (id, organization_id, name, provisioner, active_version_id, created_by, created_at, updated_at, max_concurrent_builds)
		VALUES ($1, $2, 'capped', 'echo', $1, $3, now(), now(), $5)`, id, h.org, h.user, job, limit)
	return id
}

func (h *house) setCap(t *testing.T, template uuid.UUID, n int) {
	t.Helper()
	h.exec(t, `UPDATE templates SET max_concurrent_builds = $2 WHERE id = $1`, template, n)
	if err := h.store.Tx(t.Context(), func(q *sqlc.Queries) error { return h.LetGo(t.Context(), q, template) }); err != nil {
		t.Fatal(err)
	}
}

// wantHeld looks whether exactly the jobs behind the first n are held.
func (h *house) wantHeld(t *testing.T, ids []uuid.UUID, n int) {
	t.Helper()
	for i, id := range ids {
		var held bool
		if err := h.store.Pool().QueryRow(t.Context(), `SELECT held AND completed_at IS NULL FROM provisioner_jobs WHERE id = $1`, id).Scan(&held); err != nil {
			t.Fatal(err)
		}
		canceled := h.status(t, id) == codersdk.ProvisionerJobStatusCanceled
		if held != (i >= n) && !canceled {
			t.Errorf("job %d of %d is held: %v", i+1, len(ids), held)
		}
	}
}
