// Package mcphttp serves the Model Context Protocol (MCP) over streamable HTTP
// to programs that act for users of a Kubernetes cluster.
//
// A request carries a bearer token of the cluster, such as one of
// 'kubectl create token'. The server has no rights of its own: it sends each
// request to the Kubernetes API with the caller's token, so the API server
// authenticates, authorizes and audits what a tool does. The server keeps no
// sessions, so each request can reach another replica.
package mcphttp

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	authentication "k8s.io/client-go/kubernetes/typed/authentication/v1"
	core "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/mcp/toolkit"
)

// Path is where the handler is mounted.
const Path = "/mcp"

// Bounds of requests. A template's files are the largest body.
const (
	maxBody     = 16 << 20
	maxHeader   = 64 << 10
	readTimeout = time.Minute
	idleTimeout = 2 * time.Minute
	authTimeout = 10 * time.Second
	stopTimeout = 20 * time.Second
)

// Config configures the server.
type Config struct {
	// Rest is the address of the cluster and its certificate authority. Its
	// credentials are not used.
	Rest *rest.Config
	Log  *slog.Logger
	// Listener accepts connections; it is closed at the end.
	Listener net.Listener
	// TLS serves HTTPS; nil serves HTTP, for a proxy that ends TLS.
	TLS *tls.Config
	// Allowed are the names of the tools to serve; none means all.
	Allowed []string
}

// tools returns the tools to serve. It fails if none of the names is the name of a
// tool, and logs those that are not.
func (c Config) tools() ([]tool, error) {
	tools, unknown := toolkit.Allowed(all, c.Allowed)
	if len(tools) == 0 {
		return nil, fmt.Errorf("none of the allowed tools is the name of a tool: %s", strings.Join(unknown, ", "))
	}
	if len(unknown) > 0 {
		c.Log.Warn("some of the allowed tools do not exist", "names", unknown)
	}
	return tools, nil
}

// Run serves requests until ctx ends, then waits up to 20 seconds for open ones.
func Run(ctx context.Context, c Config) error {
	handler, err := Handler(c)
	if err != nil {
		return err
	}
	s := &http.Server{
		Handler: handler, TLSConfig: c.TLS, ErrorLog: slog.NewLogLogger(c.Log.Handler(), slog.LevelDebug),
		ReadHeaderTimeout: authTimeout, ReadTimeout: readTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
	}
	ended := make(chan error, 1)
	go func() {
		if c.TLS != nil {
			ended <- s.ServeTLS(c.Listener, "", "")
			return
		}
		ended <- s.Serve(c.Listener)
	}()
	select {
	case err := <-ended:
		return fmt.Errorf("serve MCP: %w", err)
	case <-ctx.Done():
	}
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	err = s.Shutdown(stopping)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.Close() // requests that do not finish are cut
	}
	<-ended
	return err
}

// Handler returns the handler of MCP at Path, and of /healthz and /readyz.
func Handler(c Config) (http.Handler, error) {
	tools, err := c.tools()
	if err != nil {
		return nil, err
	}
	anonymous := rest.AnonymousClientConfig(c.Rest)
	anonymous.QPS = -1 // the API server applies flow control
	protocol := mcp.NewStreamableHTTPHandler(func(r *http.Request) *mcp.Server {
		caller, ok := r.Context().Value(callerKey{}).(*caller)
		if !ok {
			return nil
		}
		return toolkit.NewServer(toolkit.Options{
			Name: "coder-kubernetes", Title: "Coder on Kubernetes", Version: codersdk.Version(), Instructions: instructions, Log: c.Log,
		}, tools, caller)
	}, &mcp.StreamableHTTPOptions{Stateless: true, MaxRequestBodyBytes: maxBody, DisableLocalhostProtection: true}) // requests carry a token
	mux := http.NewServeMux()
	mux.HandleFunc(Path, func(w http.ResponseWriter, r *http.Request) {
		who, err := authenticate(r, anonymous)
		switch {
		case err == nil:
			protocol.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, who)))
		case apierrors.IsUnauthorized(err):
			w.Header().Set("WWW-Authenticate", `Bearer realm="kubernetes"`)
			http.Error(w, "The request has no valid token of the cluster; send one as 'Authorization: Bearer <token>'", http.StatusUnauthorized)
		default:
			c.Log.WarnContext(r.Context(), "checking the token of an MCP request failed", "error", err)
			http.Error(w, "The Kubernetes API cannot check the token now; try again", http.StatusServiceUnavailable)
		}
	})
	alive := func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") }
	mux.HandleFunc("GET /healthz", alive)
	mux.HandleFunc("GET /readyz", alive)
	return mux, nil
}

type callerKey struct{}

// caller acts for the user of a token.
type caller struct {
	user    authenticationv1.UserInfo
	objects dynamic.Interface
	core    core.CoreV1Interface // for logs and the proxy of Services
}

// authenticate returns the caller of a request. It asks the API server who the
// user of the token is, which every authenticated user may ask.
func authenticate(r *http.Request, anonymous *rest.Config) (*caller, error) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") || token == "" {
		return nil, apierrors.NewUnauthorized("no bearer token")
	}
	config := rest.CopyConfig(anonymous)
	config.BearerToken = token
	reviews, err := authentication.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), authTimeout)
	defer cancel()
	review, err := reviews.SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	client, err := core.NewForConfig(config)
	return &caller{review.Status.UserInfo, objects, client}, err
}
