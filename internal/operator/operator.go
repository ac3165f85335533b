// Package operator is the process that keeps control planes, pools of
// provisioners and workspace proxies in a Kubernetes cluster as their custom
// resources say. It assembles one small controller per kind; each gathers what
// is, decides by pure functions, and applies what should be. Nothing of it is
// needed to run `coder` elsewhere.
package operator

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
	"github.com/seed-2a7f8fe7/coder/internal/operator/controlplane"
	"github.com/seed-2a7f8fe7/coder/internal/operator/provisioner"
	"github.com/seed-2a7f8fe7/coder/internal/operator/proxy"
	"github.com/seed-2a7f8fe7/coder/internal/operator/remote"
	"github.com/seed-2a7f8fe7/coder/internal/operator/round"
	"github.com/seed-2a7f8fe7/coder/internal/operator/shape"
)

// leaderID is the Lease by which one of several operators leads.
const leaderID = "coder-k8s-controller.coder.com"

// hintPart of the idle time is how seldom a server's changes are looked at while
// it has many: 5 seconds.
const hintPart = 360

// Config is how an operator runs.
type Config struct {
	// Rest is the cluster.
	Rest *rest.Config
	Log  *slog.Logger
	// HTTP speaks to control planes; nil is http.DefaultClient.
	HTTP *http.Client
	// Namespaces are those that are looked at; none is all.
	Namespaces []string
	// LeaderElection lets one of several operators lead, by a Lease in
	// LeaderNamespace, which is the operator's own when it is "".
	LeaderElection  bool
	LeaderNamespace string
	// ProbeAddress and MetricsAddress are where /healthz, /readyz and /metrics
	// are; "0" is nowhere.
	ProbeAddress, MetricsAddress string
	// Idle is how long a resource at rest is left alone; zero is half an hour.
	Idle time.Duration
	// SkipNameValidation lets a test run several operators in one process.
	SkipNameValidation bool
}

// Scheme gives all kinds that the operator reads or writes.
func Scheme() (*runtime.Scheme, error) {
	s := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(s); err != nil {
		return nil, err
	}
	return s, v1alpha1.AddToScheme(s)
}

// Run runs an operator until ctx ends.
func Run(ctx context.Context, c Config) error {
	ctrl.SetLogger(logr.FromSlogHandler(c.Log.Handler()))
	scheme, err := Scheme()
	if err != nil {
		return err
	}
	m, err := ctrl.NewManager(c.Rest, ctrl.Options{
		Scheme: scheme, Logger: logr.FromSlogHandler(c.Log.Handler()), Cache: cacheOptions(c.Namespaces),
		LeaderElection: c.LeaderElection, LeaderElectionID: leaderID, LeaderElectionNamespace: c.LeaderNamespace, LeaderElectionReleaseOnCancel: true,
		HealthProbeBindAddress: c.ProbeAddress, Metrics: metricsserver.Options{BindAddress: c.MetricsAddress},
		Controller: config.Controller{SkipNameValidation: &c.SkipNameValidation},
	})
	if err != nil {
		return err
	}
	for name, add := range map[string]func(string, healthz.Checker) error{"ping": m.AddHealthzCheck, "ready": m.AddReadyzCheck} {
		if err := add(name, healthz.Ping); err != nil {
			return err
		}
	}
	sites := remote.New(c.HTTP, c.Idle/hintPart)
	if err := m.Add(manager.RunnableFunc(sites.Start)); err != nil {
		return err
	}
	with := round.Config{Client: m.GetClient(), Live: m.GetAPIReader(), Sites: sites, Events: m.GetEventRecorder("coder-operator"), Idle: c.Idle}
	for _, start := range []func(ctrl.Manager) error{
		controlplane.New(with).Start, provisioner.New(with).Start, proxy.New(with).Start,
	} {
		if err := start(m); err != nil {
			return err
		}
	}
	return m.Start(ctx)
}

// cacheOptions keeps in memory what the operator made, and of that no more than
// it reads: not every Secret and pod of the cluster.
func cacheOptions(namespaces []string) cache.Options {
	ours := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{shape.LabelManagedBy: shape.Manager})}
	o := cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Secret{}: ours, &corev1.Pod{}: ours, &corev1.ServiceAccount{}: ours, &corev1.Service{}: ours,
			&appsv1.Deployment{}: ours, &rbacv1.Role{}: ours, &rbacv1.RoleBinding{}: ours,
			&policyv1.PodDisruptionBudget{}: ours, &networkingv1.Ingress{}: ours,
		},
	}
	if len(namespaces) > 0 {
		o.DefaultNamespaces = map[string]cache.Config{}
		for _, n := range namespaces {
			o.DefaultNamespaces[n] = cache.Config{}
		}
	}
	return o
}
