-- Of each source of GitHub's webhooks the repository that came first: its groups
-- have no name in front, whichever comes first after the next start.
CREATE TABLE hook_repositories (
    source     TEXT    NOT NULL PRIMARY KEY,
    repository INTEGER NOT NULL -- GitHub's id
) STRICT;
