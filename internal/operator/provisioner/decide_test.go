package provisioner

import (
	"testing"
	"time"

	"github.com/google/uuid"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/operator/coderclient"
	"github.com/seed-2a7f8fe7/coder/internal/operator/podspec"
)

var (
	org    = uuid.MustParse("00000000-0000-0000-0000-0000000000aa")
	keyA   = uuid.MustParse("00000000-0000-0000-0000-000000000001")
	keyB   = uuid.MustParse("00000000-0000-0000-0000-000000000002")
	moment = time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC) // a Monday
)

// settled is a pool with a key, A, and one ready pod that has it.
func settled() Facts {
	p := &v1alpha1.CoderProvisioner{ObjectMeta: metav1.ObjectMeta{Name: "pool", Namespace: "ns", UID: "uid", Generation: 1}}
	p.Spec.ControlPlaneRef.Name = "main"
	p.Spec.Tags = map[string]string{"zone": "a"}
	p.Status.ProvisionerKeyName, p.Status.ProvisionerKeyID = "pool", keyA.String()
	p.Status.OrganizationID, p.Status.ControlPlaneRefName = org.String(), "main"
	cp := &v1alpha1.CoderControlPlane{}
	cp.Spec.Image, cp.Status.URL = "image:1", "http://main.ns.svc.cluster.local:80"
	key := codersdk.ProvisionerKey{ID: keyA, Name: "pool", Tags: codersdk.ProvisionerKeyTags{"zone": "a"}}
	f := Facts{Provisioner: p, ControlPlane: cp, Token: "t", Secret: Secret(p, "secret", key)}
	f.View = &coderclient.View{Organization: codersdk.Organization{}, Keys: []codersdk.ProvisionerKey{key}}
	f.View.Organization.ID = org
	f.Deployment = Workload(f, 1)[0].(*appsv1.Deployment) //nolint:forcetypeassert // the first is
	f.Deployment.Status = appsv1.DeploymentStatus{Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1}
	f.Pods = []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: "pod", Annotations: map[string]string{AnnotationKeyID: keyA.String()}}}}
	return f
}

func TestDecide(t *testing.T) {
	replaced := func(f *Facts) {
		f.View.Keys = append(f.View.Keys, codersdk.ProvisionerKey{ID: keyB, Name: "pool", ReplacedAt: &moment})
	}
	for _, c := range []struct {
		name    string
		change  func(*Facts)
		key     KeyAction
		reason  string
		blocked bool
		deletes int
		retires int
	}{
		{"at rest", func(*Facts) {}, KeyKeep, "Ready", false, 0, 0},
		{"never seen", func(f *Facts) {
			f.Provisioner.Status, f.View.Keys, f.Secret = v1alpha1.CoderProvisionerStatus{}, nil, nil
		}, KeyClaim, "Creating", false, 0, 0},
		{"claimed, then a crash", func(f *Facts) {
			f.Provisioner.Status.ProvisionerKeyID, f.View.Keys, f.Secret = "", nil, nil
		}, KeyCreate, "Creating", false, 0, 0},
		{"made, then a crash before the Secret", func(f *Facts) {
			f.Provisioner.Status.ProvisionerKeyID, f.Secret = "", nil
		}, KeyRotate, "SecretLost", false, 0, 0},
		{"rotated, then a crash before the Secret", func(f *Facts) {
			old := f.View.Keys[0]
			old.ReplacedAt = &moment
			f.View.Keys[0].ID = keyB
			f.View.Keys = append(f.View.Keys, old)
		}, KeyRotate, "SecretOutdated", false, 0, 0},
		{"our key deleted, and one of its name made by somebody else", func(f *Facts) { f.View.Keys[0].ID = keyB }, KeyKeep, "KeyNameTaken", true, 0, 0},
		{"tags changed", func(f *Facts) { f.Provisioner.Spec.Tags["zone"] = "b" }, KeyRotate, "TagsChanged", false, 0, 0},
		{"tags changed at the server", func(f *Facts) { f.View.Keys[0].Tags["zone"] = "b" }, KeyRotate, "TagsChanged", false, 0, 0},
		{"key deleted at the server", func(f *Facts) { f.View.Keys = nil }, KeyClaim, "Recreating", false, 0, 0},
		{"made again after that, then a crash before the Secret", func(f *Facts) {
			f.Provisioner.Status.ProvisionerKeyID, f.View.Keys[0].ID = "", keyB
		}, KeyRotate, "SecretOutdated", false, 0, 0},
		{"Secret lost", func(f *Facts) { f.Secret = nil }, KeyRotate, "SecretLost", false, 0, 0},
		{"Secret emptied", func(f *Facts) { f.Secret.Data = nil }, KeyRotate, "SecretLost", false, 0, 0},
		{"Secret of somebody else's", func(f *Facts) { f.Secret.OwnerReferences = nil }, KeyKeep, "SecretNotOwned", true, 0, 0},
		{"key of somebody else's", func(f *Facts) {
			f.Provisioner.Status, f.Secret = v1alpha1.CoderProvisionerStatus{}, nil
		}, KeyKeep, "KeyNameTaken", true, 0, 0},
		{"status lost", func(f *Facts) { f.Provisioner.Status = v1alpha1.CoderProvisionerStatus{} }, KeyClaim, "Ready", false, 0, 0},
		{"another name", func(f *Facts) { f.Provisioner.Spec.Key.Name = "other" }, KeyClaim, "Creating", false, 0, 1},
		{"another organization", func(f *Facts) { f.View.Organization.ID, f.View.Keys = uuid.New(), nil }, KeyClaim, "Creating", false, 0, 1},
		{"another server", func(f *Facts) { f.Provisioner.Spec.ControlPlaneRef.Name, f.View.Keys = "second", nil }, KeyClaim, "Creating", false, 0, 1},
		{"a replaced key that nobody has", replaced, KeyKeep, "Ready", false, 1, 0},
		{"a replaced key in a pod that is ending", func(f *Facts) {
			replaced(f)
			f.Pods = append(f.Pods, corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{AnnotationKeyID: keyB.String()}}})
		}, KeyKeep, "Ready", false, 0, 0},
		{"a replaced key with a provisioner connected", func(f *Facts) {
			replaced(f)
			f.View.Daemons = []codersdk.ProvisionerDaemon{{KeyID: keyB, Status: codersdk.ProvisionerDaemonStatusBusy}}
		}, KeyKeep, "Ready", false, 0, 0},
		{"a replaced key while pods are rolled", func(f *Facts) {
			replaced(f)
			f.Deployment.Status.ReadyReplicas = 0
		}, KeyKeep, "Ready", false, 0, 0},
		{"a retiring key of another name", func(f *Facts) {
			f.Provisioner.Status.RetiringKeys = []v1alpha1.RetiringKey{{ID: keyB.String(), Name: "was"}}
		}, KeyKeep, "Ready", false, 1, 0},
	} {
		f := settled()
		c.change(&f)
		d := Decide(f)
		if d.Key != c.key || d.Reason != c.reason || d.Blocked != c.blocked || len(d.Delete) != c.deletes || len(d.Retire) != c.retires {
			t.Errorf("%s: %s %s blocked=%t deletes %v retires %v", c.name, d.Key, d.Reason, d.Blocked, d.Delete, d.Retire)
		}
		if d.Blocked && d.Message == "" {
			t.Errorf("%s: no word of what to do", c.name)
		}
	}
}

func TestReplicas(t *testing.T) {
	tagged := func(pending, running int, zone string) codersdk.ProvisionerQueueTagSet {
		return codersdk.ProvisionerQueueTagSet{Pending: pending, Running: running, Tags: codersdk.NormalizeTags(uuid.Nil, codersdk.Tags{"zone": zone})}
	}
	for _, c := range []struct {
		name   string
		change func(*Facts)
		have   int32
		want   int32
		reason string
	}{
		{"no autoscaling", func(f *Facts) { f.Provisioner.Spec.Autoscaling, f.Provisioner.Spec.Replicas = nil, new(int32(7)) }, 1, 7, ""},
		{"nothing to do", func(*Facts) {}, 0, 0, "Steady"},
		{"one waits for none", func(f *Facts) { f.View.Queue.TagSets = append(f.View.Queue.TagSets, tagged(1, 0, "a")) }, 0, 1, "ScaledUp"},
		{"another's tags", func(f *Facts) { f.View.Queue.TagSets = append(f.View.Queue.TagSets, tagged(9, 0, "b")) }, 0, 0, "Steady"},
		{"more than the most", func(f *Facts) { f.View.Queue.TagSets = append(f.View.Queue.TagSets, tagged(99, 0, "a")) }, 1, 5, "ScaledUp"},
		{"two for each slot", func(f *Facts) {
			f.Provisioner.Spec.Autoscaling.TargetPendingPerSlot = 2
			f.View.Queue.TagSets = append(f.View.Queue.TagSets, tagged(5, 1, "a"))
		}, 1, 4, "ScaledUp"},
		{"slots of a pod", func(f *Facts) {
			f.Provisioner.Spec.Concurrency = new(int32(4))
			f.View.Queue.TagSets = append(f.View.Queue.TagSets, tagged(5, 0, "a"))
		}, 1, 2, "ScaledUp"},
		{"fewer would do, not for long enough", func(f *Facts) {
			f.Provisioner.Status.FewerSince = &metav1.Time{Time: moment.Add(-time.Minute)}
		}, 3, 3, "Stabilizing"},
		{"fewer have been enough", func(f *Facts) {
			f.Provisioner.Status.FewerSince = &metav1.Time{Time: moment.Add(-time.Hour)}
		}, 3, 0, "ScaledDown"},
		{"never fewer than run builds", func(f *Facts) {
			f.Provisioner.Status.FewerSince = &metav1.Time{Time: moment.Add(-time.Hour)}
			f.View.Daemons = []codersdk.ProvisionerDaemon{
				{ID: keyA, KeyID: keyA, BusySlots: 1, Status: codersdk.ProvisionerDaemonStatusBusy},
				{ID: keyB, KeyID: keyA, BusySlots: 1, Status: codersdk.ProvisionerDaemonStatusBusy},
			}
		}, 3, 2, "ScaledDown"},
		{"jobs that others run", func(f *Facts) {
			f.View.Queue.TagSets = append(f.View.Queue.TagSets, tagged(0, 2, "a"))
			f.View.Daemons = []codersdk.ProvisionerDaemon{{KeyID: keyB, BusySlots: 2, Status: codersdk.ProvisionerDaemonStatusBusy, Tags: codersdk.NormalizeTags(uuid.Nil, codersdk.Tags{"zone": "a"})}}
		}, 0, 0, "Steady"},
		{"half of what two pools match", func(f *Facts) {
			f.View.Queue.TagSets = append(f.View.Queue.TagSets, tagged(6, 0, "a"))
			f.Rivals = append(f.Rivals, rival("other", "a", 5, 0))
		}, 0, 3, "ScaledUp"},
		{"an odd job goes to the first", func(f *Facts) {
			f.View.Queue.TagSets = append(f.View.Queue.TagSets, tagged(1, 0, "a"))
			f.Rivals = append(f.Rivals, rival("other", "a", 5, 0))
		}, 0, 0, "Steady"},
		{"what another pool has no room for", func(f *Facts) {
			f.View.Queue.TagSets = append(f.View.Queue.TagSets, tagged(5, 0, "a"))
			f.Rivals = append(f.Rivals, rival("other", "a", 1, 0))
		}, 0, 4, "ScaledUp"},
		{"slots that another pool has already", func(f *Facts) {
			f.View.Queue.TagSets = append(f.View.Queue.TagSets, tagged(5, 0, "a"))
			f.Rivals = append(f.Rivals, rival("other", "a", 5, 4))
		}, 0, 0, "Steady"},
		{"slots that this pool has already", func(f *Facts) {
			f.View.Queue.TagSets = append(f.View.Queue.TagSets, tagged(3, 0, "a"))
			f.Rivals = append(f.Rivals, rival("other", "a", 5, 0))
		}, 3, 3, "Steady"},
		{"a pool of other tags", func(f *Facts) {
			f.View.Queue.TagSets = append(f.View.Queue.TagSets, tagged(4, 0, "a"))
			f.Rivals = append(f.Rivals, rival("other", "b", 5, 0))
		}, 0, 4, "ScaledUp"},
		{"by the schedule", func(f *Facts) {
			f.Provisioner.Spec.Autoscaling.Schedule = []v1alpha1.ScheduleHint{{Start: "30 8 * * 1-5", Duration: metav1.Duration{Duration: time.Hour}, MinReplicas: 2}}
		}, 0, 2, "ScaledUp"},
		{"out of the schedule", func(f *Facts) {
			f.Provisioner.Spec.Autoscaling.Schedule = []v1alpha1.ScheduleHint{{Start: "30 8 * * 1-5", Duration: metav1.Duration{Duration: 10 * time.Minute}, MinReplicas: 2}}
		}, 0, 0, "Steady"},
		{"the server is not there", func(f *Facts) { f.View = nil }, 3, 3, "QueueUnknown"},
	} {
		f := settled()
		f.Provisioner.Spec.Autoscaling = &v1alpha1.AutoscalingSpec{MaxReplicas: 5, TargetPendingPerSlot: 1}
		f.Deployment.Spec.Replicas = &c.have
		c.change(&f)
		if s := Replicas(f, moment); s.Replicas != c.want || s.Reason != c.reason {
			t.Errorf("%s: %d, %s (%s); want %d, %s", c.name, s.Replicas, s.Reason, s.Message, c.want, c.reason)
		}
	}
}

// rival is another pool, of tags, with so many pods.
func rival(name, zone string, most, replicas int32) Rival {
	p := &v1alpha1.CoderProvisioner{ObjectMeta: metav1.ObjectMeta{Name: name}}
	p.Spec.Tags = map[string]string{"zone": zone}
	p.Spec.Autoscaling = &v1alpha1.AutoscalingSpec{MaxReplicas: most}
	return Rival{Provisioner: p, Replicas: replicas}
}

// TestShares has several pools compute their shares of one queue: together they
// have slots for each job once.
func TestShares(t *testing.T) {
	f := settled()
	f.View.Queue.TagSets = []codersdk.ProvisionerQueueTagSet{
		{Pending: 7, Tags: codersdk.NormalizeTags(uuid.Nil, codersdk.Tags{"zone": "a"})},
		{Pending: 5, Tags: codersdk.NormalizeTags(uuid.Nil, codersdk.Tags{"zone": "b"})},
	}
	pools := []Rival{rival("one", "a", 9, 0), rival("two", "a", 2, 1), rival("three", "a", 9, 3), rival("four", "b", 9, 0), rival("five", "b", 9, 0)}
	var total int32
	for i, p := range pools {
		f.Provisioner = p.Provisioner
		f.Rivals = append(append([]Rival{}, pools[:i]...), pools[i+1:]...)
		total += share(f, p.Replicas)
	}
	if total != 12 {
		t.Errorf("12 jobs are counted as %d", total)
	}
}

func TestNames(t *testing.T) {
	long := "a123456789a123456789a123456789a123456789a123456789a123456789a123456789"
	for _, c := range []struct{ prefix, name, want string }{
		{"provisioner", "pool", "provisioner-pool"},
		{"", "pool", "pool"},
		{"provisioner", long, "provisioner-a123456789a123456789a123456789a123456789a1-"},
		{"", "a.b", "a-b-"},
	} {
		got := podspec.Name(c.prefix, c.name)
		if len(got) > 63 || (len(c.want) > 0 && len(got) >= len(c.want) && got[:len(c.want)] != c.want) {
			t.Errorf("%s, %s: %q of %d bytes", c.prefix, c.name, got, len(got))
		}
	}
	if podspec.Name("", "a.b") == podspec.Name("", "a-b") || podspec.Name("p", long) == podspec.Name("p", long+"x") {
		t.Error("two names became one")
	}
	pool := func(name string) *v1alpha1.CoderProvisioner {
		return &v1alpha1.CoderProvisioner{ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	if n := deploymentName(pool(long)); len(n)+len("-7d4b9c6f5d-x2x4z") > 63 || n == deploymentName(pool(long+"x")) || deploymentName(pool("pool")) != "provisioner-pool" {
		t.Errorf("a Deployment is called %q", n)
	}
}
