-- Jobs: child turns with a name that is unique in the turn that they work for. A turn that
-- continues a rejected one has its name too.

ALTER TABLE threads ADD COLUMN job TEXT NOT NULL DEFAULT ''; -- '' = the thread is of no job

ALTER TABLE turns ADD COLUMN job        TEXT; -- null = the turn is no job
ALTER TABLE turns ADD COLUMN job_digest TEXT NOT NULL DEFAULT ''; -- of what was asked for
CREATE UNIQUE INDEX turns_jobs ON turns (parent_turn_id, job, continues) WHERE job IS NOT NULL;
