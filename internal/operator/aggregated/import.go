package aggregated

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"sync"
	"time"

	"github.com/google/uuid"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// Timeout of an import, and the interval of its polling. (OP-22)
const (
	importTimeout = 25 * time.Minute
	firstLook     = 2 * time.Second
	lastLook      = 10 * time.Second
)

// imports creates versions from files. An import continues after its request
// has ended, because API servers time out after a minute. A repeated request
// waits for the running import.
type imports struct {
	mu      sync.Mutex
	running map[string]*running
}

type running struct {
	done chan struct{}
	err  error
}

// errImporting reports that an import takes longer than the request may.
var errImporting = codersdk.Errorf(codersdk.CodeUnavailable,
	"the import of the files is still running; get the template later, or apply the same files again to wait")

// run runs work unless a run with the same key is active, and waits for it.
func (i *imports) run(ctx context.Context, key string, work func(context.Context) error) error {
	i.mu.Lock()
	r := i.running[key]
	if r == nil {
		r = &running{done: make(chan struct{})}
		i.running[key] = r
		go func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), importTimeout)
			defer cancel()
			r.err = work(ctx)
			i.mu.Lock()
			delete(i.running, key)
			i.mu.Unlock()
			close(r.done)
		}()
	}
	i.mu.Unlock()
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		return errImporting
	}
}

func importKey(namespace, name string, archive []byte) string {
	sum := sha256.Sum256(archive)
	return namespace + "/" + name + "/" + hex.EncodeToString(sum[:])
}

// upload uploads an archive and imports it as a version, of a template if one
// is given. It returns the version once the import has succeeded.
func upload(ctx context.Context, at *site, organization string, template uuid.UUID, engine string, archive []byte) (uuid.UUID, error) {
	who := "somebody"
	if u, ok := genericapirequest.UserFrom(ctx); ok {
		who = u.GetName()
	}
	var v codersdk.TemplateVersion
	err := at.ask(ctx, func(ctx context.Context, c *codersdk.Client) error {
		up, err := c.Upload(ctx, "application/x-tar", bytes.NewReader(archive))
		if err != nil {
			return err
		}
		id, err := uuid.Parse(up.Hash)
		if err != nil {
			return err
		}
		v, err = c.CreateTemplateVersion(ctx, organization, codersdk.CreateTemplateVersionRequest{
			FileID: id, TemplateID: template, Provisioner: engine, StorageMethod: codersdk.ProvisionerStorageMethodFile, Message: "Created through Kubernetes by " + who,
		})
		return err
	})
	look := firstLook
	for err == nil {
		switch v.Job.Status {
		case codersdk.ProvisionerJobStatusSucceeded:
			return v.ID, nil
		case codersdk.ProvisionerJobStatusFailed:
			return v.ID, codersdk.Invalid("spec.files", "the import failed: %s", v.Job.Error)
		case codersdk.ProvisionerJobStatusCanceled:
			return v.ID, codersdk.Errorf(codersdk.CodeConflict, "the import was canceled")
		}
		select {
		case <-ctx.Done():
			return v.ID, ctx.Err()
		case <-time.After(look):
		}
		look = min(look*3/2, lastLook)
		err = at.ask(ctx, func(ctx context.Context, c *codersdk.Client) (err error) {
			v, err = c.TemplateVersion(ctx, v.ID)
			return err
		})
	}
	return v.ID, err
}
