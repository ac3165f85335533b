-- +goose Up

-- Users who chose how they get emails. A row stays after a user returns to single
-- emails: it is locked while the emails of the user are collected.
CREATE TABLE notification_digests (
    user_id uuid PRIMARY KEY REFERENCES users ON DELETE CASCADE,
    daily   boolean NOT NULL
);

-- Notifications that wait for the next daily email of their user.
CREATE TABLE notification_digest_entries (
    id         uuid PRIMARY KEY,
    user_id    uuid NOT NULL REFERENCES notification_digests ON DELETE CASCADE,
    title      text NOT NULL,
    content    text NOT NULL, -- Markdown
    created_at timestamptz NOT NULL,
    due_at     timestamptz NOT NULL
);
CREATE INDEX notification_digest_entries_due ON notification_digest_entries (due_at);
CREATE INDEX notification_digest_entries_user ON notification_digest_entries (user_id, due_at);
