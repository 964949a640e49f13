-- A data directory of schema version 1, as the program wrote it that had no
-- attempts: two threads; turns that completed, failed, wait in the queue, and
-- one that was active, with an open question, when the server was killed.
CREATE TABLE meta (
    id        INTEGER PRIMARY KEY CHECK (id = 1),
    log_id    TEXT    NOT NULL,
    first_seq INTEGER NOT NULL,
    runtime   BLOB    NOT NULL, -- JSON of turns.Runtime
    probed_at INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE events (
    seq        INTEGER PRIMARY KEY,
    thread_seq INTEGER NOT NULL, -- 0 for events of the whole log
    thread_id  TEXT,
    item_id    TEXT,
    method     TEXT    NOT NULL,
    time       INTEGER NOT NULL, -- milliseconds since 1970
    params     BLOB    NOT NULL  -- as sent, never encoded again
) STRICT;
CREATE INDEX events_thread ON events (thread_id) WHERE thread_id IS NOT NULL;
CREATE INDEX events_delta ON events (item_id) WHERE method = 'item/delta';
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
) STRICT;
CREATE INDEX threads_state ON threads (state);
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
) STRICT;
CREATE INDEX turns_thread ON turns (thread_id);
CREATE INDEX turns_state ON turns (state);
CREATE INDEX turns_unfinished ON turns (thread_id) WHERE state IN ('queued', 'active');
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
) STRICT;
CREATE INDEX items_thread ON items (thread_id, created_seq, turn_id);
CREATE INDEX items_open ON items (turn_id) WHERE status IN ('pending', 'in_progress');
CREATE INDEX items_pending ON items (created_seq) WHERE status = 'pending';
CREATE TABLE idempotency (
    id         INTEGER PRIMARY KEY, -- in the order of use: the oldest are trimmed
    key        TEXT    NOT NULL UNIQUE,
    method     TEXT    NOT NULL,
    hash       BLOB    NOT NULL,
    result     BLOB,
    seq        INTEGER NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
INSERT INTO meta VALUES (1, 'log_01a1fdb2-ac87-742b-8d7a-394154af6deb', 1, CAST('{"paused":false,"paused_at":"2026-11-21T10:42:12.810Z","resumed_at":"2026-11-21T10:42:12.833Z"}' AS BLOB), 0);
INSERT INTO events VALUES (1, 1, 'thread_old', NULL, 'thread/started', 1795257709164, CAST('{"seq":1,"thread_seq":1,"thread_id":"thread_old","timestamp":"2026-11-21T10:41:49.164Z","type":"started","state":"running","started_at":"2026-11-21T10:41:49.164Z","session_id":"thread_old","agent":"echo","title":"Tïtle","cwd":"/","metadata":{"a":1}}' AS BLOB));
INSERT INTO events VALUES (2, 2, 'thread_old', NULL, 'turn/started', 1795257709174, CAST('{"seq":2,"thread_seq":2,"thread_id":"thread_old","turn_id":"turn_01a1fdb2-b276-79a6-8ada-dea71c0b2625","attempt":1,"timestamp":"2026-11-21T10:41:49.174Z","type":"started","state":"active","started_at":"2026-11-21T10:41:49.174Z","origin":"client"}' AS BLOB));
INSERT INTO events VALUES (3, 3, 'thread_old', 'item_01a1fdb2-b276-7a21-9826-678e8185d0a7', 'item/created', 1795257709174, CAST('{"seq":3,"thread_seq":3,"thread_id":"thread_old","turn_id":"turn_01a1fdb2-b276-79a6-8ada-dea71c0b2625","attempt":1,"timestamp":"2026-11-21T10:41:49.174Z","item_id":"item_01a1fdb2-b276-7a21-9826-678e8185d0a7","type":"created","status":"completed","content":{"type":"user_message","role":"user","content":[{"type":"input_text","text":"hello \"old\" world"}],"origin":"client"}}' AS BLOB));
INSERT INTO events VALUES (4, 4, 'thread_old', 'item_01a1fdb2-b277-7582-841f-570d085b8eb7', 'item/created', 1795257709175, CAST('{"seq":4,"thread_seq":4,"thread_id":"thread_old","turn_id":"turn_01a1fdb2-b276-79a6-8ada-dea71c0b2625","attempt":1,"timestamp":"2026-11-21T10:41:49.175Z","item_id":"item_01a1fdb2-b277-7582-841f-570d085b8eb7","type":"created","status":"in_progress","content":{"type":"agent_message","role":"assistant","content":[{"type":"output_text","text":""}]}}' AS BLOB));
INSERT INTO events VALUES (5, 5, 'thread_old', 'item_01a1fdb2-b277-7582-841f-570d085b8eb7', 'item/delta', 1795257709175, CAST('{"seq":5,"thread_seq":5,"thread_id":"thread_old","turn_id":"turn_01a1fdb2-b276-79a6-8ada-dea71c0b2625","attempt":1,"timestamp":"2026-11-21T10:41:49.175Z","item_id":"item_01a1fdb2-b277-7582-841f-570d085b8eb7","type":"delta","delta":{"text":"hello \"old\" world"},"offset":0}' AS BLOB));
INSERT INTO events VALUES (6, 6, 'thread_old', 'item_01a1fdb2-b277-7582-841f-570d085b8eb7', 'item/updated', 1795257709175, CAST('{"seq":6,"thread_seq":6,"thread_id":"thread_old","turn_id":"turn_01a1fdb2-b276-79a6-8ada-dea71c0b2625","attempt":1,"timestamp":"2026-11-21T10:41:49.175Z","item_id":"item_01a1fdb2-b277-7582-841f-570d085b8eb7","type":"updated","status":"completed","content":{"type":"agent_message","role":"assistant","content":[{"type":"output_text","text":"hello \"old\" world"}]}}' AS BLOB));
INSERT INTO events VALUES (7, 7, 'thread_old', NULL, 'turn/completed', 1795257709175, CAST('{"seq":7,"thread_seq":7,"thread_id":"thread_old","turn_id":"turn_01a1fdb2-b276-79a6-8ada-dea71c0b2625","attempt":1,"timestamp":"2026-11-21T10:41:49.175Z","type":"completed","state":"completed","started_at":"2026-11-21T10:41:49.174Z","completed_at":"2026-11-21T10:41:49.175Z","stop_reason":"end_turn"}' AS BLOB));
INSERT INTO events VALUES (8, 8, 'thread_old', NULL, 'turn/started', 1795257732491, CAST('{"seq":8,"thread_seq":8,"thread_id":"thread_old","turn_id":"turn_01a1fdb3-0d8b-7abd-8004-b30430945433","attempt":1,"timestamp":"2026-11-21T10:42:12.491Z","type":"started","state":"active","started_at":"2026-11-21T10:42:12.491Z","origin":"client"}' AS BLOB));
INSERT INTO events VALUES (9, 9, 'thread_old', 'item_01a1fdb3-0d8b-7b05-8ebb-f9d7a9204dfe', 'item/created', 1795257732491, CAST('{"seq":9,"thread_seq":9,"thread_id":"thread_old","turn_id":"turn_01a1fdb3-0d8b-7abd-8004-b30430945433","attempt":1,"timestamp":"2026-11-21T10:42:12.491Z","item_id":"item_01a1fdb3-0d8b-7b05-8ebb-f9d7a9204dfe","type":"created","status":"completed","content":{"type":"user_message","role":"user","content":[{"type":"input_text","text":"/fail it broke"}],"origin":"client"}}' AS BLOB));
INSERT INTO events VALUES (10, 10, 'thread_old', NULL, 'turn/failed', 1795257732492, CAST('{"seq":10,"thread_seq":10,"thread_id":"thread_old","turn_id":"turn_01a1fdb3-0d8b-7abd-8004-b30430945433","attempt":1,"timestamp":"2026-11-21T10:42:12.492Z","type":"failed","state":"failed","started_at":"2026-11-21T10:42:12.491Z","completed_at":"2026-11-21T10:42:12.492Z","message":"it broke","stop_reason":"error","error":{"kind":"agent_failed","message":"it broke"}}' AS BLOB));
INSERT INTO events VALUES (11, 0, NULL, NULL, 'holon/paused', 1795257732810, CAST('{"seq":11,"timestamp":"2026-11-21T10:42:12.810Z","type":"paused"}' AS BLOB));
INSERT INTO events VALUES (12, 0, NULL, NULL, 'holon/resumed', 1795257732833, CAST('{"seq":12,"timestamp":"2026-11-21T10:42:12.833Z","type":"resumed"}' AS BLOB));
INSERT INTO events VALUES (13, 1, 'thread_busy', NULL, 'thread/started', 1795257732850, CAST('{"seq":13,"thread_seq":1,"thread_id":"thread_busy","timestamp":"2026-11-21T10:42:12.850Z","type":"started","state":"running","started_at":"2026-11-21T10:42:12.850Z","session_id":"thread_busy","agent":"echo","cwd":"/"}' AS BLOB));
INSERT INTO events VALUES (14, 2, 'thread_busy', NULL, 'turn/started', 1795257732858, CAST('{"seq":14,"thread_seq":2,"thread_id":"thread_busy","turn_id":"turn_01a1fdb3-0efa-7a6b-9895-4037a70b511b","attempt":1,"timestamp":"2026-11-21T10:42:12.858Z","type":"started","state":"active","started_at":"2026-11-21T10:42:12.858Z","origin":"client"}' AS BLOB));
INSERT INTO events VALUES (15, 3, 'thread_busy', 'item_01a1fdb3-0efa-7a9e-a639-f0b8c3e8883f', 'item/created', 1795257732858, CAST('{"seq":15,"thread_seq":3,"thread_id":"thread_busy","turn_id":"turn_01a1fdb3-0efa-7a6b-9895-4037a70b511b","attempt":1,"timestamp":"2026-11-21T10:42:12.858Z","item_id":"item_01a1fdb3-0efa-7a9e-a639-f0b8c3e8883f","type":"created","status":"completed","content":{"type":"user_message","role":"user","content":[{"type":"input_text","text":"/deltas 3 20\n/ask May I?\n/sleep 60000"}],"origin":"client"}}' AS BLOB));
INSERT INTO events VALUES (16, 4, 'thread_busy', 'item_01a1fdb3-0efb-7523-b9dd-c01dcce76b92', 'item/created', 1795257732859, CAST('{"seq":16,"thread_seq":4,"thread_id":"thread_busy","turn_id":"turn_01a1fdb3-0efa-7a6b-9895-4037a70b511b","attempt":1,"timestamp":"2026-11-21T10:42:12.859Z","item_id":"item_01a1fdb3-0efb-7523-b9dd-c01dcce76b92","type":"created","status":"in_progress","content":{"type":"agent_message","role":"assistant","content":[{"type":"output_text","text":""}]}}' AS BLOB));
INSERT INTO events VALUES (17, 5, 'thread_busy', 'item_01a1fdb3-0efb-7523-b9dd-c01dcce76b92', 'item/delta', 1795257732859, CAST('{"seq":17,"thread_seq":5,"thread_id":"thread_busy","turn_id":"turn_01a1fdb3-0efa-7a6b-9895-4037a70b511b","attempt":1,"timestamp":"2026-11-21T10:42:12.859Z","item_id":"item_01a1fdb3-0efb-7523-b9dd-c01dcce76b92","type":"delta","delta":{"text":"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz01234567"},"offset":0}' AS BLOB));
INSERT INTO events VALUES (18, 6, 'thread_busy', 'item_01a1fdb3-0efb-7523-b9dd-c01dcce76b92', 'item/updated', 1795257732859, CAST('{"seq":18,"thread_seq":6,"thread_id":"thread_busy","turn_id":"turn_01a1fdb3-0efa-7a6b-9895-4037a70b511b","attempt":1,"timestamp":"2026-11-21T10:42:12.859Z","item_id":"item_01a1fdb3-0efb-7523-b9dd-c01dcce76b92","type":"updated","status":"completed","content":{"type":"agent_message","role":"assistant","content":[{"type":"output_text","text":"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz01234567"}]}}' AS BLOB));
INSERT INTO events VALUES (19, 7, 'thread_busy', 'item_01a1fdb3-0efb-754f-a83f-513169e976c8', 'item/created', 1795257732859, CAST('{"seq":19,"thread_seq":7,"thread_id":"thread_busy","turn_id":"turn_01a1fdb3-0efa-7a6b-9895-4037a70b511b","attempt":1,"timestamp":"2026-11-21T10:42:12.859Z","item_id":"item_01a1fdb3-0efb-754f-a83f-513169e976c8","type":"created","status":"pending","content":{"type":"permission_request","title":"May I?","subject":{"type":"other"},"options":[{"option_id":"allow_once","name":"Allow","kind":"allow_once"},{"option_id":"reject_once","name":"Reject","kind":"reject_once"}]}}' AS BLOB));
INSERT INTO events VALUES (20, 8, 'thread_busy', NULL, 'turn/progress', 1795257732859, CAST('{"seq":20,"thread_seq":8,"thread_id":"thread_busy","turn_id":"turn_01a1fdb3-0efa-7a6b-9895-4037a70b511b","attempt":1,"timestamp":"2026-11-21T10:42:12.859Z","type":"progress","state":"waiting","elapsed_ms":1}' AS BLOB));
INSERT INTO events VALUES (21, 9, 'thread_busy', NULL, 'turn/queued', 1795257733202, CAST('{"seq":21,"thread_seq":9,"thread_id":"thread_busy","turn_id":"turn_01a1fdb3-1052-70f6-a3f9-c9b087c370f7","attempt":1,"timestamp":"2026-11-21T10:42:13.202Z","type":"queued","state":"queued","position":1,"rank":1,"queued_at":"2026-11-21T10:42:13.202Z","reason":"busy"}' AS BLOB));
INSERT INTO events VALUES (22, 10, 'thread_busy', 'item_01a1fdb3-1052-7259-8a57-057dda5c5d4f', 'item/created', 1795257733202, CAST('{"seq":22,"thread_seq":10,"thread_id":"thread_busy","turn_id":"turn_01a1fdb3-1052-70f6-a3f9-c9b087c370f7","attempt":1,"timestamp":"2026-11-21T10:42:13.202Z","item_id":"item_01a1fdb3-1052-7259-8a57-057dda5c5d4f","type":"created","status":"completed","content":{"type":"user_message","role":"user","content":[{"type":"input_text","text":"queued words"}],"origin":"client"}}' AS BLOB));
INSERT INTO events VALUES (23, 11, 'thread_old', NULL, 'turn/started', 1795257733218, CAST('{"seq":23,"thread_seq":11,"thread_id":"thread_old","turn_id":"turn_01a1fdb3-1062-7a41-a67f-1a94b6f6b19c","attempt":1,"timestamp":"2026-11-21T10:42:13.218Z","type":"started","state":"active","started_at":"2026-11-21T10:42:13.218Z","origin":"client"}' AS BLOB));
INSERT INTO events VALUES (24, 12, 'thread_old', 'item_01a1fdb3-1062-7ac7-96c3-28ddc585ccf8', 'item/created', 1795257733218, CAST('{"seq":24,"thread_seq":12,"thread_id":"thread_old","turn_id":"turn_01a1fdb3-1062-7a41-a67f-1a94b6f6b19c","attempt":1,"timestamp":"2026-11-21T10:42:13.218Z","item_id":"item_01a1fdb3-1062-7ac7-96c3-28ddc585ccf8","type":"created","status":"completed","content":{"type":"user_message","role":"user","content":[{"type":"input_text","text":"/delete"}],"origin":"client"}}' AS BLOB));
INSERT INTO events VALUES (25, 13, 'thread_old', 'item_01a1fdb3-1063-765c-b533-711261297c1e', 'item/created', 1795257733219, CAST('{"seq":25,"thread_seq":13,"thread_id":"thread_old","turn_id":"turn_01a1fdb3-1062-7a41-a67f-1a94b6f6b19c","attempt":1,"timestamp":"2026-11-21T10:42:13.219Z","item_id":"item_01a1fdb3-1063-765c-b533-711261297c1e","type":"created","status":"completed","content":{"type":"agent_message","role":"assistant","content":[{"type":"output_text","text":"This will be withdrawn."}]}}' AS BLOB));
INSERT INTO events VALUES (26, 14, 'thread_old', 'item_01a1fdb3-1063-765c-b533-711261297c1e', 'item/deleted', 1795257733219, CAST('{"seq":26,"thread_seq":14,"thread_id":"thread_old","turn_id":"turn_01a1fdb3-1062-7a41-a67f-1a94b6f6b19c","attempt":1,"timestamp":"2026-11-21T10:42:13.219Z","item_id":"item_01a1fdb3-1063-765c-b533-711261297c1e","type":"deleted","status":"deleted"}' AS BLOB));
INSERT INTO events VALUES (27, 15, 'thread_old', NULL, 'turn/completed', 1795257733219, CAST('{"seq":27,"thread_seq":15,"thread_id":"thread_old","turn_id":"turn_01a1fdb3-1062-7a41-a67f-1a94b6f6b19c","attempt":1,"timestamp":"2026-11-21T10:42:13.219Z","type":"completed","state":"completed","started_at":"2026-11-21T10:42:13.218Z","completed_at":"2026-11-21T10:42:13.219Z","stop_reason":"end_turn"}' AS BLOB));
INSERT INTO threads VALUES (1, 'thread_old', 'running', 'echo', 'Tïtle', '/', CAST('{"a":1}' AS BLOB), NULL, '', '', '', '', 1795257709164, 0, 1, 27, 15);
INSERT INTO threads VALUES (13, 'thread_busy', 'running', 'echo', '', '/', NULL, NULL, '', '', '', '', 1795257732850, 0, 13, 22, 10);
INSERT INTO turns VALUES (2, 'turn_01a1fdb2-b276-79a6-8ada-dea71c0b2625', 'thread_old', 'completed', 1, 0, '', '', 'client', '', '', 'end_turn', NULL, NULL, NULL, NULL, '', '', 0.0, 0, 1795257709174, 1795257709175, 7);
INSERT INTO turns VALUES (8, 'turn_01a1fdb3-0d8b-7abd-8004-b30430945433', 'thread_old', 'failed', 1, 0, '', '', 'client', 'it broke', '', 'error', CAST('{"kind":"agent_failed","message":"it broke"}' AS BLOB), NULL, NULL, NULL, '', '', 0.0, 0, 1795257732491, 1795257732492, 10);
INSERT INTO turns VALUES (14, 'turn_01a1fdb3-0efa-7a6b-9895-4037a70b511b', 'thread_busy', 'active', 1, 0, 'waiting', '', 'client', '', '', '', NULL, NULL, NULL, NULL, '', '', 0.0, 0, 1795257732858, 0, 20);
INSERT INTO turns VALUES (21, 'turn_01a1fdb3-1052-70f6-a3f9-c9b087c370f7', 'thread_busy', 'queued', 1, 1, '', '', '', '', 'busy', '', NULL, NULL, NULL, NULL, '', '', 0.0, 1795257733202, 0, 0, 21);
INSERT INTO turns VALUES (23, 'turn_01a1fdb3-1062-7a41-a67f-1a94b6f6b19c', 'thread_old', 'completed', 1, 0, '', '', 'client', '', '', 'end_turn', NULL, NULL, NULL, NULL, '', '', 0.0, 0, 1795257733218, 1795257733219, 27);
INSERT INTO items VALUES (3, 'item_01a1fdb2-b276-7a21-9826-678e8185d0a7', 'thread_old', 'turn_01a1fdb2-b276-79a6-8ada-dea71c0b2625', 1, 'user_message', 'completed', 0, 0, 1795257709174, 1795257709174, 3, CAST('{"type":"user_message","role":"user","content":[{"type":"input_text","text":"hello \"old\" world"}],"origin":"client"}' AS BLOB));
INSERT INTO items VALUES (4, 'item_01a1fdb2-b277-7582-841f-570d085b8eb7', 'thread_old', 'turn_01a1fdb2-b276-79a6-8ada-dea71c0b2625', 1, 'agent_message', 'completed', 0, 0, 1795257709175, 1795257709175, 6, CAST('{"type":"agent_message","role":"assistant","content":[{"type":"output_text","text":"hello \"old\" world"}]}' AS BLOB));
INSERT INTO items VALUES (9, 'item_01a1fdb3-0d8b-7b05-8ebb-f9d7a9204dfe', 'thread_old', 'turn_01a1fdb3-0d8b-7abd-8004-b30430945433', 1, 'user_message', 'completed', 0, 0, 1795257732491, 1795257732491, 9, CAST('{"type":"user_message","role":"user","content":[{"type":"input_text","text":"/fail it broke"}],"origin":"client"}' AS BLOB));
INSERT INTO items VALUES (15, 'item_01a1fdb3-0efa-7a9e-a639-f0b8c3e8883f', 'thread_busy', 'turn_01a1fdb3-0efa-7a6b-9895-4037a70b511b', 1, 'user_message', 'completed', 0, 0, 1795257732858, 1795257732858, 15, CAST('{"type":"user_message","role":"user","content":[{"type":"input_text","text":"/deltas 3 20\n/ask May I?\n/sleep 60000"}],"origin":"client"}' AS BLOB));
INSERT INTO items VALUES (16, 'item_01a1fdb3-0efb-7523-b9dd-c01dcce76b92', 'thread_busy', 'turn_01a1fdb3-0efa-7a6b-9895-4037a70b511b', 1, 'agent_message', 'completed', 0, 0, 1795257732859, 1795257732859, 18, CAST('{"type":"agent_message","role":"assistant","content":[{"type":"output_text","text":"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz01234567"}]}' AS BLOB));
INSERT INTO items VALUES (19, 'item_01a1fdb3-0efb-754f-a83f-513169e976c8', 'thread_busy', 'turn_01a1fdb3-0efa-7a6b-9895-4037a70b511b', 1, 'permission_request', 'pending', 0, 0, 1795257732859, 1795257732859, 19, CAST('{"type":"permission_request","title":"May I?","subject":{"type":"other"},"options":[{"option_id":"allow_once","name":"Allow","kind":"allow_once"},{"option_id":"reject_once","name":"Reject","kind":"reject_once"}]}' AS BLOB));
INSERT INTO items VALUES (22, 'item_01a1fdb3-1052-7259-8a57-057dda5c5d4f', 'thread_busy', 'turn_01a1fdb3-1052-70f6-a3f9-c9b087c370f7', 1, 'user_message', 'completed', 0, 0, 1795257733202, 1795257733202, 22, CAST('{"type":"user_message","role":"user","content":[{"type":"input_text","text":"queued words"}],"origin":"client"}' AS BLOB));
INSERT INTO items VALUES (24, 'item_01a1fdb3-1062-7ac7-96c3-28ddc585ccf8', 'thread_old', 'turn_01a1fdb3-1062-7a41-a67f-1a94b6f6b19c', 1, 'user_message', 'completed', 0, 0, 1795257733218, 1795257733218, 24, CAST('{"type":"user_message","role":"user","content":[{"type":"input_text","text":"/delete"}],"origin":"client"}' AS BLOB));
INSERT INTO items VALUES (25, 'item_01a1fdb3-1063-765c-b533-711261297c1e', 'thread_old', 'turn_01a1fdb3-1062-7a41-a67f-1a94b6f6b19c', 1, 'agent_message', 'deleted', 0, 0, 1795257733219, 1795257733219, 26, CAST('{"type":"agent_message","role":"assistant","content":[{"type":"output_text","text":"This will be withdrawn."}]}' AS BLOB));
INSERT INTO idempotency VALUES (1, 'k1', 'thread/start', X'1b92ee86d2a1e79dbfd17554b1a6b507dcbd4341ad5e45f214d2407d6cddad96', CAST('{"thread_id":"thread_old","session_id":"thread_old","state":"running","agent":"echo","started_at":"2026-11-21T10:41:49.164Z","created":true,"seq":0}' AS BLOB), 1, 1795257709164);
PRAGMA user_version = 1;
