-- What bears on security: logins, credentials, refusals. The audit log says what was done with data and is another.

CREATE TABLE security_event (
    -- Order of the log. Given while audit_head is held, so that a reader who goes on behind a number misses nothing; the
    -- newest row is never deleted.
    number BIGINT NOT NULL PRIMARY KEY,
    time_ms BIGINT NOT NULL,
    type TEXT NOT NULL,
    -- How many of the same it represents.
    count BIGINT NOT NULL,
    -- Uuid of the patient or account that did it; absent where nobody was recognised.
    actor TEXT,
    actor_role TEXT,
    -- Uuid or record identifier of the patient, account or thing that it was done to.
    subject TEXT,
    -- Of a name that nobody has: a hash under a key that is not in the database.
    name_hash TEXT,
    address TEXT,
    detail TEXT
);
CREATE INDEX security_event_time ON security_event (time_ms);
CREATE INDEX security_event_actor ON security_event (actor) WHERE actor IS NOT NULL;
CREATE INDEX security_event_subject ON security_event (subject) WHERE subject IS NOT NULL;
