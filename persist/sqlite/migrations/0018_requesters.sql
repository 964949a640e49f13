-- Who used an idempotency key, so that each has a share of those that are kept. Keys of
-- before have no requester: they are kept as those of the owner, who has no share.

ALTER TABLE idempotency ADD COLUMN requester TEXT NOT NULL DEFAULT ''; -- 'token:NAME', 'agent:ROOT THREAD'; '' = the owner
ALTER TABLE idempotency ADD COLUMN number INTEGER NOT NULL DEFAULT 0; -- in the order of use, among those of its requester; 0 = the owner's
CREATE INDEX idempotency_requester ON idempotency (requester, number);
