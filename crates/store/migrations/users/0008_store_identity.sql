-- Which store this is: the same in the health database and among the objects.
CREATE TABLE store_identity (
    one BIGINT NOT NULL PRIMARY KEY CHECK (one = 1),
    id TEXT NOT NULL,
    -- 0 while the store is being made, 1 when its databases and objects belong together.
    bound BIGINT NOT NULL
);
