-- +goose Up

-- Events that users are notified of. A row is inserted in the transaction of
-- the event, and deleted in the transaction that inserts what its recipients get.
CREATE TABLE notification_events (
    id              uuid PRIMARY KEY,
    kind            uuid NOT NULL, -- template of package notification
    organization_id uuid,
    workspace_id    uuid,
    template_id     uuid,
    version_id      uuid,
    subject_id      uuid, -- the user that the event is about
    initiator_id    uuid, -- the user who caused it; NULL: the server
    recipients      uuid[] NOT NULL, -- empty: the audience of the template
    labels          jsonb NOT NULL, -- map[string]string
    data            jsonb NOT NULL, -- of reports
    created_at      timestamptz NOT NULL,
    failed_at       timestamptz, -- it cannot be rendered
    error           text NOT NULL DEFAULT ''
);
CREATE INDEX notification_events_pending ON notification_events (created_at, id) WHERE failed_at IS NULL;
CREATE INDEX notification_events_failed ON notification_events (failed_at) WHERE failed_at IS NOT NULL;

-- Messages to one user by one method other than the inbox. A lease ends at
-- next_attempt_at, when another server can try.
CREATE TABLE notification_messages (
    id              uuid PRIMARY KEY,
    user_id         uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    kind            uuid NOT NULL,
    method          text NOT NULL CHECK (method IN ('smtp', 'webhook')),
    title           text NOT NULL,
    content         text NOT NULL, -- Markdown
    actions         jsonb NOT NULL, -- []codersdk.InboxNotificationAction
    labels          jsonb NOT NULL,
    data            jsonb NOT NULL,
    targets         uuid[] NOT NULL,
    attempts        integer NOT NULL DEFAULT 0,
    created_at      timestamptz NOT NULL,
    next_attempt_at timestamptz NOT NULL,
    lease_id        uuid,
    sent_at         timestamptz,
    failed_at       timestamptz,
    error           text NOT NULL DEFAULT '',
    status          text NOT NULL GENERATED ALWAYS AS (CASE
        WHEN sent_at IS NOT NULL THEN 'sent'
        WHEN failed_at IS NOT NULL THEN 'permanent_failure'
        WHEN lease_id IS NOT NULL THEN 'leased'
        WHEN attempts > 0 THEN 'temporary_failure'
        ELSE 'pending' END) STORED
);
CREATE INDEX notification_messages_due ON notification_messages (next_attempt_at, id) WHERE sent_at IS NULL AND failed_at IS NULL;
CREATE INDEX notification_messages_failed ON notification_messages (failed_at DESC, id DESC) WHERE failed_at IS NOT NULL;
CREATE INDEX notification_messages_created ON notification_messages (created_at);
CREATE INDEX notification_messages_user ON notification_messages (user_id);

CREATE TABLE inbox_notifications (
    id         uuid PRIMARY KEY,
    user_id    uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    kind       uuid NOT NULL,
    targets    uuid[] NOT NULL,
    title      text NOT NULL,
    content    text NOT NULL, -- Markdown
    icon       text NOT NULL,
    actions    jsonb NOT NULL, -- []codersdk.InboxNotificationAction
    created_at timestamptz NOT NULL,
    read_at    timestamptz
);
CREATE INDEX inbox_notifications_user ON inbox_notifications (user_id, created_at DESC, id DESC);
CREATE INDEX inbox_notifications_unread ON inbox_notifications (user_id) WHERE read_at IS NULL;
CREATE INDEX inbox_notifications_created ON inbox_notifications (created_at);

-- When a user last got the same notification, for the quiet of repeats.
CREATE TABLE notification_repeats (
    user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    digest  bytea NOT NULL, -- SHA-256 of template, labels and targets
    at      timestamptz NOT NULL,
    PRIMARY KEY (user_id, digest)
);
CREATE INDEX notification_repeats_at ON notification_repeats (at);

-- Choices of users that differ from the default of the template.
CREATE TABLE notification_preferences (
    user_id    uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    kind       uuid NOT NULL,
    disabled   boolean NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (user_id, kind)
);

-- The method of a template, if it is not that of the deployment.
CREATE TABLE notification_methods (
    kind       uuid PRIMARY KEY,
    method     text NOT NULL CHECK (method IN ('smtp', 'webhook', 'inbox')),
    updated_at timestamptz NOT NULL
);
