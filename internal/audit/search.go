package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Search filters the audit log; zero fields match all.
type Search struct {
	ResourceType, ResourceTarget, Action string
	ResourceID                           uuid.UUID
	Username, Email                      string // the acting user; "me" is the actor
	OrganizationID                       uuid.UUID
	RequestID, BuildReason               string
	DateFrom, DateTo                     *time.Time // from inclusive, to exclusive
	Limit, Offset                        int
}

// Logs returns a page of the audit log that the actor can see, the newest first, and the count of all
// matching rows. (AUD-01)
func Logs(ctx context.Context, q *sqlc.Queries, actor access.Subject, f Search) (codersdk.AuditLogResponse, error) {
	out := codersdk.AuditLogResponse{AuditLogs: []codersdk.AuditLog{}}
	see := actor.Filter(codersdk.RBACResourceAuditLog)
	if !see.All && len(see.OrganizationIDs) == 0 || see.IDs != nil {
		return out, codersdk.Errorf(codersdk.CodeForbidden, "You do not have permission to read the audit log")
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
	return out, addOrganizations(ctx, q, out.AuditLogs, func(organization uuid.UUID) bool {
		return see.All || slices.Contains(see.OrganizationIDs, organization)
	})
}

// addOrganizations adds, with one query, the organizations of the users in the rows for which shown
// reports true.
func addOrganizations(ctx context.Context, q *sqlc.Queries, logs []codersdk.AuditLog, shown func(organization uuid.UUID) bool) error {
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
		if shown(m.OrganizationID) {
			of[m.UserID] = append(of[m.UserID], m.OrganizationID)
		}
	}
	for i := range logs {
		if u := logs[i].User; u != nil {
			u.OrganizationIDs = of[u.ID]
		}
	}
	return err
}

func view(r sqlc.AuditLogsRow) codersdk.AuditLog {
	a := r.AuditLog
	out := codersdk.AuditLog{
		ID: a.ID, Time: a.Time, RequestID: a.RequestID, UserAgent: a.UserAgent, ResourceType: codersdk.ResourceType(a.ResourceType),
		ResourceTarget: a.ResourceTarget, ResourceIcon: a.ResourceIcon, Action: codersdk.AuditAction(a.Action), Diff: a.Diff,
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
			out.Organization = &codersdk.MinimalOrganization{
				ID: *a.OrganizationID, Name: *r.OrganizationName, DisplayName: *r.OrganizationDisplayName, Icon: *r.OrganizationIcon,
			}
		}
	}
	who := "The server"
	if a.UserID != nil && r.Username != nil {
		who = *r.Username
		out.User = &codersdk.User{
			ID: *a.UserID, Username: *r.Username, Name: *r.UserName, Email: *r.UserEmail, AvatarURL: *r.UserAvatarUrl,
			LoginType: codersdk.LoginType(*r.UserLoginType), Status: codersdk.UserStatus(*r.UserStatus), ThemePreference: *r.UserTheme,
			Roles: access.SlimSite(r.UserRoles), OrganizationIDs: []uuid.UUID{},
			CreatedAt: *r.UserCreatedAt, UpdatedAt: *r.UserUpdatedAt, LastSeenAt: *r.UserLastSeenAt,
		}
	}
	out.Description = describe(who, a)
	out.ResourceLink = link(out, r.WorkspaceOwner)
	return out
}

// describe returns a one-line description of an entry.
func describe(who string, a sqlc.AuditLog) string {
	past := map[codersdk.AuditAction]string{
		codersdk.AuditActionCreate: "created", codersdk.AuditActionWrite: "changed", codersdk.AuditActionDelete: "deleted",
		codersdk.AuditActionStart: "started", codersdk.AuditActionStop: "stopped", codersdk.AuditActionLogin: "signed in",
		codersdk.AuditActionLogout: "signed out", codersdk.AuditActionRegister: "registered", codersdk.AuditActionConnect: "connected to",
		codersdk.AuditActionDisconnect: "disconnected from", codersdk.AuditActionOpen: "opened", codersdk.AuditActionClose: "closed",
		codersdk.AuditActionRequestPasswordReset: "requested a password reset for",
	}[codersdk.AuditAction(a.Action)]
	failed := ""
	if a.StatusCode >= 400 {
		failed = " (refused)"
	}
	switch codersdk.AuditAction(a.Action) {
	case codersdk.AuditActionLogin, codersdk.AuditActionLogout:
		return who + " " + past + failed
	}
	kind := strings.ReplaceAll(a.ResourceType, "_", " ")
	if isUserSecret(a.AdditionalFields) {
		kind = "user secret"
	}
	return fmt.Sprintf("%s %s %s %s%s", who, past, kind, a.ResourceTarget, failed)
}

// isUserSecret reports whether an entry is about a secret of a user, for which clients know no resource type.
func isUserSecret(fields json.RawMessage) bool {
	var f struct {
		Name string `json:"user_secret"`
	}
	return json.Unmarshal(fields, &f) == nil && f.Name != ""
}

// link returns the path of the page of an entry's object, "" for none. owner is the owner of the
// workspace, if the entry is about one.
func link(a codersdk.AuditLog, owner string) string {
	if a.IsDeleted || isUserSecret(a.AdditionalFields) {
		return ""
	}
	organization := ""
	if a.Organization != nil {
		organization = a.Organization.Name
	}
	switch {
	case a.ResourceType == codersdk.ResourceTypeUser:
		return "/users?filter=" + a.ResourceTarget
	case a.ResourceType == codersdk.ResourceTypeOrganization:
		return "/organizations/" + a.ResourceTarget
	case a.ResourceType == codersdk.ResourceTypeWorkspace && owner != "":
		return "/@" + owner + "/" + a.ResourceTarget
	case a.ResourceType == codersdk.ResourceTypeWorkspaceBuild && owner != "":
		var fields struct {
			BuildNumber int `json:"build_number"`
		}
		if json.Unmarshal(a.AdditionalFields, &fields) != nil || fields.BuildNumber == 0 {
			return "/@" + owner + "/" + a.ResourceTarget
		}
		return fmt.Sprintf("/@%s/%s/builds/%d", owner, a.ResourceTarget, fields.BuildNumber)
	case organization == "":
		return ""
	case a.ResourceType == codersdk.ResourceTypeTemplate:
		return "/templates/" + organization + "/" + a.ResourceTarget
	case a.ResourceType == codersdk.ResourceTypeGroup:
		return "/organizations/" + organization + "/groups/" + a.ResourceTarget
	case a.ResourceType == codersdk.ResourceTypeOrganizationMember:
		return "/organizations/" + organization
	case a.ResourceType == codersdk.ResourceTypeCustomRole:
		return "/organizations/" + organization + "/roles/" + a.ResourceTarget
	}
	return ""
}
