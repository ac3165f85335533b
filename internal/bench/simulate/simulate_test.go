package simulate

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"
)

func office(t *testing.T) Config {
	t.Helper()
	costs, err := ReadCosts("")
	if err != nil {
		t.Fatal(err)
	}
	return Config{Users: 500, Slots: 30, Replicas: 2, Seed: 1, Build: 40 * time.Second, Traffic: 1000, Costs: costs}
}

// TestDayIsDeterministic has the same result for the same seed, and another one for another.
func TestDayIsDeterministic(t *testing.T) {
	t.Parallel()
	c := office(t)
	first, second := Run(c), Run(c)
	if !reflect.DeepEqual(first, second) {
		t.Error("two runs of one configuration differ")
	}
	c.Seed = 2
	if other := Run(c); reflect.DeepEqual(first.Waits, other.Waits) {
		t.Error("another seed has the same waits")
	}
}

// TestDayIsComplete builds everything that was requested: at the end of the day no workspace runs and nothing waits.
func TestDayIsComplete(t *testing.T) {
	t.Parallel()
	d := Run(office(t))
	last, noon := d.Loads[len(d.Loads)-1], d.Loads[12*time.Hour/Step]
	if noon.Agents < 450 {
		t.Errorf("only %d of 500 users have a running agent at noon", noon.Agents)
	}
	if d.Builds < 4*500 || len(d.Waits) < d.Builds || last.Busy != 0 || last.Agents != 0 || last.Waiting != 0 {
		t.Errorf("%d builds, %d waits, at the end %d busy slots, %d agents, %d waiting", d.Builds, len(d.Waits), last.Busy, last.Agents, last.Waiting)
	}
	if most := peak(d.Loads, func(l Load) int { return l.Busy }); most > 30 {
		t.Errorf("%d of 30 slots are busy", most)
	}
	during := d.Loads[outageAt/Step+1]
	if during.Busy > 24 {
		t.Errorf("%d slots are busy while a fifth of 30 is away", during.Busy)
	}
}

// TestFewerSlotsWaitLonger compares queues with the load of a queue that is never empty.
func TestFewerSlotsWaitLonger(t *testing.T) {
	t.Parallel()
	many, few := office(t), office(t)
	many.Slots, few.Slots = 500, 10
	a, b := Run(many), Run(few)
	if quantile(a.Waits, 0.95) != 0 || quantile(b.Waits, 0.95) < time.Minute {
		t.Errorf("p95 with a slot for each user is %s, with 10 slots %s", quantile(a.Waits, 0.95), quantile(b.Waits, 0.95))
	}
	if few.Costs.BuildDatabase <= 0 || peak(a.Loads, ofDatabase) <= peak(b.Loads, ofDatabase) {
		t.Error("a queue that holds builds back does not lower the peak of the database")
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	d := Run(office(t))
	var table, plot bytes.Buffer
	if err := errors.Join(Table(&table, []*Day{d, d}), d.Plot(&plot)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"wait p95", "cores of PostgreSQL, peak"} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, &table)
		}
	}
	for x := xml.NewDecoder(&plot); ; {
		if _, err := x.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}
