-- Whose cursors and subscriptions there are, so that a token has a share of them. Those of
-- before count in none.

ALTER TABLE cursors ADD COLUMN requester TEXT NOT NULL DEFAULT ''; -- 'token:NAME'; '' = the owner or the server
ALTER TABLE subscriptions ADD COLUMN requester TEXT NOT NULL DEFAULT '';

-- How many cursors a requester has made that are there.
CREATE TABLE cursor_shares (
    requester TEXT    NOT NULL PRIMARY KEY,
    cursors   INTEGER NOT NULL
) STRICT;
