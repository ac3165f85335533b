-- +goose Up

-- Whether the workspace was given to its owner before the build ran, so that the agents of the
-- build before are its agents already.
ALTER TABLE workspace_builds ADD COLUMN handed_over boolean NOT NULL DEFAULT false;
