-- +goose Up

-- The number of prebuilt workspaces up to which a template keeps more of them ready when users
-- are likely to create workspaces. 0 disables this.
ALTER TABLE templates ADD COLUMN prebuild_budget integer NOT NULL DEFAULT 0 CHECK (prebuild_budget >= 0);
