package workspace

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
	"github.com/seed-2a7f8fe7/coder/internal/workspace/savedplan"
	"github.com/seed-2a7f8fe7/coder/internal/workspace/wire"
)

// builds is the queue's Handler of workspace builds.
type builds struct{ *Service }

var _ queue.Handler = builds{}

// Prepare returns the inputs of a build for its provisioner.
func (s builds) Prepare(ctx context.Context, job queue.Job) (*provisionerd.AcquiredJob, error) {
	in, err := readInput(job)
	if err != nil {
		return nil, err
	}
	source, err := s.Store.BuildSource(ctx, job.FileID)
	if err != nil {
		return nil, fmt.Errorf("read the source of the template: %w", err)
	}
	var g gathered
	var plan savedplan.Plan
	err = s.Store.Tx(ctx, func(q *sqlc.Queries) error {
		var err error
		if g, err = s.gather(ctx, q, in); err != nil || !s.PlanAhead {
			return err
		}
		plan, err = savedplan.Take(ctx, q, in.WorkspaceID)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("gather the inputs of build %s: %w", in.WorkspaceBuildID, err)
	}
	if g.out.SavedPlan, err = s.Plans.Open(plan, source, g.out, s.now()); err != nil {
		return nil, err
	}
	if g.out.ExternalAuthProviders, err = s.linkTokens(ctx, g.row.WorkspaceBuild, g.row.Workspace.OwnerID); err != nil {
		return nil, err
	}
	return &provisionerd.AcquiredJob{
		UserName: g.row.Username, TemplateSourceArchive: source, TraceMetadata: map[string]string{},
		Type: &provisionerd.AcquiredJob_WorkspaceBuild_{WorkspaceBuild: g.out},
	}, nil
}

// gathered is the inputs of a build from the database.
type gathered struct {
	row sqlc.BuildForProvisionerRow
	out *provisionerd.AcquiredJob_WorkspaceBuild
}

// gather reads the inputs of a build, except its source and tokens of external providers.
func (s builds) gather(ctx context.Context, q *sqlc.Queries, in input) (g gathered, err error) {
	r, err := q.BuildForProvisioner(ctx, in.WorkspaceBuildID)
	if err != nil {
		return g, err
	}
	b := r.WorkspaceBuild
	out := &provisionerd.AcquiredJob_WorkspaceBuild{
		LogLevel: string(in.LogLevel), WorkspaceBuildId: b.ID.String(), WorkspaceName: r.Workspace.Name, RichParameterValues: wire.Parameters(b.Parameters),
	}
	variables, err := s.Vault.OpenVariables(b.TemplateVersionID, r.Variables, r.VariablesKeyID)
	if err != nil {
		return g, err
	}
	out.VariableValues = wire.Variables(variables)
	if out.Metadata, err = s.metadata(ctx, q, r); err != nil {
		return g, err
	}
	if err := s.setPrebuiltStage(ctx, q, in, r, out.Metadata); err != nil {
		return g, err
	}
	if b.BuildNumber > 1 {
		previous, err := q.BuildByNumber(ctx, b.WorkspaceID, b.BuildNumber-1)
		if err != nil {
			return g, err
		}
		out.PreviousParameterValues = wire.Parameters(previous.Parameters)
	}
	out.State, err = s.Vault.StateUpTo(ctx, q, b.WorkspaceID, b.BuildNumber)
	if codersdk.Is(err, codersdk.CodeNotFound) {
		err = nil // nothing was ever built
	}
	return gathered{row: r, out: out}, err
}

func readInput(job queue.Job) (in input, err error) {
	err = job.ReadInput(&in)
	return in, err
}

// metadata returns the data of the workspace, its owner and this build for templates. (TF-01)
func (s builds) metadata(ctx context.Context, q *sqlc.Queries, r sqlc.BuildForProvisionerRow) (*provisioner.Metadata, error) {
	w, b := r.Workspace, r.WorkspaceBuild
	memberships, err := q.BuildOwnerMemberships(ctx, w.OwnerID)
	if err != nil {
		return nil, err
	}
	m := &provisioner.Metadata{
		CoderUrl: s.AccessURL.String(), WorkspaceTransition: wire.Transition(b.Transition), WorkspaceName: w.Name,
		WorkspaceOwner: r.Username, WorkspaceId: w.ID.String(), WorkspaceOwnerId: w.OwnerID.String(),
		WorkspaceOwnerEmail: r.Email, WorkspaceOwnerName: r.OwnerFullName, TemplateName: r.TemplateName,
		TemplateVersion: r.VersionName, TemplateId: w.TemplateID.String(), TemplateVersionId: b.TemplateVersionID.String(),
		WorkspaceOwnerSshPublicKey: r.SshPublicKey, WorkspaceBuildId: b.ID.String(), WorkspaceOwnerLoginType: r.LoginType,
		WorkspaceOwnerRbacRoles: wire.Roles(r.Roles, memberships),
	}
	if m.WorkspaceOwnerSshPrivateKey, err = s.Vault.OpenSSHKey(w.OwnerID, r.SshPrivateKey, r.SshPrivateKeyKeyID); err != nil {
		return nil, err
	}
	if m.WorkspaceOwnerGroups, err = q.BuildOwnerGroups(ctx, w.OwnerID, w.OrganizationID); err != nil {
		return nil, err
	}
	if m.WorkspaceOwnerOidcAccessToken, err = s.providerToken(ctx, q, w.OwnerID); err != nil {
		return nil, err
	}
	if r.ModuleFilesID != nil && !r.DisableModuleCache {
		m.TemplateVersionModulesFile = r.ModuleFilesID.String()
	}
	if b.Transition == string(codersdk.WorkspaceTransitionStart) && s.OwnerToken != nil && w.OwnerID != codersdk.PrebuildsUserID() {
		if m.WorkspaceOwnerSessionToken, err = s.OwnerToken(ctx, q, w.OwnerID, b.ID); err != nil {
			return nil, fmt.Errorf("create the owner's session token: %w", err)
		}
	}
	return m, nil
}

// providerToken returns the last access token of the owner's identity provider, for
// templates that use it; it may have expired. "" if there is none.
func (s *Service) providerToken(ctx context.Context, q *sqlc.Queries, owner uuid.UUID) (string, error) {
	link, err := q.LinkOfUser(ctx, owner, string(codersdk.LoginTypeOIDC))
	if codersdk.Is(err, codersdk.CodeNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	tokens, err := s.Vault.OpenTokens(link)
	return tokens.Access, err
}
