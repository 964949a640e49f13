-- The token with which a console token ends: the name of a named one, or owner; '' = it is a
-- named token itself.

ALTER TABLE tokens ADD COLUMN parent TEXT NOT NULL DEFAULT '';
