package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Search narrows the audit log; zero fields do not.
type Search struct {
	ResourceType, ResourceTarget, Action string
	ResourceID                           uuid.UUID
	Username, Email                      string // of who did it; "me" is the actor
	OrganizationID                       uuid.UUID
	RequestID, BuildReason               string
	DateFrom, DateTo                     *time.Time // from inclusive, to exclusive
	Limit, Offset                        int
}

// Logs gives a page of the audit log that the actor may see, the latest first,
// and the count of all rows that match. (AUD-01)
func Logs(ctx context.Context, q *sqlc.Queries, actor access.Subject, f Search) (coder.AuditLogResponse, error) {
	out := coder.AuditLogResponse{AuditLogs: []coder.AuditLog{}}
	see := actor.Filter(coder.RBACResourceAuditLog)
	if !see.All && len(see.OrganizationIDs) == 0 || see.IDs != nil {
		return out, coder.Errorf(coder.CodeForbidden, "You may not read the audit log")
	}
	p := sqlc.AuditLogsParams{
		SeeAll: see.All, SeeOrganizations: append([]uuid.UUID{}, see.OrganizationIDs...),
		ResourceType: f.ResourceType, ResourceTarget: f.ResourceTarget, Action: f.Action, Username: f.Username, Email: f.Email,
		OrganizationID: f.OrganizationID, RequestID: f.RequestID, BuildReason: f.BuildReason, DateFrom: f.DateFrom, DateTo: f.DateTo,
		RowLimit: int32(f.Limit), RowOffset: int32(f.Offset),
	}
	if f.ResourceID != uuid.Nil {
		p.ResourceID = &f.ResourceID
	}
	if f.Username == "me" {
		p.Username, p.UserID = "", actor.UserID
	}
	rows, err := q.AuditLogs(ctx, p)
	if err != nil {
		return out, err
	}
	for _, r := range rows {
		out.AuditLogs = append(out.AuditLogs, view(r))
	}
	count, err := q.CountAuditLogs(ctx, sqlc.CountAuditLogsParams{
		SeeAll: p.SeeAll, SeeOrganizations: p.SeeOrganizations, ResourceType: p.ResourceType, ResourceID: p.ResourceID,
		ResourceTarget: p.ResourceTarget, Action: p.Action, Username: p.Username, Email: p.Email, UserID: p.UserID,
		OrganizationID: p.OrganizationID, RequestID: p.RequestID, BuildReason: p.BuildReason, DateFrom: p.DateFrom, DateTo: p.DateTo,
	})
	if err != nil {
		return out, err
	}
	out.Count = int(count)
	return out, addOrganizations(ctx, q, out.AuditLogs)
}

// addOrganizations fills in, with one query, where the users of the rows belong.
func addOrganizations(ctx context.Context, q *sqlc.Queries, logs []coder.AuditLog) error {
	of := map[uuid.UUID][]uuid.UUID{}
	var ids []uuid.UUID
	for _, l := range logs {
		if l.User != nil && of[l.User.ID] == nil {
			of[l.User.ID] = []uuid.UUID{}
			ids = append(ids, l.User.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	members, err := q.UserOrganizationIDs(ctx, ids)
	for _, m := range members {
		of[m.UserID] = append(of[m.UserID], m.OrganizationID)
	}
	for i := range logs {
		if u := logs[i].User; u != nil {
			u.OrganizationIDs = of[u.ID]
		}
	}
	return err
}

func view(r sqlc.AuditLogsRow) coder.AuditLog {
	a := r.AuditLog
	out := coder.AuditLog{
		ID: a.ID, Time: a.Time, RequestID: a.RequestID, UserAgent: a.UserAgent, ResourceType: coder.ResourceType(a.ResourceType),
		ResourceTarget: a.ResourceTarget, ResourceIcon: a.ResourceIcon, Action: coder.AuditAction(a.Action), Diff: a.Diff,
		StatusCode: int64(a.StatusCode), AdditionalFields: a.AdditionalFields, IsDeleted: r.IsDeleted,
	}
	if a.IP != nil {
		out.IP = a.IP.String()
	}
	if a.ResourceID != nil {
		out.ResourceID = *a.ResourceID
	}
	if a.OrganizationID != nil {
		out.OrganizationID = *a.OrganizationID
		if r.OrganizationName != nil {
			out.Organization = &coder.MinimalOrganization{
				ID: *a.OrganizationID, Name: *r.OrganizationName, DisplayName: *r.OrganizationDisplayName, Icon: *r.OrganizationIcon,
			}
		}
	}
	who := "The server"
	if a.UserID != nil && r.Username != nil {
		who = *r.Username
		out.User = &coder.User{
			ID: *a.UserID, Username: *r.Username, Name: *r.UserName, Email: *r.UserEmail, AvatarURL: *r.UserAvatarUrl,
			LoginType: coder.LoginType(*r.UserLoginType), Status: coder.UserStatus(*r.UserStatus), ThemePreference: *r.UserTheme,
			Roles: access.SlimSite(r.UserRoles), OrganizationIDs: []uuid.UUID{},
			CreatedAt: *r.UserCreatedAt, UpdatedAt: *r.UserUpdatedAt, LastSeenAt: *r.UserLastSeenAt,
		}
	}
	out.Description = describe(who, a)
	out.ResourceLink = link(out, r.WorkspaceOwner)
	return out
}

// describe says in a line what was done.
func describe(who string, a sqlc.AuditLog) string {
	past := map[coder.AuditAction]string{
		coder.AuditActionCreate: "created", coder.AuditActionWrite: "changed", coder.AuditActionDelete: "deleted",
		coder.AuditActionStart: "started", coder.AuditActionStop: "stopped", coder.AuditActionLogin: "logged in",
		coder.AuditActionLogout: "logged out", coder.AuditActionRegister: "registered", coder.AuditActionConnect: "connected to",
		coder.AuditActionDisconnect: "disconnected from", coder.AuditActionOpen: "opened", coder.AuditActionClose: "closed",
		coder.AuditActionRequestPasswordReset: "asked for a new password for",
	}[coder.AuditAction(a.Action)]
	failed := ""
	if a.StatusCode >= 400 {
		failed = " (refused)"
	}
	switch coder.AuditAction(a.Action) {
	case coder.AuditActionLogin, coder.AuditActionLogout:
		return who + " " + past + failed
	}
	return fmt.Sprintf("%s %s %s %s%s", who, past, strings.ReplaceAll(a.ResourceType, "_", " "), a.ResourceTarget, failed)
}

// link is the page of what a row speaks of, "" for none. owner is whose the
// workspace is when it speaks of one.
func link(a coder.AuditLog, owner string) string {
	if a.IsDeleted {
		return ""
	}
	organization := ""
	if a.Organization != nil {
		organization = a.Organization.Name
	}
	switch {
	case a.ResourceType == coder.ResourceTypeUser:
		return "/users?filter=" + a.ResourceTarget
	case a.ResourceType == coder.ResourceTypeOrganization:
		return "/organizations/" + a.ResourceTarget
	case a.ResourceType == coder.ResourceTypeWorkspace && owner != "":
		return "/@" + owner + "/" + a.ResourceTarget
	case a.ResourceType == coder.ResourceTypeWorkspaceBuild && owner != "":
		var fields struct {
			BuildNumber int `json:"build_number"`
		}
		if json.Unmarshal(a.AdditionalFields, &fields) != nil || fields.BuildNumber == 0 {
			return "/@" + owner + "/" + a.ResourceTarget
		}
		return fmt.Sprintf("/@%s/%s/builds/%d", owner, a.ResourceTarget, fields.BuildNumber)
	case organization == "":
		return ""
	case a.ResourceType == coder.ResourceTypeTemplate:
		return "/templates/" + organization + "/" + a.ResourceTarget
	case a.ResourceType == coder.ResourceTypeGroup:
		return "/organizations/" + organization + "/groups/" + a.ResourceTarget
	case a.ResourceType == coder.ResourceTypeOrganizationMember:
		return "/organizations/" + organization
	case a.ResourceType == coder.ResourceTypeCustomRole:
		return "/organizations/" + organization + "/roles/" + a.ResourceTarget
	}
	return ""
}
