package mcphttp

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
	"github.com/seed-2a7f8fe7/coder/internal/mcp/toolkit"
	"github.com/seed-2a7f8fe7/coder/internal/operator/podspec"
)

// checkTimeout bounds each check that can wait for a server.
const checkTimeout = 10 * time.Second

// maxPools is the maximum number of pools that a check of health reads.
const maxPools = 500

// results of a check. A check is unknown if the caller lacks a permission for it.
const (
	resultOK      = "ok"
	resultFailed  = "failed"
	resultUnknown = "unknown"
)

var healthTool = toolkit.New(toolkit.Spec{
	Name: "coder_check_health", Title: "Check the health of a control plane", Effect: toolkit.ReadOnly,
	Description: "Check a control plane: its condition Ready, the answer of its server, its workspaces as objects of the cluster, and its provisioner pools.",
}, checkHealth)

type healthOutput struct {
	Healthy bool          `json:"healthy"` // no check failed
	Checks  []checkOutput `json:"checks"`
}

type checkOutput struct {
	Check  string `json:"check"`
	Result string `json:"result"`
	Detail string `json:"detail,omitempty"`
}

func checkHealth(ctx context.Context, c *caller, in named) (healthOutput, error) {
	u, err := c.of(controlPlanes, in.Namespace).Get(ctx, in.Name, metav1.GetOptions{})
	if err != nil {
		return healthOutput{}, explain(err)
	}
	cp := &v1alpha1.CoderControlPlane{}
	if err := convert(u, cp); err != nil {
		return healthOutput{}, err
	}
	checks := []checkOutput{
		{"control plane", resultOK, ""}, c.answer(ctx, cp), c.workspaces(ctx, in.Namespace), c.pools(ctx, cp),
	}
	if fault := notReady(cp.Status.Conditions, cp.Generation); fault != "" {
		checks[0] = checkOutput{"control plane", resultFailed, fault}
	}
	out := healthOutput{Healthy: true, Checks: checks}
	for _, check := range checks {
		out.Healthy = out.Healthy && check.Result != resultFailed
	}
	return out, nil
}

// notReady returns why a resource is not ready, "" if it is.
func notReady(conditions []metav1.Condition, generation int64) string {
	ready := meta.FindStatusCondition(conditions, v1alpha1.ConditionReady)
	switch {
	case ready == nil:
		return "the operator has not reported a status; check that the operator runs and watches this namespace"
	case ready.ObservedGeneration < generation:
		return "the operator has not applied the newest specification yet"
	case ready.Status != metav1.ConditionTrue:
		return ready.Reason + ": " + ready.Message
	}
	return ""
}

// answer requests /healthz of the server through the Kubernetes API.
func (c *caller) answer(ctx context.Context, cp *v1alpha1.CoderControlPlane) checkOutput {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	scheme := "http"
	if len(cp.Spec.TLS.SecretNames) > 0 {
		scheme = "https"
	}
	_, err := c.core.Services(cp.Namespace).ProxyGet(scheme, podspec.Name("", cp.Name), scheme, "healthz", nil).DoRaw(ctx)
	return result("server", err)
}

// workspaces lists a workspace, which the control plane answers.
func (c *caller) workspaces(ctx context.Context, namespace string) checkOutput {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	_, err := c.of(workspaces, namespace).List(ctx, metav1.ListOptions{Limit: 1})
	if apierrors.IsNotFound(err) {
		return checkOutput{"workspaces", resultUnknown, "the cluster has no aggregated API server for workspaces"}
	}
	return result("workspaces", err)
}

// pools checks the pools of a control plane.
func (c *caller) pools(ctx context.Context, cp *v1alpha1.CoderControlPlane) checkOutput {
	all, err := listAll[v1alpha1.CoderProvisioner](ctx, c, pools.resource, cp.Namespace, "", maxPools)
	if err != nil {
		return result("provisioner pools", err)
	}
	var faults []string
	for _, p := range all {
		if p.Spec.ControlPlaneRef.Name != cp.Name {
			continue
		}
		if fault := notReady(p.Status.Conditions, p.Generation); fault != "" {
			faults = append(faults, p.Name+": "+fault)
		}
	}
	if len(faults) > 0 {
		return checkOutput{"provisioner pools", resultFailed, toolkit.Truncate(strings.Join(faults, "; "), 8<<10)}
	}
	return checkOutput{"provisioner pools", resultOK, ""}
}

func result(check string, err error) checkOutput {
	switch {
	case err == nil:
		return checkOutput{check, resultOK, ""}
	case apierrors.IsForbidden(err):
		return checkOutput{check, resultUnknown, err.Error()}
	}
	return checkOutput{check, resultFailed, fmt.Sprint(explain(err))}
}
