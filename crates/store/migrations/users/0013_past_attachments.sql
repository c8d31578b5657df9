-- Until when a study held a patient who has left it: it still reads the events of that time, and none of later.
CREATE TABLE past_attachment (
    patient TEXT NOT NULL REFERENCES patient (uuid),
    group_code TEXT NOT NULL,
    attached_ms BIGINT NOT NULL,
    detached_ms BIGINT NOT NULL,
    PRIMARY KEY (patient, group_code, attached_ms)
) /*clustered*/;
