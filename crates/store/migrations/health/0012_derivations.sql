-- Which versions of which derivations have computed what is derived of a patient: 'id=version,…'. Where the program has
-- others, what they come from is made dirty at its start.
ALTER TABLE patient ADD COLUMN derivations TEXT NOT NULL DEFAULT '';

-- What other days need of a day has a key like everything else of a day.
UPDATE derived SET key = key * 64 WHERE output = 3;
