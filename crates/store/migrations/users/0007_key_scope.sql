-- Whether a key acts on the groups named for it alone is a fact of its own: without a row of groups it acts on nothing.

ALTER TABLE api_key ADD COLUMN is_scoped BOOLEAN NOT NULL DEFAULT FALSE;
UPDATE api_key SET is_scoped = TRUE
    WHERE EXISTS (SELECT 1 FROM api_key_group WHERE api_key_group.api_key = api_key.id);
