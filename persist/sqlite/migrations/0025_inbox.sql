-- What items are about and what came of it, and what a digest says of these. An item of before is
-- about nothing: each counts for itself.

ALTER TABLE inbox_items ADD COLUMN about   TEXT; -- null = it counts for itself
ALTER TABLE inbox_items ADD COLUMN outcome TEXT NOT NULL DEFAULT '';
ALTER TABLE inbox_items ADD COLUMN passive INTEGER NOT NULL DEFAULT 0; -- it is no reason for a snapshot
CREATE INDEX inbox_items_about ON inbox_items (digest, about, occurred_at, created_seq) WHERE about IS NOT NULL;

ALTER TABLE inbox_digests ADD COLUMN subjects INTEGER NOT NULL DEFAULT 0; -- different ones of its items
ALTER TABLE inbox_digests ADD COLUMN outcomes BLOB;                       -- JSON: how many subjects have which; null = none
ALTER TABLE inbox_digests ADD COLUMN passive  INTEGER NOT NULL DEFAULT 0; -- pending items that wait for the next snapshot
ALTER TABLE inbox_digests ADD COLUMN failing  INTEGER NOT NULL DEFAULT 0; -- a failure was posted at once
UPDATE inbox_digests SET subjects = pending + unacked;

-- Where an item can be looked at, and the newest item of an entry: see sanitize.Link. '' = nowhere.

ALTER TABLE inbox_items   ADD COLUMN link TEXT NOT NULL DEFAULT '';
ALTER TABLE inbox_entries ADD COLUMN link TEXT NOT NULL DEFAULT '';

-- How often entries became new again because their turn had said nothing of them for so long, and
-- when the next do; 0 = never.

ALTER TABLE inbox_entries ADD COLUMN leases   INTEGER NOT NULL DEFAULT 0;
ALTER TABLE inboxes       ADD COLUMN lease_at INTEGER NOT NULL DEFAULT 0;

-- Which entries wake their thread at once: those that an item has posted which does not wait.

ALTER TABLE inbox_entries ADD COLUMN at_once INTEGER NOT NULL DEFAULT 0;
UPDATE inbox_entries SET at_once = 1
WHERE kind = 'snapshot' AND (SELECT json_extract(CAST(e.params AS TEXT), '$.reason') FROM events e WHERE e.seq = inbox_entries.created_seq) = 'immediate';

-- To which pull request the workflow runs of a source belong: their jobs do not say it.

CREATE TABLE hook_runs (
	source       TEXT NOT NULL,
	run          INTEGER NOT NULL,
	resource_ref TEXT NOT NULL,
	kept_at      INTEGER NOT NULL, -- milliseconds
	PRIMARY KEY (source, run)
) WITHOUT ROWID;
CREATE INDEX hook_runs_kept ON hook_runs (source, kept_at);
