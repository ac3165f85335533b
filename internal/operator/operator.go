// Package operator is the process that reconciles control planes, pools of
// provisioners and workspace proxies in a Kubernetes cluster with their custom
// resources. It runs one small controller per kind. Each gathers facts, decides
// with pure functions, and applies the result. `coder` does not depend on it.
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
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
	"github.com/seed-2a7f8fe7/coder/internal/operator/coderclient"
	"github.com/seed-2a7f8fe7/coder/internal/operator/controlplane"
	"github.com/seed-2a7f8fe7/coder/internal/operator/podspec"
	"github.com/seed-2a7f8fe7/coder/internal/operator/provisioner"
	"github.com/seed-2a7f8fe7/coder/internal/operator/proxy"
	"github.com/seed-2a7f8fe7/coder/internal/operator/reconcile"
)

// leaderID is the Lease of the leader election.
const leaderID = "coder-k8s-controller.coder.com"

// hintPart of the idle time is the minimum interval at which a server's
// frequent changes are processed: 5 seconds by default.
const hintPart = 360

// Config configures an operator.
type Config struct {
	// Rest is the cluster.
	Rest *rest.Config
	Log  *slog.Logger
	// HTTP speaks to control planes; nil is http.DefaultClient.
	HTTP *http.Client
	// Namespaces are the watched namespaces; none means all.
	Namespaces []string
	// LeaderElection elects one of several operators by a Lease in
	// LeaderNamespace; "" means the operator's own namespace.
	LeaderElection  bool
	LeaderNamespace string
	// ProbeAddress and MetricsAddress serve /healthz, /readyz and /metrics; "0"
	// disables them.
	ProbeAddress, MetricsAddress string
	// SecureMetrics serves /metrics over HTTPS to clients that the cluster
	// authenticates and authorizes.
	SecureMetrics bool
	// Aggregated is the account of the aggregated API server, as
	// namespace/name, which may read the Secrets of control planes that it
	// needs; "" means none.
	Aggregated string
	// CrossRules are the namespaces whose resources may grant extra rules in
	// other namespaces; see podspec.Grant.
	CrossRules []string
	// Idle is the interval of reconciliations of a resource at rest; zero means
	// half an hour.
	Idle time.Duration
	// SkipNameValidation lets a test run several operators in one process.
	SkipNameValidation bool
}

// Scheme returns all kinds that the operator reads or writes.
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
		HealthProbeBindAddress: c.ProbeAddress, Metrics: metricsOptions(c),
		// The priority queue of controller-runtime v0.24.1 can deadlock while it shuts down: the operator
		// then ends 30 s later, and with an error. v0.25.2 does not, and requires Kubernetes v0.37.
		Controller: config.Controller{SkipNameValidation: &c.SkipNameValidation, UsePriorityQueue: new(false)},
	})
	if err != nil {
		return err
	}
	for name, add := range map[string]func(string, healthz.Checker) error{"ping": m.AddHealthzCheck, "ready": m.AddReadyzCheck} {
		if err := add(name, healthz.Ping); err != nil {
			return err
		}
	}
	sites := coderclient.New(c.HTTP, c.Idle/hintPart)
	if err := m.Add(manager.RunnableFunc(sites.Start)); err != nil {
		return err
	}
	with := reconcile.Config{
		Client: m.GetClient(), Live: m.GetAPIReader(), Sites: sites, Events: m.GetEventRecorder("coder-operator"), Idle: c.Idle, CrossRules: c.CrossRules,
		Aggregated: c.Aggregated,
	}
	for _, start := range []func(ctrl.Manager) error{
		controlplane.New(with).Start, provisioner.New(with).Start, proxy.New(with).Start,
	} {
		if err := start(m); err != nil {
			return err
		}
	}
	return m.Start(ctx)
}

// metricsOptions returns how metrics are served.
func metricsOptions(c Config) metricsserver.Options {
	o := metricsserver.Options{BindAddress: c.MetricsAddress}
	if c.SecureMetrics {
		o.SecureServing, o.FilterProvider = true, filters.WithAuthenticationAndAuthorization
	}
	return o
}

// cacheOptions limits the cache to objects that the operator created and reads,
// not every Secret and pod of the cluster.
func cacheOptions(namespaces []string) cache.Options {
	ours := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{podspec.LabelManagedBy: podspec.Manager})}
	o := cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Secret{}: ours, &corev1.Pod{}: ours, &corev1.ServiceAccount{}: ours, &corev1.Service{}: ours, &corev1.ConfigMap{}: ours,
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
