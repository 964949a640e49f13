-- What the attempts of all turns of a thread have used. Rows of turns have the usage of
-- their live attempt, and markers that of the attempt which they superseded: of a log that
-- was pruned, only what is left of those is counted.

ALTER TABLE threads ADD COLUMN spent BLOB; -- JSON of threads.Spent
CREATE TEMP TABLE used AS
    SELECT thread_id, completed_at AS ended_at, updated_seq AS seq, CAST(usage AS TEXT) AS usage FROM turns
    WHERE usage IS NOT NULL AND state IN ('completed', 'interrupted', 'failed')
    UNION ALL
    SELECT s.thread_id, s.ended_at, s.hidden_by, json_extract(CAST(e.params AS TEXT), '$.usage')
    FROM steps s JOIN events e ON e.seq = s.hidden_by
    WHERE s.step = '' AND s.hidden_by IS NOT NULL AND e.method = 'stream/rewind';
DELETE FROM used WHERE usage IS NULL OR NOT json_valid(usage);

CREATE TEMP TABLE tokens AS -- total() never overflows, and is exact up to 2^53
    SELECT thread_id,
        CAST(total(max(0, coalesce(json_extract(usage, '$.input_tokens'), 0))) AS INTEGER) AS input,
        CAST(total(max(0, coalesce(json_extract(usage, '$.output_tokens'), 0))) AS INTEGER) AS output,
        CAST(total(max(0, coalesce(json_extract(usage, '$.total_tokens'), 0))) AS INTEGER) AS tokens
    FROM used GROUP BY thread_id;
CREATE INDEX temp.tokens_thread ON tokens (thread_id);

-- In the order in which the attempts ended. The currency is the first that was reported.
CREATE TEMP TABLE paid AS
    SELECT thread_id, row_number() OVER (PARTITION BY thread_id ORDER BY ended_at, seq) AS n, currency,
        first_value(currency) OVER (PARTITION BY thread_id ORDER BY ended_at, seq) AS first_currency,
        CAST(min(1e15, max(0, amount) * 1e6 + 0.5) AS INTEGER) AS millionths
    FROM (SELECT thread_id, ended_at, seq, json_extract(usage, '$.cost.currency') AS currency, json_extract(usage, '$.cost.amount') AS amount FROM used)
    WHERE coalesce(currency, '') <> '' AND typeof(amount) IN ('integer', 'real');
DELETE FROM paid WHERE currency <> first_currency;
-- Agents with sessions have reported what the session had cost so far.
CREATE TEMP TABLE parts AS
    SELECT p.thread_id, n, currency, CASE WHEN t.agent_session_id <> '' THEN p.millionths ELSE 0 END AS session,
        CASE WHEN t.agent_session_id <> '' AND p.millionths >= lag(p.millionths, 1, 0) OVER w
            THEN p.millionths - lag(p.millionths, 1, 0) OVER w ELSE p.millionths END AS millionths
    FROM paid p JOIN threads t ON t.thread_id = p.thread_id WINDOW w AS (PARTITION BY p.thread_id ORDER BY n);
CREATE TEMP TABLE cost AS -- session is of the row with the greatest n
    SELECT thread_id, currency, max(n), session, CAST(total(millionths) AS INTEGER) AS millionths FROM parts GROUP BY thread_id;
CREATE INDEX temp.cost_thread ON cost (thread_id);

UPDATE threads SET spent = CAST((
    SELECT json_patch(
        json_object('input_tokens', t.input, 'output_tokens', t.output, 'total_tokens', t.tokens),
        json_object('millionths', nullif(c.millionths, 0), 'session', nullif(c.session, 0), 'currency', c.currency))
    FROM tokens t LEFT JOIN cost c ON c.thread_id = t.thread_id
    WHERE t.thread_id = threads.thread_id) AS BLOB)
WHERE thread_id IN (SELECT thread_id FROM tokens);
DROP TABLE used;
DROP TABLE tokens;
DROP TABLE paid;
DROP TABLE parts;
DROP TABLE cost;
