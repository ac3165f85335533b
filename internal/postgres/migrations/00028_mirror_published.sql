-- +goose Up

-- Modules that administrators publish are nowhere else, so they are not removed to save space.
ALTER TABLE mirror_packages ADD COLUMN published boolean NOT NULL DEFAULT false;
