-- name: WebpushPut :exec
-- Stores the subscription of a browser. A browser that another user subscribed changes its user.
INSERT INTO webpush_subscriptions (id, user_id, endpoint, p256dh_key, auth_key, created_at)
VALUES (@id, @user_id, @endpoint, @p256dh_key, @auth_key, now())
ON CONFLICT (endpoint) DO UPDATE SET user_id = excluded.user_id, p256dh_key = excluded.p256dh_key, auth_key = excluded.auth_key, created_at = excluded.created_at;

-- name: WebpushForget :exec
-- Deletes pending messages of a browser for users other than its own.
DELETE FROM notification_messages m USING webpush_subscriptions s
WHERE s.endpoint = @endpoint AND m.subscription_id = s.id AND m.user_id <> s.user_id;

-- name: WebpushTrim :exec
-- Deletes all but the newest subscriptions of a user.
DELETE FROM webpush_subscriptions WHERE id IN (
    SELECT s.id FROM webpush_subscriptions s WHERE s.user_id = @user_id ORDER BY s.created_at DESC, s.id OFFSET @keep);

-- name: WebpushDelete :exec
DELETE FROM webpush_subscriptions WHERE user_id = @user_id AND endpoint = @endpoint;

-- name: WebpushDeleteByID :exec
DELETE FROM webpush_subscriptions WHERE id = $1;

-- name: WebpushByID :one
SELECT * FROM webpush_subscriptions WHERE id = $1;

-- name: WebpushOfUser :many
SELECT * FROM webpush_subscriptions WHERE user_id = $1 ORDER BY created_at, id;
