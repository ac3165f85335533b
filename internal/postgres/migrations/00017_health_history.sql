-- +goose Up

-- Health reports of the last day: one row for each report of a server.
CREATE TABLE health_checks (
    replica_id uuid NOT NULL, -- the server that checked; it may be gone
    checked_at timestamptz NOT NULL,
    sections   jsonb NOT NULL, -- codersdk.HealthSectionCheck by section
    PRIMARY KEY (replica_id, checked_at)
);
CREATE INDEX health_checks_checked_at ON health_checks (checked_at);
