-- How late the events of the log are, for retention by age, in runs that
-- retention makes as it goes: times of events need not rise. A row is of the
-- events after the row before it.

CREATE TABLE event_times (
    seq  INTEGER PRIMARY KEY, -- of the run's last event
    time INTEGER NOT NULL     -- the latest of the run's events
) STRICT;
