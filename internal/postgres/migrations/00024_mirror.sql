-- +goose Up

-- Provider packages that the server's mirror stores. A package is inserted with all its chunks
-- in one transaction, and deleted when the mirror exceeds its size.
CREATE TABLE mirror_packages (
    id         uuid PRIMARY KEY,
    hostname   text NOT NULL, -- of the origin registry
    namespace  text NOT NULL,
    type       text NOT NULL,
    version    text NOT NULL,
    os         text NOT NULL,
    arch       text NOT NULL,
    size       bigint NOT NULL, -- bytes of the archive
    sha256     bytea NOT NULL, -- of the archive
    h1         text NOT NULL, -- hash of the files in the archive, in the form of lock files
    signed_by  text NOT NULL DEFAULT '', -- id of the key that signed the registry's checksums
    created_at timestamptz NOT NULL,
    used_at    timestamptz NOT NULL,
    UNIQUE (hostname, namespace, type, version, os, arch)
);
CREATE INDEX mirror_packages_used ON mirror_packages (used_at);

CREATE TABLE mirror_chunks (
    package_id uuid NOT NULL REFERENCES mirror_packages ON DELETE CASCADE,
    number     integer NOT NULL, -- from 0
    data       bytea NOT NULL,
    PRIMARY KEY (package_id, number)
);
-- Archives are compressed already.
ALTER TABLE mirror_chunks ALTER COLUMN data SET STORAGE EXTERNAL;
