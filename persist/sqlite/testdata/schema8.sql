-- What a server of schema 8 left: a turn that waits for a person, with text that is in the
-- log only, a retried turn, an idempotency key, a follower, a pause.
CREATE TABLE meta (
    id        INTEGER PRIMARY KEY CHECK (id = 1),
    log_id    TEXT    NOT NULL,
    first_seq INTEGER NOT NULL,
    runtime   BLOB    NOT NULL, -- JSON of turns.Runtime
    probed_at INTEGER NOT NULL DEFAULT 0
, secret BLOB) STRICT;
CREATE TABLE events (
    seq        INTEGER PRIMARY KEY,
    thread_seq INTEGER NOT NULL, -- 0 for events of the whole log
    thread_id  TEXT,
    item_id    TEXT,
    method     TEXT    NOT NULL,
    time       INTEGER NOT NULL, -- milliseconds since 1970
    params     BLOB    NOT NULL  -- as sent, never encoded again
, span INTEGER) STRICT;
CREATE TABLE threads (
    created_seq       INTEGER PRIMARY KEY,
    thread_id         TEXT    NOT NULL UNIQUE,
    state             TEXT    NOT NULL,
    agent             TEXT    NOT NULL,
    title             TEXT    NOT NULL,
    cwd               TEXT    NOT NULL,
    metadata          BLOB,
    config            BLOB,
    agent_session_id  TEXT    NOT NULL,
    parent_thread_id  TEXT    NOT NULL,
    parent_turn_id    TEXT    NOT NULL,
    reason            TEXT    NOT NULL,
    started_at        INTEGER NOT NULL,
    closed_at         INTEGER NOT NULL,
    updated_seq       INTEGER NOT NULL,
    latest_seq        INTEGER NOT NULL,
    latest_thread_seq INTEGER NOT NULL
, forked_from BLOB) STRICT;
CREATE TABLE turns (
    created_seq      INTEGER PRIMARY KEY,
    turn_id          TEXT    NOT NULL UNIQUE,
    thread_id        TEXT    NOT NULL,
    state            TEXT    NOT NULL,
    attempt          INTEGER NOT NULL,
    rank             INTEGER NOT NULL,
    progress         TEXT    NOT NULL,
    progress_message TEXT    NOT NULL,
    origin           TEXT    NOT NULL,
    message          TEXT    NOT NULL,
    reason           TEXT    NOT NULL,
    stop_reason      TEXT    NOT NULL,
    error            BLOB,
    usage            BLOB,
    undelivered      BLOB,
    metadata         BLOB,
    parent_thread_id TEXT    NOT NULL,
    parent_turn_id   TEXT    NOT NULL,
    timeout_seconds  REAL    NOT NULL,
    queued_at        INTEGER NOT NULL,
    started_at       INTEGER NOT NULL,
    completed_at     INTEGER NOT NULL,
    updated_seq      INTEGER NOT NULL
, retry            BLOB, retry_at         INTEGER NOT NULL DEFAULT 0, used_ms          INTEGER NOT NULL DEFAULT 0, worker           TEXT    NOT NULL DEFAULT '', claimed_seq      INTEGER NOT NULL DEFAULT 0, first_started_at INTEGER NOT NULL DEFAULT 0, message_truncated INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE TABLE items (
    created_seq INTEGER PRIMARY KEY,
    item_id     TEXT    NOT NULL UNIQUE,
    thread_id   TEXT    NOT NULL,
    turn_id     TEXT    NOT NULL, -- '' outside any turn
    attempt     INTEGER NOT NULL,
    type        TEXT    NOT NULL,
    status      TEXT    NOT NULL,
    truncated   INTEGER NOT NULL,
    total_bytes INTEGER NOT NULL,
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    updated_seq INTEGER NOT NULL,
    content     BLOB    NOT NULL  -- last: what is only searched is never read
, span INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE TABLE idempotency (
    id         INTEGER PRIMARY KEY, -- in the order of use: the oldest are trimmed
    key        TEXT    NOT NULL UNIQUE,
    method     TEXT    NOT NULL,
    hash       BLOB    NOT NULL,
    result     BLOB,
    seq        INTEGER NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
CREATE TABLE steps (
    seq          INTEGER PRIMARY KEY, -- of the try's first event
    thread_id    TEXT    NOT NULL,
    turn_id      TEXT    NOT NULL,
    step         TEXT    NOT NULL,
    epoch        INTEGER NOT NULL,
    lineage      BLOB    NOT NULL, -- JSON of []notify.Ref
    status       TEXT    NOT NULL,
    late         INTEGER NOT NULL,
    started_at   INTEGER NOT NULL,
    ended_at     INTEGER NOT NULL,
    updated_seq  INTEGER NOT NULL,
    hidden_after INTEGER, -- both NULL while the try stands
    hidden_by    INTEGER
) STRICT;
CREATE TABLE event_times (
    seq  INTEGER PRIMARY KEY, -- of the run's last event
    time INTEGER NOT NULL     -- the latest of the run's events
) STRICT;
CREATE TABLE followers (
    name     TEXT    NOT NULL UNIQUE,
    log_id   TEXT    NOT NULL, -- of the log that the row was written in
    position INTEGER NOT NULL, -- moved by the follower, with its own rows
    scanned  INTEGER NOT NULL, -- moved by the dispatcher, now and then
    behind   INTEGER NOT NULL  -- 1: what the dispatcher has scanned does not count
) STRICT;
INSERT INTO meta VALUES (1,'log_01a20320-e0e1-7e2d-b1e5-1d143147960e',1,CAST('{"paused":true,"reason":"test","paused_at":"2026-11-21T12:00:00.000Z"}' AS BLOB),0,x'ec4ff719cb479488861a1dcb00d59c7443b8f1780d043eea014d7d99046ea751');
INSERT INTO events VALUES (1,1,'thread_a',NULL,'thread/started',1795262400001,CAST('{"seq":1,"thread_seq":1,"thread_id":"thread_a","timestamp":"2026-11-21T12:00:00.001Z","type":"started","state":"running","started_at":"2026-11-21T12:00:00.000Z","session_id":"thread_a","agent":"echo","title":"title of thread_a","metadata":{"a":[1,2,"ü"]},"parent":{"thread_id":"p","turn_id":"q"},"forked_from":{"thread_id":"p","turn_id":"q"}}' AS BLOB),NULL);
INSERT INTO events VALUES (2,2,'thread_a',NULL,'turn/started',1795262400002,CAST('{"seq":2,"thread_seq":2,"thread_id":"thread_a","turn_id":"turn_a","attempt":1,"step":"","epoch":1,"lineage":[{"step":"","epoch":1}],"timestamp":"2026-11-21T12:00:00.002Z","type":"started","state":"active","started_at":"2026-11-21T12:00:00.001Z","origin":"client","metadata":{"n":1},"retry":{"on_crash":"retry","max_attempts":4,"backoff_seconds":0.5,"backoff_max_seconds":9}}' AS BLOB),2);
INSERT INTO events VALUES (3,3,'thread_a',NULL,'step/started',1795262400003,CAST('{"seq":3,"thread_seq":3,"thread_id":"thread_a","turn_id":"turn_a","attempt":1,"step":"s","epoch":1,"lineage":[{"step":"","epoch":1},{"step":"s","epoch":1}],"timestamp":"2026-11-21T12:00:00.003Z","type":"started","status":"in_progress"}' AS BLOB),3);
INSERT INTO events VALUES (4,4,'thread_a','item_gone','item/created',1795262400004,CAST('{"seq":4,"thread_seq":4,"thread_id":"thread_a","turn_id":"turn_a","attempt":1,"step":"s","epoch":1,"lineage":[{"step":"","epoch":1},{"step":"s","epoch":1}],"timestamp":"2026-11-21T12:00:00.004Z","item_id":"item_gone","type":"created","status":"in_progress","content":{"type":"agent_message","role":"assistant","content":[{"type":"output_text","text":"x"}]}}' AS BLOB),3);
INSERT INTO events VALUES (5,5,'thread_a','item_gone','item/delta',1795262400005,CAST('{"seq":5,"thread_seq":5,"thread_id":"thread_a","turn_id":"turn_a","attempt":1,"step":"s","epoch":1,"lineage":[{"step":"","epoch":1},{"step":"s","epoch":1}],"timestamp":"2026-11-21T12:00:00.005Z","item_id":"item_gone","type":"delta","delta":{"text":"y"},"offset":1}' AS BLOB),3);
INSERT INTO events VALUES (6,6,'thread_a','item_gone','item/updated',1795262400006,CAST('{"seq":6,"thread_seq":6,"thread_id":"thread_a","turn_id":"turn_a","attempt":1,"step":"s","epoch":1,"lineage":[{"step":"","epoch":1},{"step":"s","epoch":1}],"timestamp":"2026-11-21T12:00:00.006Z","item_id":"item_gone","type":"updated","status":"interrupted","content":{"type":"agent_message","role":"assistant","content":[{"type":"output_text","text":"xy"}]}}' AS BLOB),3);
INSERT INTO events VALUES (7,7,'thread_a',NULL,'stream/rewind',1795262400007,CAST('{"seq":7,"thread_seq":7,"thread_id":"thread_a","turn_id":"turn_a","timestamp":"2026-11-21T12:00:00.007Z","type":"rewind","step":"s","new_epoch":2,"superseded_after_seq":2,"reason":"step_started","rank":3,"used_ms":1234}' AS BLOB),NULL);
INSERT INTO events VALUES (8,8,'thread_a',NULL,'step/started',1795262400008,CAST('{"seq":8,"thread_seq":8,"thread_id":"thread_a","turn_id":"turn_a","attempt":1,"step":"s","epoch":2,"lineage":[{"step":"","epoch":1},{"step":"s","epoch":2}],"timestamp":"2026-11-21T12:00:00.008Z","type":"started","status":"in_progress"}' AS BLOB),8);
INSERT INTO events VALUES (9,9,'thread_a','item_call','item/created',1795262400009,CAST('{"seq":9,"thread_seq":9,"thread_id":"thread_a","turn_id":"turn_a","attempt":1,"step":"s","epoch":2,"lineage":[{"step":"","epoch":1},{"step":"s","epoch":2}],"timestamp":"2026-11-21T12:00:00.009Z","item_id":"item_call","type":"created","status":"in_progress","content":{"type":"tool_call","tool_call_id":"","name":"rm","title":"","kind":"","output":""}}' AS BLOB),8);
INSERT INTO events VALUES (10,10,'thread_a','item_asks','item/created',1795262400010,CAST('{"seq":10,"thread_seq":10,"thread_id":"thread_a","turn_id":"turn_a","attempt":1,"step":"s","epoch":2,"lineage":[{"step":"","epoch":1},{"step":"s","epoch":2}],"timestamp":"2026-11-21T12:00:00.010Z","item_id":"item_asks","type":"created","status":"pending","content":{"type":"permission_request","title":"may I?","subject":{"type":""},"options":[]}}' AS BLOB),8);
INSERT INTO events VALUES (11,11,'thread_a','item_said','item/created',1795262400011,CAST('{"seq":11,"thread_seq":11,"thread_id":"thread_a","turn_id":"turn_a","attempt":1,"timestamp":"2026-11-21T12:00:00.011Z","item_id":"item_said","type":"created","status":"in_progress","content":{"type":"user_message","role":"user","content":[],"origin":"client"}}' AS BLOB),NULL);
INSERT INTO events VALUES (12,12,'thread_a',NULL,'turn/queued',1795262400012,CAST('{"seq":12,"thread_seq":12,"thread_id":"thread_a","turn_id":"turn_b","attempt":1,"timestamp":"2026-11-21T12:00:00.012Z","type":"queued","state":"queued","position":1,"rank":1,"queued_at":"2026-11-21T12:00:00.011Z","reason":"busy"}' AS BLOB),NULL);
INSERT INTO events VALUES (13,13,'thread_a','item_input','item/created',1795262400013,CAST('{"seq":13,"thread_seq":13,"thread_id":"thread_a","turn_id":"turn_b","attempt":1,"timestamp":"2026-11-21T12:00:00.013Z","item_id":"item_input","type":"created","status":"completed","content":{"type":"user_message","role":"user","content":[],"origin":"client"}}' AS BLOB),NULL);
INSERT INTO events VALUES (14,14,'thread_a','item_call','item/delta',1795262400014,CAST('{"seq":14,"thread_seq":14,"thread_id":"thread_a","turn_id":"turn_a","attempt":1,"step":"s","epoch":2,"lineage":[{"step":"","epoch":1},{"step":"s","epoch":2}],"timestamp":"2026-11-21T12:00:00.014Z","item_id":"item_call","type":"delta","delta":{"text":"out"},"offset":0}' AS BLOB),8);
INSERT INTO events VALUES (15,1,'thread_done',NULL,'thread/started',1795262400001,CAST('{"seq":15,"thread_seq":1,"thread_id":"thread_done","timestamp":"2026-11-21T12:00:00.001Z","type":"started","state":"running","started_at":"2026-11-21T12:00:00.000Z","session_id":"thread_done","agent":"echo","title":"title of thread_done","metadata":{"a":[1,2,"ü"]},"parent":{"thread_id":"p","turn_id":"q"},"forked_from":{"thread_id":"p","turn_id":"q"}}' AS BLOB),NULL);
INSERT INTO events VALUES (16,2,'thread_done',NULL,'turn/started',1795262400002,CAST('{"seq":16,"thread_seq":2,"thread_id":"thread_done","turn_id":"turn_done","attempt":1,"step":"","epoch":1,"lineage":[{"step":"","epoch":1}],"timestamp":"2026-11-21T12:00:00.002Z","type":"started","state":"active","started_at":"2026-11-21T12:00:00.001Z","origin":"client","metadata":{"n":1},"retry":{"on_crash":"retry","max_attempts":4,"backoff_seconds":0.5,"backoff_max_seconds":9}}' AS BLOB),16);
INSERT INTO events VALUES (17,3,'thread_done',NULL,'stream/rewind',1795262400003,CAST('{"seq":17,"thread_seq":3,"thread_id":"thread_done","turn_id":"turn_done","timestamp":"2026-11-21T12:00:00.003Z","type":"rewind","step":"","new_epoch":2,"superseded_after_seq":15,"reason":"agent_crash","rank":16,"used_ms":1234}' AS BLOB),NULL);
INSERT INTO events VALUES (18,4,'thread_done',NULL,'turn/started',1795262400004,CAST('{"seq":18,"thread_seq":4,"thread_id":"thread_done","turn_id":"turn_done","attempt":2,"step":"","epoch":2,"lineage":[{"step":"","epoch":2}],"timestamp":"2026-11-21T12:00:00.004Z","type":"started","state":"active","started_at":"2026-11-21T12:00:00.003Z","origin":"retry","metadata":{"n":1},"retry":{"on_crash":"retry","max_attempts":4,"backoff_seconds":0.5,"backoff_max_seconds":9},"first_started_at":"2026-11-21T12:00:00.001Z"}' AS BLOB),18);
INSERT INTO events VALUES (19,5,'thread_done','item_01a20320-e0ed-75a9-974e-ab4f8e0c14de','item/created',1795262400005,CAST('{"seq":19,"thread_seq":5,"thread_id":"thread_done","turn_id":"turn_done","attempt":2,"step":"","epoch":2,"lineage":[{"step":"","epoch":2}],"timestamp":"2026-11-21T12:00:00.005Z","item_id":"item_01a20320-e0ed-75a9-974e-ab4f8e0c14de","type":"created","status":"completed","content":{"type":"agent_message","role":"assistant","content":[{"type":"output_text","text":"xxxxxxxxxx"}]}}' AS BLOB),18);
INSERT INTO events VALUES (20,6,'thread_done','item_01a20320-e0ed-762d-a64d-c6b6cea606d3','item/created',1795262400006,CAST('{"seq":20,"thread_seq":6,"thread_id":"thread_done","turn_id":"turn_done","attempt":2,"step":"","epoch":2,"lineage":[{"step":"","epoch":2}],"timestamp":"2026-11-21T12:00:00.006Z","item_id":"item_01a20320-e0ed-762d-a64d-c6b6cea606d3","type":"created","status":"completed","content":{"type":"agent_message","role":"assistant","content":[{"type":"output_text","text":"xxxxxxxxxx"}]}}' AS BLOB),18);
INSERT INTO events VALUES (21,7,'thread_done',NULL,'turn/completed',1795262400007,CAST('{"seq":21,"thread_seq":7,"thread_id":"thread_done","turn_id":"turn_done","attempt":2,"step":"","epoch":2,"lineage":[{"step":"","epoch":2}],"timestamp":"2026-11-21T12:00:00.007Z","type":"completed","state":"completed","completed_at":"2026-11-21T12:00:00.006Z","message":"…","message_truncated":true,"stop_reason":"end_turn","usage":{"type":"usage","input_tokens":0,"output_tokens":0,"total_tokens":3},"undelivered_item_ids":["item_x"]}' AS BLOB),18);
INSERT INTO events VALUES (22,0,NULL,NULL,'holon/paused',1795262400000,CAST('{"seq":22,"timestamp":"2026-11-21T12:00:00.000Z","type":"paused","reason":"test"}' AS BLOB),NULL);
INSERT INTO threads VALUES (1,'thread_a','running','echo','title of thread_a','',CAST('{"a":[1,2,"ü"]}' AS BLOB),NULL,'','p','q','',1795262400000,0,1,14,14,CAST('{"thread_id":"p","turn_id":"q"}' AS BLOB));
INSERT INTO threads VALUES (15,'thread_done','running','echo','title of thread_done','',CAST('{"a":[1,2,"ü"]}' AS BLOB),NULL,'','p','q','',1795262400000,0,15,21,7,CAST('{"thread_id":"p","turn_id":"q"}' AS BLOB));
INSERT INTO turns VALUES (2,'turn_a','thread_a','active',1,0,'running','','client','','','',NULL,NULL,NULL,CAST('{"n":1}' AS BLOB),'','',0.0,0,1795262400001,0,2,CAST('{"on_crash":"retry","max_attempts":4,"backoff_seconds":0.5,"backoff_max_seconds":9}' AS BLOB),0,0,'',0,0,0);
INSERT INTO turns VALUES (12,'turn_b','thread_a','queued',1,1,'','','','','busy','',NULL,NULL,NULL,NULL,'','',0.0,1795262400011,0,0,12,NULL,0,0,'',0,0,0);
INSERT INTO turns VALUES (16,'turn_done','thread_done','completed',2,0,'','','retry','…','','end_turn',NULL,CAST('{"type":"usage","input_tokens":0,"output_tokens":0,"total_tokens":3}' AS BLOB),CAST('["item_x"]' AS BLOB),CAST('{"n":1}' AS BLOB),'','',0.0,0,1795262400003,1795262400006,21,CAST('{"on_crash":"retry","max_attempts":4,"backoff_seconds":0.5,"backoff_max_seconds":9}' AS BLOB),0,1234,'',0,1795262400001,1);
INSERT INTO items VALUES (4,'item_gone','thread_a','turn_a',1,'agent_message','interrupted',0,0,1795262400004,1795262400006,6,CAST('{"type":"agent_message","role":"assistant","content":[{"type":"output_text","text":"xy"}]}' AS BLOB),3);
INSERT INTO items VALUES (9,'item_call','thread_a','turn_a',1,'tool_call','in_progress',0,0,1795262400009,1795262400009,9,CAST('{"type":"tool_call","tool_call_id":"","name":"rm","title":"","kind":"","output":""}' AS BLOB),8);
INSERT INTO items VALUES (10,'item_asks','thread_a','turn_a',1,'permission_request','pending',0,0,1795262400010,1795262400010,10,CAST('{"type":"permission_request","title":"may I?","subject":{"type":""},"options":[]}' AS BLOB),8);
INSERT INTO items VALUES (11,'item_said','thread_a','turn_a',1,'user_message','in_progress',0,0,1795262400011,1795262400011,11,CAST('{"type":"user_message","role":"user","content":[],"origin":"client"}' AS BLOB),0);
INSERT INTO items VALUES (13,'item_input','thread_a','turn_b',1,'user_message','completed',0,0,1795262400013,1795262400013,13,CAST('{"type":"user_message","role":"user","content":[],"origin":"client"}' AS BLOB),0);
INSERT INTO items VALUES (19,'item_01a20320-e0ed-75a9-974e-ab4f8e0c14de','thread_done','turn_done',2,'agent_message','completed',0,0,1795262400005,1795262400005,19,CAST('{"type":"agent_message","role":"assistant","content":[{"type":"output_text","text":"xxxxxxxxxx"}]}' AS BLOB),18);
INSERT INTO items VALUES (20,'item_01a20320-e0ed-762d-a64d-c6b6cea606d3','thread_done','turn_done',2,'agent_message','completed',0,0,1795262400006,1795262400006,20,CAST('{"type":"agent_message","role":"assistant","content":[{"type":"output_text","text":"xxxxxxxxxx"}]}' AS BLOB),18);
INSERT INTO idempotency VALUES (1,'k','turn/start',CAST('                                ' AS BLOB),CAST('{"turn_id":"turn_done"}' AS BLOB),21,1795305600000);
INSERT INTO steps VALUES (2,'thread_a','turn_a','',1,CAST('[{"step":"","epoch":1}]' AS BLOB),'in_progress',0,1795262400002,0,2,NULL,NULL);
INSERT INTO steps VALUES (3,'thread_a','turn_a','s',1,CAST('[{"step":"","epoch":1},{"step":"s","epoch":1}]' AS BLOB),'interrupted',0,1795262400003,1795262400007,7,2,7);
INSERT INTO steps VALUES (8,'thread_a','turn_a','s',2,CAST('[{"step":"","epoch":1},{"step":"s","epoch":2}]' AS BLOB),'in_progress',0,1795262400008,0,8,NULL,NULL);
INSERT INTO steps VALUES (16,'thread_done','turn_done','',1,CAST('[{"step":"","epoch":1}]' AS BLOB),'interrupted',0,1795262400002,1795262400003,17,15,17);
INSERT INTO steps VALUES (18,'thread_done','turn_done','',2,CAST('[{"step":"","epoch":2}]' AS BLOB),'completed',0,1795262400004,1795262400007,21,NULL,NULL);
INSERT INTO followers VALUES ('hook:ci','log_01a20320-e0e1-7e2d-b1e5-1d143147960e',5,9,0);
CREATE INDEX events_thread ON events (thread_id) WHERE thread_id IS NOT NULL;
CREATE INDEX events_delta ON events (item_id) WHERE method = 'item/delta';
CREATE INDEX threads_state ON threads (state);
CREATE INDEX turns_thread ON turns (thread_id);
CREATE INDEX turns_state ON turns (state);
CREATE INDEX turns_unfinished ON turns (thread_id) WHERE state IN ('queued', 'active');
CREATE INDEX items_thread ON items (thread_id, created_seq, turn_id);
CREATE INDEX items_open ON items (turn_id) WHERE status IN ('pending', 'in_progress');
CREATE UNIQUE INDEX steps_try ON steps (turn_id, step, epoch);
CREATE INDEX steps_turn ON steps (turn_id);
CREATE INDEX steps_live ON steps (turn_id, step) WHERE hidden_by IS NULL;
CREATE INDEX items_input ON items (turn_id) WHERE type = 'user_message';
CREATE INDEX items_unfinished ON items (created_seq) WHERE status IN ('pending', 'in_progress');
PRAGMA user_version = 8;
