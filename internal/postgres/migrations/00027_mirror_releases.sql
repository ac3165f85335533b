-- +goose Up

-- Signed checksums of packages of Terraform itself; empty for those of providers.
ALTER TABLE mirror_packages
    ADD COLUMN checksums bytea NOT NULL DEFAULT '', -- the SHA256SUMS file of the release
    ADD COLUMN signature bytea NOT NULL DEFAULT ''; -- of that file
