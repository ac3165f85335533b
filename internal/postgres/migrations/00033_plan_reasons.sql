-- +goose Up

-- The reason again, if users may read it: errors of Terraform can contain secrets. Servers of the previous version
-- leave it as it was, so it counts only beside a reason.
ALTER TABLE workspace_plans ADD COLUMN public_reason text NOT NULL DEFAULT '';
