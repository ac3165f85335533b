package operator_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/operator/kubetest"
	"github.com/seed-2a7f8fe7/coder/internal/operator/provisioner"
)

// binary builds the operator's program.
func binary(t *testing.T) string {
	t.Helper()
	if *measured != "" {
		return *measured
	}
	path := filepath.Join(t.TempDir(), "coder-operator")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", path, "../../cmd/coder-operator").CombinedOutput()
	if err != nil {
		t.Fatalf("build the operator: %v\n%s", err, out)
	}
	return path
}

// TestProgramKilled kills the program itself, as kill -9 does, at requests
// drawn by lot, while the tags of a pool change again and again and a build
// runs through it all. The next one goes on from there: in the end the build
// succeeds, there is one key, and it works.
func TestProgramKilled(t *testing.T) {
	w := newTown(t, quiet)
	path := binary(t)
	seed := uint64(time.Now().UnixNano()) //nolint:gosec // any will do
	t.Log("the seed is ", seed)
	lot := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // not a secret
	p := w.program(t, path)
	w.controlPlane(t)
	tags := func(n int) map[string]string { return map[string]string{"zone": fmt.Sprint(n)} }
	w.pool(t, "pool", func(s *v1alpha1.CoderProvisionerSpec) { s.Tags = tags(0) })
	w.onlyKey(t, "pool")
	long, release := w.longJob(t, tags(0))
	turn, kills := 0, 0
	for ; kills < 6; turn++ {
		// A round of rotation asks for about twenty things, and to start asks for more.
		p.left.Store(1 + lot.Int64N(20))
		w.change(t, "pool", func(p *v1alpha1.CoderProvisioner) { p.Spec.Tags = tags(turn + 1) })
		for w.dies(t, p, tags(turn+1)) {
			kills++
			p = w.program(t, path)
			if lot.IntN(2) == 0 {
				p.left.Store(1 + lot.Int64N(60))
			}
		}
	}
	p.left.Store(never)
	w.become(t, "pool", hasTags(tags(turn)))
	release()
	w.ends(t, long, codersdk.ProvisionerJobStatusSucceeded)
	// A new one checks at once whether a pod has the old keys.
	p.kill()
	w.program(t, path)
	w.onlyKey(t, "pool")
	w.ends(t, w.job(t, tags(turn), `{"log":{"output":"x"}}`), codersdk.ProvisionerJobStatusSucceeded)
}

// hasTags checks that a pool is ready with a key of tags.
func hasTags(tags map[string]string) func(*v1alpha1.CoderProvisioner) string {
	return func(p *v1alpha1.CoderProvisioner) string {
		if p.Status.TagsHash != provisioner.TagsHash(tags) {
			return fmt.Sprintf("the key should have the tags %v", tags)
		}
		return ready(p)
	}
}

// dies waits until a program is killed, or until the pool is as it should be.
func (w *town) dies(t *testing.T, p *program, tags map[string]string) (dead bool) {
	t.Helper()
	kubetest.Until(t, wait, func(ctx context.Context) string {
		select {
		case <-p.gone:
			dead = true
			return ""
		default:
		}
		pool := &v1alpha1.CoderProvisioner{}
		if err := cluster.Client.Get(ctx, client.ObjectKey{Namespace: w.ns, Name: "pool"}, pool); err != nil {
			return err.Error()
		}
		return hasTags(tags)(pool)
	})
	return dead
}
