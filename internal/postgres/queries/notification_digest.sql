-- name: DigestDaily :one
-- Reports whether a user gets one email a day; no row for users who never chose.
SELECT daily FROM notification_digests WHERE user_id = $1;

-- name: DigestSet :exec
INSERT INTO notification_digests (user_id, daily) VALUES (@user_id, @daily)
ON CONFLICT (user_id) DO UPDATE SET daily = excluded.daily;

-- name: DigestSendNow :exec
-- Makes the waiting notifications of a user due.
UPDATE notification_digest_entries SET due_at = now() WHERE user_id = $1 AND due_at > now();

-- name: DigestAdd :exec
INSERT INTO notification_digest_entries (id, user_id, title, content, created_at, due_at)
VALUES (@id, @user_id, @title, @content, now(), @due_at);

-- name: DigestDueUser :many
-- Locks a user with due notifications, whom no other transaction handles.
SELECT d.user_id FROM notification_digests d
WHERE EXISTS (SELECT FROM notification_digest_entries e WHERE e.user_id = d.user_id AND e.due_at <= now())
LIMIT 1 FOR UPDATE SKIP LOCKED;

-- name: DigestTake :many
-- Deletes the due notifications of a user and returns them, the oldest first.
WITH taken AS (
    DELETE FROM notification_digest_entries e WHERE e.user_id = $1 AND e.due_at <= now() RETURNING e.id, e.title, e.content, e.created_at
)
SELECT t.title, t.content FROM taken t ORDER BY t.created_at, t.id;
