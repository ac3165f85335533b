package aggregated

import (
	"context"
	"errors"
	"net"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// retrySeconds is the delay for clients that sent too many requests.
const retrySeconds = 5

// kindOf returns the name of a resource in errors.
type kindOf struct {
	schema.GroupResource
	kind string
}

// refuse converts a failure to a Kubernetes status. Explanations of the control
// plane are passed on. Failures that the user did not cause, such as a rejected
// operator token, are reported as unavailable.
func (k kindOf) refuse(name string, err error) error {
	var status apierrors.APIStatus
	if err == nil || errors.As(err, &status) {
		return err
	}
	var e *codersdk.Error
	if !errors.As(err, &e) {
		return unreached(err)
	}
	said := &codersdk.Error{Code: e.Code, Message: e.Message, Detail: e.Detail, Fields: e.Fields} // without the cause
	switch e.Code {
	case codersdk.CodeNotFound:
		out := apierrors.NewNotFound(k.GroupResource, name)
		out.ErrStatus.Message += ": " + said.Error()
		return out
	case codersdk.CodeConflict, codersdk.CodePrecondition:
		return apierrors.NewConflict(k.GroupResource, name, said)
	case codersdk.CodeInvalid, codersdk.CodeTooLarge:
		var all field.ErrorList
		for _, f := range e.Fields {
			all = append(all, &field.Error{Type: field.ErrorTypeInvalid, Field: f.Field, Detail: f.Detail, BadValue: field.OmitValueType{}})
		}
		if len(all) == 0 {
			return apierrors.NewBadRequest(said.Error())
		}
		return apierrors.NewInvalid(schema.GroupKind{Group: k.Group, Kind: k.kind}, name, all)
	case codersdk.CodeRateLimited:
		return apierrors.NewTooManyRequests(err.Error(), retrySeconds)
	case codersdk.CodeUnauthenticated:
		return unavailable("the control plane rejects the operator's token; check the condition OperatorAccessReady of the CoderControlPlane: " + said.Error())
	case codersdk.CodeForbidden:
		return apierrors.NewForbidden(k.GroupResource, name, said)
	case codersdk.CodeUnavailable:
		return unavailable(said.Error())
	}
	return apierrors.NewInternalError(said)
}

// unreached converts a network failure.
func unreached(err error) error {
	var network net.Error
	if errors.Is(err, context.DeadlineExceeded) || errors.As(err, &network) && network.Timeout() {
		return apierrors.NewTimeoutError("the control plane did not respond in time: "+err.Error(), 0)
	}
	return unavailable("the control plane is unreachable: " + err.Error())
}

// unavailable sets no retry delay: clients would wait for it, ten times, before
// they show the message.
func unavailable(message string) error {
	out := apierrors.NewServiceUnavailable(message)
	out.ErrStatus.Code = http.StatusServiceUnavailable
	return out
}
