// Package simulate simulates a working day of a large deployment with discrete events: users who start, restart and
// stop workspaces, a queue of builds with provisioner slots, and an incident. Measured costs of single events turn
// the builds, pages, agents and SSH traffic into processor time of the servers and of PostgreSQL. The same
// configuration has the same result, because all random values come from its seed.
package simulate

import (
	"container/heap"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// Config describes a deployment and its day.
type Config struct {
	Users    int // each has one workspace
	Slots    int // of all provisioners
	Replicas int
	Seed     uint64
	// Build is the median time of a build, which depends on the infrastructure. Build times have a lognormal
	// distribution with a sigma of 0.6.
	Build time.Duration
	// Traffic is the SSH traffic of a user at work, in bytes per second, in each direction.
	Traffic float64
	Costs   Costs
}

// The day of users. Starts and lengths of work have normal distributions.
const (
	day           = 24 * time.Hour
	workBegins    = 9 * time.Hour
	beginsSpread  = 45 * time.Minute
	workLasts     = 8 * time.Hour
	lastsSpread   = time.Hour
	restarts      = 1.0 // of each user, on average, at any time of the work
	pagesPerHour  = 60  // of each user at work
	buildSigma    = 0.6
	restartAt     = 13 * time.Hour // a new template version restarts workspaces
	restartShare  = 0.3            // of all users at work
	restartWithin = time.Minute
	outageAt      = 15 * time.Hour // provisioners fail, and their builds start over
	outageShare   = 0.2            // of the slots
	outageLasts   = 15 * time.Minute
	noticed       = 12 * time.Second // until the builds of failed provisioners are in the queue again
)

// Step is the resolution of the load over the day.
const Step = 5 * time.Minute

// Load is the load in one step of the day.
type Load struct {
	At       time.Duration
	Waits    []time.Duration // of the builds that a provisioner took in the step
	Waiting  int             // the longest queue
	Busy     int             // the most slots
	Agents   int             // the most connected agents
	builds   int             // that ended
	active   float64         // users at work, times seconds
	agents   float64         // connected agents, times seconds
	Server   float64         // cores of all replicas
	Database float64         // cores
}

// Day is the result of a simulation.
type Day struct {
	Config Config
	Loads  []Load
	Builds int
	Waits  []time.Duration // sorted
	Rows   float64         // that the database has at the end, more than at the beginning
	Bytes  float64         // growth of the database by builds
}

type kind int

const (
	begins  kind = iota // a user begins to work
	ends                // a user ends the work
	request             // a build of a user is requested
	built               // a build ends
	fails               // provisioners fail
	again               // they are back
	requeue             // a build of a failed provisioner is in the queue again
)

type event struct {
	at   time.Duration
	kind kind
	user int
	slot int
	run  int // of the slot; an event of an earlier run is void
	job  job
}

type job struct {
	user      int
	stop      bool
	restart   bool // a start follows the stop
	requested time.Duration
	takes     time.Duration
}

// events is a heap of events by time.
type events []event

func (e events) Len() int           { return len(e) }
func (e events) Less(i, j int) bool { return e[i].at < e[j].at }
func (e events) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)        { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

type slot struct {
	run  int
	busy bool
	gone bool
	job  job
}

type simulation struct {
	c       Config
	r       *rand.Rand
	events  events
	queue   []job
	slots   []slot
	free    []int
	working []bool
	running []bool // workspaces with an agent
	active  []bool // workspaces with a build
	next    [][]job
	atWork  int
	agents  int
	now     time.Duration
	day     *Day
}

// Run simulates a day.
func Run(c Config) *Day {
	s := &simulation{
		c: c, r: rand.New(rand.NewPCG(c.Seed, 0)), slots: make([]slot, c.Slots), working: make([]bool, c.Users), running: make([]bool, c.Users),
		active: make([]bool, c.Users), next: make([][]job, c.Users),
		day: &Day{Config: c, Loads: make([]Load, day/Step)},
	}
	for i := range s.day.Loads {
		s.day.Loads[i].At = Step * time.Duration(i)
	}
	for i := range c.Slots {
		s.free = append(s.free, c.Slots-1-i)
	}
	s.plan()
	for len(s.events) > 0 {
		e := heap.Pop(&s.events).(event)
		if e.at >= day {
			break
		}
		s.advance(e.at)
		s.handle(e)
		s.dispatch()
	}
	s.advance(day)
	s.finish()
	return s.day
}

func (s *simulation) normal(mean, spread time.Duration) time.Duration {
	return mean + time.Duration(s.r.NormFloat64()*float64(spread))
}

// plan adds the events that are known in advance.
func (s *simulation) plan() {
	for user := range s.c.Users {
		begin := max(0, s.normal(workBegins, beginsSpread))
		end := min(day-time.Minute, begin+max(time.Hour, s.normal(workLasts, lastsSpread)))
		s.events = append(s.events, event{at: begin, kind: begins, user: user}, event{at: end, kind: ends, user: user},
			event{at: begin, kind: request, user: user}, event{at: end, kind: request, user: user, job: job{stop: true}})
		for range poisson(s.r, restarts) {
			s.restart(user, begin+rand64(s.r, end-begin))
		}
		if begin < restartAt && restartAt+restartWithin < end && s.r.Float64() < restartShare {
			s.restart(user, restartAt+rand64(s.r, restartWithin))
		}
	}
	s.events = append(s.events, event{at: outageAt, kind: fails}, event{at: outageAt + outageLasts, kind: again})
	heap.Init(&s.events)
}

// restart adds the request of a stop, after which a start follows.
func (s *simulation) restart(user int, at time.Duration) {
	s.events = append(s.events, event{at: at, kind: request, user: user, job: job{stop: true, restart: true}})
}

func rand64(r *rand.Rand, below time.Duration) time.Duration {
	return time.Duration(r.Int64N(int64(max(1, below))))
}

// poisson returns a value of a Poisson distribution (Knuth's method, for small means).
func poisson(r *rand.Rand, mean float64) (n int) {
	for p := r.Float64(); p > math.Exp(-mean); p *= r.Float64() {
		n++
	}
	return n
}

// advance adds the time until an event to the load.
func (s *simulation) advance(to time.Duration) {
	for s.now < to {
		l := &s.day.Loads[s.now/Step]
		until := min(to, l.At+Step)
		seconds := (until - s.now).Seconds()
		l.active += float64(s.atWork) * seconds
		l.agents += float64(s.agents) * seconds
		l.Waiting = max(l.Waiting, len(s.queue))
		l.Busy = max(l.Busy, s.busy())
		l.Agents = max(l.Agents, s.agents)
		s.now = until
	}
}

func (s *simulation) busy() int {
	gone := 0
	for i := len(s.slots) - 1; i >= 0 && s.slots[i].gone; i-- {
		gone++
	}
	return len(s.slots) - gone - len(s.free)
}

func (s *simulation) handle(e event) {
	switch e.kind {
	case begins:
		s.working[e.user] = true
		s.atWork++
	case ends:
		s.working[e.user] = false
		s.atWork--
	case request:
		s.request(e.user, e.job)
	case built:
		s.built(e)
	case fails:
		s.fail()
	case again:
		for i := range s.slots {
			if s.slots[i].gone {
				s.slots[i].gone = false
				s.free = append(s.free, i)
			}
		}
	case requeue:
		s.queue = append([]job{e.job}, s.queue...)
	}
}

// request adds a build to the queue, after the workspace's present one.
func (s *simulation) request(user int, j job) {
	if s.active[user] {
		s.next[user] = append(s.next[user], j)
		return
	}
	s.active[user] = true
	j.user, j.requested = user, s.now
	j.takes = time.Duration(float64(s.c.Build) * math.Exp(buildSigma*s.r.NormFloat64()))
	s.queue = append(s.queue, j)
}

func (s *simulation) built(e event) {
	x := &s.slots[e.slot]
	if x.run != e.run {
		return // the provisioner failed meanwhile
	}
	x.busy = false
	s.free = append(s.free, e.slot)
	s.day.Loads[e.at/Step].builds++
	s.day.Builds++
	user := x.job.user
	s.active[user] = false
	if x.job.restart && s.working[user] {
		s.request(user, job{})
	}
	if waiting := s.next[user]; len(waiting) > 0 && !s.active[user] {
		s.next[user] = waiting[1:]
		s.request(user, waiting[0])
	}
	if s.running[user] == x.job.stop {
		s.running[user] = !x.job.stop
		if x.job.stop {
			s.agents--
		} else {
			s.agents++
		}
	}
}

// fail takes the last slots away. Their builds return to the queue once that is noticed.
func (s *simulation) fail() {
	from := len(s.slots) - int(outageShare*float64(len(s.slots)))
	for i := from; i < len(s.slots); i++ {
		x := &s.slots[i]
		if x.busy {
			heap.Push(&s.events, event{at: s.now + noticed, kind: requeue, job: x.job})
		}
		x.run++
		x.busy, x.gone = false, true
	}
	s.free = slices.DeleteFunc(s.free, func(i int) bool { return i >= from })
}

// dispatch assigns waiting builds to free slots, in their order.
func (s *simulation) dispatch() {
	for len(s.queue) > 0 && len(s.free) > 0 {
		j, i := s.queue[0], s.free[len(s.free)-1]
		s.queue, s.free = s.queue[1:], s.free[:len(s.free)-1]
		x := &s.slots[i]
		x.run++
		x.busy, x.job = true, j
		wait := s.now - j.requested
		l := &s.day.Loads[s.now/Step]
		l.Waits = append(l.Waits, wait)
		s.day.Waits = append(s.day.Waits, wait)
		heap.Push(&s.events, event{at: s.now + j.takes, kind: built, slot: i, run: x.run})
	}
}

// finish turns events into load.
func (s *simulation) finish() {
	k := s.c.Costs
	slices.Sort(s.day.Waits)
	for i := range s.day.Loads {
		l := &s.day.Loads[i]
		slices.Sort(l.Waits)
		builds := float64(l.builds) / Step.Seconds()
		pages := l.active / Step.Seconds() * pagesPerHour / 3600
		agents := l.agents / Step.Seconds()
		megabytes := l.active / Step.Seconds() * s.c.Traffic / 1e6
		l.Server = builds*k.BuildServer + pages*k.PageServer + agents*k.AgentServer + megabytes*k.MegabyteServer
		l.Database = builds*k.BuildDatabase + pages*k.PageDatabase + agents*k.AgentDatabase
		s.day.Rows += agents * Step.Hours() / 24 * k.AgentRowsPerDay
	}
	s.day.Rows += float64(s.day.Builds) * k.BuildRows
	s.day.Bytes = float64(s.day.Builds) * k.BuildBytes
}
