-- +goose Up

-- Browsers that show the notifications of a user. A browser belongs to the user who
-- subscribed it last.
CREATE TABLE webpush_subscriptions (
    id         uuid PRIMARY KEY,
    user_id    uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    endpoint   text NOT NULL UNIQUE, -- URL at the push service of the browser
    p256dh_key text NOT NULL, -- public key of the browser, base64
    auth_key   text NOT NULL, -- authentication secret of the browser, base64
    created_at timestamptz NOT NULL
);
CREATE INDEX webpush_subscriptions_user ON webpush_subscriptions (user_id, created_at DESC);

ALTER TABLE notification_messages
    ADD COLUMN subscription_id uuid REFERENCES webpush_subscriptions ON DELETE CASCADE, -- of webpush
    DROP CONSTRAINT notification_messages_method_check,
    ADD CONSTRAINT notification_messages_method_check CHECK (method IN ('smtp', 'webhook', 'webpush'));
CREATE INDEX notification_messages_subscription ON notification_messages (subscription_id) WHERE subscription_id IS NOT NULL;
