-- What the attempts of all turns of a thread have used. Rows of turns have the usage of
-- their live attempt, and markers that of the attempt which they superseded: of a log that
-- was pruned, only what is left of those is counted.

ALTER TABLE threads ADD COLUMN spent BLOB; -- JSON of threads.Spent
CREATE TEMP TABLE used AS
    SELECT thread_id, updated_seq AS seq, CAST(usage AS TEXT) AS usage FROM turns
    WHERE usage IS NOT NULL AND state IN ('completed', 'interrupted', 'failed')
    UNION ALL
    SELECT s.thread_id, s.hidden_by, json_extract(CAST(e.params AS TEXT), '$.usage')
    FROM steps s JOIN events e ON e.seq = s.hidden_by
    WHERE s.step = '' AND s.hidden_by IS NOT NULL AND e.method = 'stream/rewind';
DELETE FROM used WHERE usage IS NULL OR NOT json_valid(usage);
CREATE TEMP TABLE paid AS
    SELECT thread_id, seq, json_extract(usage, '$.cost.currency') AS currency, json_extract(usage, '$.cost.amount') AS amount FROM used;
DELETE FROM paid WHERE coalesce(currency, '') = '' OR typeof(amount) NOT IN ('integer', 'real');
CREATE INDEX temp.paid_thread ON paid (thread_id, seq);
-- The currency is the first that was reported. total() adds as floating-point numbers, which
-- are exact up to 2^53, and never overflow.
CREATE TEMP TABLE cost AS
    SELECT thread_id, currency, total(CAST(min(1e15, max(0, amount) * 1e6 + 0.5) AS INTEGER)) AS millionths
    FROM paid p
    WHERE currency = (SELECT currency FROM paid f WHERE f.thread_id = p.thread_id ORDER BY seq LIMIT 1)
    GROUP BY thread_id, currency;
CREATE INDEX temp.cost_thread ON cost (thread_id);
CREATE TEMP TABLE tokens AS
    SELECT thread_id,
        CAST(total(max(0, coalesce(json_extract(usage, '$.input_tokens'), 0))) AS INTEGER) AS input,
        CAST(total(max(0, coalesce(json_extract(usage, '$.output_tokens'), 0))) AS INTEGER) AS output,
        CAST(total(max(0, coalesce(json_extract(usage, '$.total_tokens'), 0))) AS INTEGER) AS tokens
    FROM used GROUP BY thread_id;
CREATE INDEX temp.tokens_thread ON tokens (thread_id);
UPDATE threads SET spent = CAST((
    SELECT json_patch(
        json_object('input_tokens', t.input, 'output_tokens', t.output, 'total_tokens', t.tokens),
        json_object('millionths', CAST(nullif(c.millionths, 0) AS INTEGER), 'currency', c.currency))
    FROM tokens t LEFT JOIN cost c ON c.thread_id = t.thread_id
    WHERE t.thread_id = threads.thread_id) AS BLOB)
WHERE thread_id IN (SELECT thread_id FROM tokens);
DROP TABLE used;
DROP TABLE paid;
DROP TABLE cost;
DROP TABLE tokens;
