package aggregated

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/authorization/path"
	"k8s.io/apiserver/pkg/authorization/union"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/kubernetes"
)

// authentication is the ConfigMap in which the API server publishes the
// certificates with which it forwards requests.
const authentication = "extension-apiserver-authentication"

// Lifetimes of cached reviews. A revoked permission or token stays valid for at
// most as long.
const (
	tokenAge   = 10 * time.Second
	allowedAge = 10 * time.Second
	deniedAge  = 5 * time.Second
)

// probePaths are the paths of kubelet probes.
func probePaths() []string { return []string{"/healthz", "/livez", "/readyz"} }

func patience() *wait.Backoff {
	return &wait.Backoff{Duration: 500 * time.Millisecond, Factor: 1.5, Jitter: 0.2, Steps: 5}
}

// identify authenticates and authorizes requests by the cluster. A request is
// authenticated by the front proxy's certificate, which is trusted to name the
// user, by a client certificate of the cluster's authority, or by a review of a
// bearer token; then an access review authorizes it. The authorities of both
// certificates are reloaded when they change. Unauthenticated clients may only
// use the probes.
func identify(ctx context.Context, c *genericapiserver.Config, kube kubernetes.Interface) error {
	var probes []apiserver.AnonymousAuthCondition
	for _, p := range probePaths() {
		probes = append(probes, apiserver.AnonymousAuthCondition{Path: p})
	}
	cfg := authenticatorfactory.DelegatingAuthenticatorConfig{
		Anonymous: &apiserver.AnonymousAuthConfig{Enabled: true, Conditions: probes}, CacheTTL: tokenAge, WebhookRetryBackoff: patience(),
		TokenAccessReviewTimeout: callTimeout, TokenAccessReviewClient: kube.AuthenticationV1(),
	}
	clients, err := dynamiccertificates.NewDynamicCAFromConfigMapController("client-ca", metav1.NamespaceSystem, authentication, "client-ca-file", kube)
	if err != nil {
		return err
	}
	front, err := dynamiccertificates.NewDynamicCAFromConfigMapController("front-proxy", metav1.NamespaceSystem,
		authentication, "requestheader-client-ca-file", kube)
	if err != nil {
		return err
	}
	headers := headerrequest.NewRequestHeaderAuthRequestController(
		authentication,
		metav1.NamespaceSystem,
		kube,
		"requestheader-username-headers",
		"requestheader-uid-headers",
		"requestheader-group-headers",
		"requestheader-extra-headers-prefix",
		"requestheader-allowed-names",
	)
	if err := clients.RunOnce(ctx); err != nil {
		return fmt.Errorf("read the authority of clients from the ConfigMap kube-system/%s: %w", authentication, err)
	}
	if err := front.RunOnce(ctx); err != nil {
		return fmt.Errorf("read the authority of the front proxy from the ConfigMap kube-system/%s (does the API server have --requestheader-client-ca-file?): %w",
			authentication, err)
	}
	if err := headers.RunOnce(ctx); err != nil {
		return fmt.Errorf("read the headers of the front proxy from the ConfigMap kube-system/%s: %w", authentication, err)
	}
	go headers.Run(ctx, 1) // the server runs the other two
	cfg.ClientCertificateCAContentProvider = clients
	cfg.RequestHeaderConfig = &authenticatorfactory.RequestHeaderConfig{
		CAContentProvider: front,
		UsernameHeaders:   headerrequest.StringSliceProviderFunc(headers.UsernameHeaders), UIDHeaders: headerrequest.StringSliceProviderFunc(headers.UIDHeaders),
		GroupHeaders: headerrequest.StringSliceProviderFunc(
			headers.GroupHeaders,
		), ExtraHeaderPrefixes: headerrequest.StringSliceProviderFunc(headers.ExtraHeaderPrefixes),
		AllowedClientNames: headerrequest.StringSliceProviderFunc(headers.AllowedClientNames),
	}
	for _, ca := range []dynamiccertificates.CAContentProvider{clients, front} {
		if err := c.Authentication.ApplyClientCert(ca, c.SecureServing); err != nil {
			return err
		}
	}
	c.Authentication.RequestHeaderConfig = cfg.RequestHeaderConfig
	if c.Authentication.Authenticator, _, err = cfg.New(); err != nil {
		return err
	}
	anybody, err := path.NewAuthorizer(probePaths())
	if err != nil {
		return err
	}
	reviews, err := authorizerfactory.DelegatingAuthorizerConfig{
		SubjectAccessReviewClient: kube.AuthorizationV1(), AllowCacheTTL: allowedAge, DenyCacheTTL: deniedAge, WebhookRetryBackoff: patience(),
	}.New()
	if err != nil {
		return err
	}
	c.Authorization.Authorizer = union.New(anybody, reviews)
	return nil
}
