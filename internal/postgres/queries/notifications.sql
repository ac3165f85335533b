-- name: NotificationEnqueue :exec
INSERT INTO notification_events (id, kind, organization_id, workspace_id, template_id, version_id, subject_id, initiator_id, recipients, labels, data, created_at)
VALUES (@id, @kind, @organization_id, @workspace_id, @template_id, @version_id, @subject_id, @initiator_id, @recipients, @labels, @data, now());

-- name: NotificationEventsForUpdate :many
-- The oldest pending events that no other transaction handles: all, or those of the kinds.
SELECT * FROM notification_events WHERE failed_at IS NULL AND (sqlc.arg(all_kinds)::boolean OR kind = ANY (sqlc.arg(kinds)::uuid[])) ORDER BY created_at, id LIMIT sqlc.arg(max_rows) FOR UPDATE SKIP LOCKED;

-- name: NotificationEventDelete :exec
DELETE FROM notification_events WHERE id = $1;

-- name: NotificationEventFail :exec
UPDATE notification_events SET failed_at = now(), error = @error WHERE id = @id;

-- name: NotificationFacts :one
-- The names of the objects of an event; deleted objects keep theirs.
SELECT
    coalesce(w.name, '')::text AS workspace, coalesce(w.owner_id, '00000000-0000-0000-0000-000000000000')::uuid AS owner_id,
    coalesce(owner.username, '')::text AS owner, coalesce(owner.email, '')::text AS owner_email, coalesce(owner.is_system, false)::boolean AS owner_is_system,
    coalesce(t.name, '')::text AS template, coalesce(nullif(t.display_name, ''), t.name, '')::text AS template_display,
    coalesce(t.icon, '')::text AS template_icon, coalesce(nullif(o.display_name, ''), o.name, '')::text AS organization_display,
    coalesce(o.name, '')::text AS organization, coalesce(o.id, '00000000-0000-0000-0000-000000000000')::uuid AS organization_id,
    coalesce(v.name, '')::text AS version, coalesce(v.message, '')::text AS version_message,
    coalesce(subject.username, '')::text AS subject, coalesce(nullif(subject.name, ''), subject.username, '')::text AS subject_name,
    coalesce(subject.email, '')::text AS subject_email,
    coalesce(initiator.username, '')::text AS initiator
FROM notification_events e
LEFT JOIN workspaces w ON w.id = e.workspace_id
LEFT JOIN users owner ON owner.id = w.owner_id
LEFT JOIN templates t ON t.id = coalesce(e.template_id, w.template_id)
LEFT JOIN organizations o ON o.id = coalesce(e.organization_id, w.organization_id, t.organization_id)
LEFT JOIN template_versions v ON v.id = e.version_id
LEFT JOIN users subject ON subject.id = e.subject_id
LEFT JOIN users initiator ON initiator.id = e.initiator_id
WHERE e.id = $1;

-- name: NotificationRecipients :many
-- The users among ids who can be notified, with their choice for the template.
SELECT u.id, u.username, coalesce(nullif(u.name, ''), u.username)::text AS name, u.email, u.status, p.disabled,
    coalesce(d.daily, false)::boolean AS daily
FROM users u
LEFT JOIN notification_preferences p ON p.user_id = u.id AND p.kind = sqlc.arg(kind)
LEFT JOIN notification_digests d ON d.user_id = u.id
WHERE u.id = ANY (sqlc.arg(ids)::uuid[]) AND u.deleted_at IS NULL AND NOT u.is_system AND NOT u.is_service_account
ORDER BY u.id;

-- name: NotificationAdmins :many
-- The users with one of the site roles, and those with one of the organization roles in the
-- organization.
SELECT u.id FROM users u
WHERE u.deleted_at IS NULL AND NOT u.is_system AND NOT u.is_service_account AND u.status <> 'suspended' AND (u.roles && sqlc.arg(site_roles)::text[]
    OR EXISTS (SELECT FROM organization_members m
        WHERE m.user_id = u.id AND m.organization_id = sqlc.arg(organization_id)::uuid AND m.roles && sqlc.arg(organization_roles)::text[]));

-- name: NotificationRepeat :one
-- Records that a user gets a notification; no row if the user got the same after since.
INSERT INTO notification_repeats (user_id, digest, at) VALUES (@user_id, @digest, now())
ON CONFLICT (user_id, digest) DO UPDATE SET at = excluded.at WHERE notification_repeats.at < now() - (sqlc.arg(quiet_seconds)::float8) * interval '1 second'
RETURNING at;

-- name: NotificationInsertInbox :exec
INSERT INTO inbox_notifications (id, user_id, kind, targets, title, content, icon, actions, created_at)
VALUES (@id, @user_id, @kind, @targets, @title, @content, @icon, @actions, now());

-- name: NotificationInsertMessage :exec
INSERT INTO notification_messages (id, user_id, kind, method, title, content, actions, labels, data, targets, subscription_id, created_at, next_attempt_at)
VALUES (@id, @user_id, @kind, @method, @title, @content, @actions, @labels, @data, @targets, sqlc.narg(subscription_id), now(), now());

-- name: NotificationClaim :many
-- Leases due messages of the method for a number of seconds: all, or those of the kinds.
UPDATE notification_messages m
SET lease_id = @lease_id, attempts = attempts + 1, next_attempt_at = now() + (sqlc.arg(lease_seconds)::float8) * interval '1 second'
FROM (SELECT d.id FROM notification_messages d
    WHERE d.sent_at IS NULL AND d.failed_at IS NULL AND d.next_attempt_at <= now() AND d.method = @method
        AND (sqlc.arg(all_kinds)::boolean OR d.kind = ANY (sqlc.arg(kinds)::uuid[]))
    ORDER BY d.next_attempt_at, d.id LIMIT @max_rows FOR UPDATE SKIP LOCKED) due, users u
WHERE m.id = due.id AND u.id = m.user_id
RETURNING m.*, u.username, u.name, u.email, u.deleted_at AS user_deleted_at;

-- name: NotificationSent :execrows
UPDATE notification_messages SET sent_at = now(), lease_id = NULL, error = '' WHERE id = @id AND lease_id = @lease_id;

-- name: NotificationFailed :execrows
UPDATE notification_messages SET failed_at = now(), lease_id = NULL, error = @error WHERE id = @id AND lease_id = @lease_id;

-- name: NotificationPostpone :execrows
UPDATE notification_messages
SET lease_id = NULL, error = @error, next_attempt_at = now() + (sqlc.arg(pause_seconds)::float8) * interval '1 second'
WHERE id = @id AND lease_id = @lease_id;

-- name: NotificationCounts :one
-- Waiting events and messages, and those that failed.
SELECT
    (SELECT count(*) FROM notification_events WHERE failed_at IS NULL)::bigint AS events,
    (SELECT count(*) FROM notification_messages WHERE sent_at IS NULL AND failed_at IS NULL)::bigint AS messages,
    coalesce((SELECT extract(epoch FROM now() - min(created_at)) FROM notification_messages WHERE sent_at IS NULL AND failed_at IS NULL), 0)::float8 AS oldest_seconds,
    ((SELECT count(*) FROM notification_events WHERE failed_at IS NOT NULL) + (SELECT count(*) FROM notification_messages WHERE failed_at IS NOT NULL))::bigint AS dead;

-- name: NotificationDead :many
-- Failed messages and events, the newest first.
SELECT d.id, d.kind, d.method, d.user_id, coalesce(u.username, '')::text AS username, d.title, d.attempts, d.created_at, d.failed_at::timestamptz AS failed_at, d.error
FROM (
    SELECT m.id, m.kind, m.method, m.user_id, m.title, m.attempts, m.created_at, m.failed_at, m.error FROM notification_messages m WHERE m.failed_at IS NOT NULL
    UNION ALL
    SELECT e.id, e.kind, '', NULL, '', 0, e.created_at, e.failed_at, e.error FROM notification_events e WHERE e.failed_at IS NOT NULL
) d LEFT JOIN users u ON u.id = d.user_id
ORDER BY d.failed_at DESC, d.id DESC LIMIT @max_rows OFFSET @skip;

-- name: NotificationRetryMessage :execrows
UPDATE notification_messages SET failed_at = NULL, attempts = 0, next_attempt_at = now() WHERE id = $1 AND failed_at IS NOT NULL;

-- name: NotificationRetryEvent :execrows
UPDATE notification_events SET failed_at = NULL, error = '' WHERE id = $1 AND failed_at IS NOT NULL;

-- name: NotificationPurgeMessages :execrows
DELETE FROM notification_messages WHERE id IN (
    SELECT m.id FROM notification_messages m WHERE m.created_at < @before AND (m.sent_at IS NOT NULL OR m.failed_at IS NOT NULL) LIMIT 1000);

-- name: NotificationPurgeEvents :execrows
DELETE FROM notification_events WHERE id IN (SELECT e.id FROM notification_events e WHERE e.failed_at < @before LIMIT 1000);

-- name: NotificationPurgeRepeats :execrows
DELETE FROM notification_repeats WHERE (user_id, digest) IN (SELECT r.user_id, r.digest FROM notification_repeats r WHERE r.at < @before LIMIT 1000);

-- name: NotificationPurgeInbox :execrows
DELETE FROM inbox_notifications WHERE id IN (SELECT i.id FROM inbox_notifications i WHERE i.created_at < @before LIMIT 1000);

-- name: InboxList :many
-- A page of a user's inbox, the newest first, before the given notification if any.
SELECT * FROM inbox_notifications i
WHERE i.user_id = sqlc.arg(user_id)
    AND (cardinality(sqlc.arg(kinds)::uuid[]) = 0 OR i.kind = ANY (sqlc.arg(kinds)::uuid[]))
    AND (cardinality(sqlc.arg(targets)::uuid[]) = 0 OR i.targets @> sqlc.arg(targets)::uuid[])
    AND (sqlc.arg(read_status)::text = 'all' OR (i.read_at IS NULL) = (sqlc.arg(read_status)::text = 'unread'))
    AND (sqlc.narg(before)::uuid IS NULL
        OR (i.created_at, i.id) < (SELECT b.created_at, b.id FROM inbox_notifications b WHERE b.id = sqlc.narg(before)::uuid AND b.user_id = sqlc.arg(user_id)))
    AND (sqlc.narg(since)::timestamptz IS NULL OR i.created_at > sqlc.narg(since)::timestamptz)
ORDER BY i.created_at DESC, i.id DESC LIMIT sqlc.arg(max_rows);

-- name: InboxUnread :one
SELECT count(*) FROM inbox_notifications WHERE user_id = $1 AND read_at IS NULL;

-- name: InboxSetRead :one
UPDATE inbox_notifications SET read_at = CASE WHEN (sqlc.arg(is_read)::boolean) THEN coalesce(read_at, now()) END
WHERE id = @id AND user_id = @user_id RETURNING *;

-- name: InboxReadAll :exec
UPDATE inbox_notifications SET read_at = now() WHERE user_id = $1 AND read_at IS NULL;

-- name: NotificationPreferences :many
SELECT kind, disabled, updated_at FROM notification_preferences WHERE user_id = $1;

-- name: NotificationSetPreference :exec
INSERT INTO notification_preferences (user_id, kind, disabled, updated_at) VALUES (@user_id, @kind, @disabled, now())
ON CONFLICT (user_id, kind) DO UPDATE SET disabled = excluded.disabled, updated_at = excluded.updated_at;

-- name: NotificationMethods :many
SELECT kind, method FROM notification_methods;

-- name: NotificationSetMethod :exec
INSERT INTO notification_methods (kind, method, updated_at) VALUES (@kind, @method, now())
ON CONFLICT (kind) DO UPDATE SET method = excluded.method, updated_at = excluded.updated_at;

-- name: NotificationClearMethod :exec
DELETE FROM notification_methods WHERE kind = $1;

-- name: NotificationMarkedForDeletion :exec
-- Records an event for every dormant workspace of a template that has a deletion time.
INSERT INTO notification_events (id, kind, workspace_id, recipients, labels, data, created_at)
SELECT gen_random_uuid(), sqlc.arg(kind)::uuid, w.id, '{}',
    jsonb_build_object('deleting_at', to_char(w.deleting_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI') || ' UTC'), '{}', now()
FROM workspaces w
WHERE w.template_id = sqlc.arg(template_id)::uuid AND w.deleted_at IS NULL AND w.dormant_at IS NOT NULL AND w.deleting_at IS NOT NULL;
