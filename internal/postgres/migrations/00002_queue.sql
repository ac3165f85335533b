-- +goose Up

-- Provisioner keys: one current key under a name and any number that it
-- replaced, which are good until they expire.
ALTER TABLE provisioner_keys
    ADD COLUMN expires_at   timestamptz, -- null for never
    ADD COLUMN replaced_at  timestamptz, -- null for the current one
    ADD COLUMN last_used_at timestamptz, -- to about a minute
    ADD CHECK (replaced_at IS NULL OR expires_at IS NOT NULL);
DROP INDEX provisioner_keys_name;
CREATE UNIQUE INDEX provisioner_keys_name ON provisioner_keys (organization_id, lower(name)) WHERE replaced_at IS NULL;

-- How long jobs of a tag set took lately.
CREATE INDEX provisioner_jobs_done ON provisioner_jobs (tag_set_id, completed_at DESC) WHERE completed_at IS NOT NULL AND started_at IS NOT NULL;

-- The id that a job's input has under a key; null for what is no id, so that
-- one spoiled job does not keep all others from being read.
CREATE FUNCTION provisioner_job_input_id(input jsonb, key text) RETURNS uuid LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
    'SELECT CASE WHEN input ->> key ~ ''^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$'' THEN (input ->> key)::uuid END';

-- Fair turns. Jobs of one tag set, kind and class are taken in the order of
-- their turns; see docs/queue.md.
ALTER TABLE provisioner_jobs
    ADD COLUMN turn        bigint NOT NULL DEFAULT 0,
    ADD COLUMN template_id uuid, -- of a build; no reference, it is only for counting
    ADD COLUMN held        boolean NOT NULL DEFAULT false; -- waits for its template's cap, not for a provisioner
ALTER TABLE templates
    ADD COLUMN max_concurrent_builds integer NOT NULL DEFAULT 0 CHECK (max_concurrent_builds >= 0); -- 0 for no cap
DROP INDEX provisioner_jobs_pending;
CREATE INDEX provisioner_jobs_pending ON provisioner_jobs (tag_set_id, provisioner, priority, turn, created_at, id)
    WHERE started_at IS NULL AND completed_at IS NULL AND NOT held;
CREATE INDEX provisioner_jobs_waiting ON provisioner_jobs (tag_set_id, created_at) -- small, for counting
    WHERE started_at IS NULL AND completed_at IS NULL AND NOT held;
CREATE INDEX provisioner_jobs_initiator ON provisioner_jobs (tag_set_id, provisioner, priority, initiator_id, turn)
    WHERE started_at IS NOT NULL OR completed_at IS NULL;
CREATE INDEX provisioner_jobs_template ON provisioner_jobs (template_id, held, priority, turn, created_at)
    WHERE template_id IS NOT NULL AND completed_at IS NULL;

-- What the clock of start-time fair queueing shows: the turn of what is next,
-- the even one of it. Jobs that were claimed before keep their place at the
-- front and do not turn it back. When nothing waits it is the time in half
-- milliseconds, later than all turns of the past.
CREATE FUNCTION provisioner_job_clock(set bigint, kind text, class smallint) RETURNS bigint LANGUAGE sql VOLATILE AS
    'SELECT 2 * coalesce(
        (SELECT (p.turn + 1) / 2 FROM provisioner_jobs p
            WHERE p.tag_set_id = set AND p.provisioner = kind AND p.priority = class
                AND p.started_at IS NULL AND p.completed_at IS NULL AND NOT p.held AND p.fence = 0
            ORDER BY p.turn LIMIT 1),
        (extract(epoch FROM clock_timestamp()) * 1000)::bigint)';

-- Whether a new build of a template has to wait for others of it to end.
-- +goose StatementBegin
CREATE FUNCTION provisioner_job_held(template uuid) RETURNS boolean LANGUAGE plpgsql VOLATILE AS '
DECLARE cap integer;
BEGIN
    SELECT t.max_concurrent_builds INTO cap FROM templates t WHERE t.id = template;
    IF cap IS NULL OR cap = 0 THEN
        RETURN false;
    END IF;
    PERFORM pg_advisory_xact_lock(hashtextextended(template::text, 0));
    RETURN (SELECT count(*) FROM (SELECT FROM provisioner_jobs p
        WHERE p.template_id = template AND p.completed_at IS NULL AND NOT p.held LIMIT cap) x) >= cap;
END';
-- +goose StatementEnd

-- Lets go as many held builds of a template as its cap has room for, in the
-- order of their turns, and tells how many.
-- +goose StatementBegin
CREATE FUNCTION provisioner_jobs_let_go(template uuid) RETURNS integer LANGUAGE plpgsql VOLATILE AS '
DECLARE room integer; freed integer;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended(template::text, 0));
    SELECT CASE WHEN t.max_concurrent_builds = 0 THEN NULL ELSE greatest(0, t.max_concurrent_builds - (SELECT count(*) FROM provisioner_jobs p
            WHERE p.template_id = template AND p.completed_at IS NULL AND NOT p.held)) END
        INTO room FROM templates t WHERE t.id = template;
    UPDATE provisioner_jobs j SET held = false, updated_at = now(), turn = greatest(j.turn, provisioner_job_clock(j.tag_set_id, j.provisioner, j.priority))
    WHERE j.id IN (SELECT p.id FROM provisioner_jobs p WHERE p.template_id = template AND p.held AND p.completed_at IS NULL
        ORDER BY p.priority, p.turn, p.created_at LIMIT room);
    GET DIAGNOSTICS freed = ROW_COUNT;
    RETURN freed;
END';
-- +goose StatementEnd

-- How the server's own provisioners are shared out among organizations: in
-- proportion to weight; 0 is not served.
ALTER TABLE organizations
    ADD COLUMN provisioner_weight integer NOT NULL DEFAULT 0 CHECK (provisioner_weight BETWEEN 0 AND 100);
UPDATE organizations SET provisioner_weight = 1 WHERE is_default;

-- One provisioner that serves several organizations has a row in each; these
-- have the same shared_id, and what one of them does keeps all of them busy.
ALTER TABLE provisioner_daemons ADD COLUMN shared_id uuid;
CREATE INDEX provisioner_daemons_shared ON provisioner_daemons (shared_id) WHERE shared_id IS NOT NULL;
