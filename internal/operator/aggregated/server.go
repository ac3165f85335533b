package aggregated

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/sets"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	utilversion "k8s.io/apiserver/pkg/util/compatibility"
	"k8s.io/client-go/kubernetes"
	clientrest "k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	"github.com/seed-2a7f8fe7/coder/api/aggregation/openapi"
	"github.com/seed-2a7f8fe7/coder/api/aggregation/v1alpha1"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/operator/coderclient"
	"github.com/seed-2a7f8fe7/coder/internal/operator/reconcile"
)

// requestTimeout bounds a request that is not a watch. maxBody bounds its body,
// which may contain a template's files as JSON. stopTimeout is the time for
// requests to finish at shutdown. (OP-22, OP-23)
const (
	requestTimeout = 30 * time.Minute
	maxBody        = 96 << 20
	stopTimeout    = 20 * time.Second
)

// Config configures the server.
type Config struct {
	// Rest is the cluster; Scheme knows its kinds and ours.
	Rest   *clientrest.Config
	Scheme *runtime.Scheme
	Log    *slog.Logger
	// HTTP calls control planes; nil means http.DefaultClient.
	HTTP *http.Client
	// Namespaces are the served namespaces; none means all.
	Namespaces []string
	// Listener accepts connections; it is closed at the end.
	Listener net.Listener
	// Certificate is the serving certificate, which may change.
	Certificate dynamiccertificates.CertKeyContentProvider
	// Engine imports templates that are created from files; "" means terraform.
	Engine string
}

// Run serves requests until ctx ends.
func Run(ctx context.Context, c Config) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := newSites(ctx, c)
	if err != nil {
		return err
	}
	k := newKeeper(s, c.Log)
	generic, err := c.generic(ctx)
	if err != nil {
		return err
	}
	api := apiScheme()
	group := genericapiserver.NewDefaultAPIGroupInfo(v1alpha1.GroupName, api, runtime.NewParameterCodec(api), serializer.NewCodecFactory(api))
	group.VersionedResourcesStorageMap[v1alpha1.GroupVersion().Version] = c.resources(s, k)
	if err := generic.InstallAPIGroup(&group); err != nil {
		return err
	}
	// Requests in progress may finish; clients start watches again elsewhere.
	generic.ShutdownTimeout = stopTimeout
	defer context.AfterFunc(ctx, k.endWatches)()
	kept := make(chan struct{})
	go func() { defer close(kept); k.run(ctx) }()
	err = generic.PrepareRun().RunWithContext(ctx)
	cancel()
	<-kept
	return err
}

// newSites returns the control planes of the cluster.
func newSites(ctx context.Context, c Config) (*sites, error) {
	in, err := cluster.New(c.Rest, func(o *cluster.Options) {
		o.Scheme = c.Scheme
		o.Client.Cache = &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}}
	})
	if err != nil {
		return nil, err
	}
	go in.Start(ctx) //nolint:errcheck // it ends with ctx
	if !in.GetCache().WaitForCacheSync(ctx) {
		return nil, ctx.Err()
	}
	return &sites{
		Config: reconcile.Config{Client: in.GetClient(), Live: in.GetAPIReader(), Sites: coderclient.New(c.HTTP, 0)}, namespaces: c.Namespaces,
	}, nil
}

// apiScheme knows the kinds of the group. There is one version, so the internal
// version equals it.
func apiScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	v1alpha1.AddToScheme(s, v1alpha1.GroupVersion())
	v1alpha1.AddToScheme(s, schema.GroupVersion{Group: v1alpha1.GroupName, Version: runtime.APIVersionInternal})
	metav1.AddToGroupVersion(s, v1alpha1.GroupVersion())
	metav1.AddToGroupVersion(s, schema.GroupVersion{Version: "v1"})
	s.AddUnversionedTypes(schema.GroupVersion{Version: "v1"}, &metav1.Status{}, &metav1.APIVersions{},
		&metav1.APIGroupList{}, &metav1.APIGroup{}, &metav1.APIResourceList{})
	for kind, of := range map[string]fields.Set{
		"CoderWorkspace": workspaceFields(&v1alpha1.CoderWorkspace{}), "CoderTemplate": templateFields(&v1alpha1.CoderTemplate{}),
	} {
		known := sets.KeySet(of).Insert("metadata.name", "metadata.namespace")
		must(s.AddFieldLabelConversionFunc(v1alpha1.GroupVersion().WithKind(kind), func(label, value string) (string, string, error) {
			if !known.Has(label) {
				return "", "", fmt.Errorf("%q is not supported as a field selector; use one of %v", label, sets.List(known))
			}
			return label, value, nil
		}))
	}
	must(s.SetVersionPriority(v1alpha1.GroupVersion()))
	return s
}

// must panics on errors that only a bug can cause.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// generic returns the library's server, without storage or admission.
func (c Config) generic(ctx context.Context) (*genericapiserver.GenericAPIServer, error) {
	api := apiScheme()
	g := genericapiserver.NewConfig(serializer.NewCodecFactory(api))
	g.EffectiveVersion = utilversion.DefaultBuildEffectiveVersion()
	g.RequestTimeout, g.MaxRequestBodyBytes = requestTimeout, maxBody
	g.EnableProfiling, g.EnableIndex, g.EnableMetrics = false, false, true
	g.SecureServing = &genericapiserver.SecureServingInfo{Listener: c.Listener, Cert: c.Certificate, HTTP2MaxStreamsPerConnection: 1000}
	g.ExternalAddress = c.Listener.Addr().String()
	g.LoopbackClientConfig = &clientrest.Config{Host: g.ExternalAddress} // the server does not call itself
	namer := openapinamer.NewDefinitionNamer(api)
	g.OpenAPIConfig = genericapiserver.DefaultOpenAPIConfig(openapi.GetOpenAPIDefinitions, namer)
	g.OpenAPIConfig.Info.Title, g.OpenAPIConfig.Info.Version = "coder", codersdk.Version()
	g.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(openapi.GetOpenAPIDefinitions, namer)
	g.OpenAPIV3Config.Info.Title, g.OpenAPIV3Config.Info.Version = "coder", codersdk.Version()
	kube, err := kubernetes.NewForConfig(c.Rest)
	if err != nil {
		return nil, err
	}
	if err := identify(ctx, g, kube); err != nil {
		return nil, err
	}
	return g.Complete(nil).New("coder-aggregated-apiserver", genericapiserver.NewEmptyDelegate())
}

// resources returns the resources of the group.
func (c Config) resources(s *sites, k *keeper) map[string]rest.Storage {
	clock := newClock()
	collect := func(resource, kind string, empty func() object, read func(context.Context, *site) ([]object, []string, error)) *collection {
		out := &collection{
			kindOf: kindOf{schema.GroupResource{Group: v1alpha1.GroupName, Resource: resource}, kind}, empty: empty, clock: clock, sites: s, read: read,
			feeds: map[string]*feed{}, watchers: map[*watcher]struct{}{}, awake: k.awake,
		}
		k.collections = append(k.collections, out)
		return out
	}
	w := workspaces{&store{
		collection: collect("coderworkspaces", "CoderWorkspace", func() object { return &v1alpha1.CoderWorkspace{} }, readWorkspaces),
		log:        c.Log, list: func() runtime.Object { return &v1alpha1.CoderWorkspaceList{} }, singular: "coderworkspace",
		columns: workspaceColumns(), attributes: workspaceFields,
	}}
	engine := c.Engine
	if engine == "" {
		engine = "terraform"
	}
	t := templates{&store{
		collection: collect("codertemplates", "CoderTemplate", func() object { return &v1alpha1.CoderTemplate{} }, readTemplates),
		log:        c.Log, list: func() runtime.Object { return &v1alpha1.CoderTemplateList{} }, singular: "codertemplate",
		columns: templateColumns(), attributes: templateFields,
	}, &imports{running: map[string]*running{}}, engine}
	return map[string]rest.Storage{"coderworkspaces": w, "codertemplates": t}
}
