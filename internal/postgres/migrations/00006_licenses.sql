-- +goose Up
-- Licenses that administrators uploaded. Nothing depends on them: only what is
-- shown of a license is kept, and the digest by which its text is recognized.
CREATE TABLE licenses (
    id          integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    uuid        uuid NOT NULL,
    uploaded_at timestamptz NOT NULL,
    digest      bytea NOT NULL UNIQUE, -- SHA-256 of the text
    claims      text NOT NULL          -- a JSON object
);
