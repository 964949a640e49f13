package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/persist"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// Load implements turns.Store.
func (s *View) Load(ctx context.Context, threadID string) (l turns.Loaded, err error) {
	err = s.engine.read(ctx, func(c *conn) error {
		if l.Thread, err = oneThread(c, threadID); err != nil {
			return err
		}
		if err := c.query(`SELECT `+turnColumns+` FROM turns WHERE thread_id = ? AND state IN ('queued', 'active')
			ORDER BY state = 'queued', rank, created_seq`, func(r row) error {
			t, err := turns.Read(r)
			l.Turns = append(l.Turns, t)
			return err
		}, threadID); err != nil {
			return err
		}
		for _, t := range l.Turns {
			steps, err := stepsOf(c, t.TurnID)
			if err != nil {
				return err
			}
			l.Steps = append(l.Steps, steps...)
			sql := "SELECT " + itemColumns + " FROM items WHERE turn_id = ? AND status IN ('pending', 'in_progress') ORDER BY created_seq"
			if t.State == turns.Queued {
				sql = inputOfTurn
			}
			if err := c.query(sql, func(r row) error {
				l.Items = append(l.Items, items.Read(r))
				return nil
			}, t.TurnID); err != nil {
				return err
			}
		}
		slices.SortFunc(l.Steps, func(a, b *turns.Step) int { return cmp.Compare(a.Seq, b.Seq) })
		tries := newLineages(c)
		for _, it := range l.Items {
			if err := tries.of(it); err != nil {
				return err
			}
		}
		return foldAll(c, l.Items)
	})
	return l, err
}

// inputOfTurn is what was said to a turn, also what no agent has got.
var inputOfTurn = "SELECT " + itemColumns + " FROM items WHERE turn_id = ? AND type = 'user_message' ORDER BY created_seq"

// Input implements turns.Store.
func (s *View) Input(ctx context.Context, turnID string) (list []*items.Item, err error) {
	err = s.engine.read(ctx, func(c *conn) error {
		return c.query(inputOfTurn, func(r row) error {
			list = append(list, items.Read(r))
			return nil
		}, turnID)
	})
	return list, err
}

// LeaseSecret implements turns.Store.
func (s *View) LeaseSecret(ctx context.Context) (secret []byte, err error) {
	err = s.engine.read(ctx, func(c *conn) error {
		_, err := c.queryOne("SELECT secret FROM meta", func(r row) { secret = r.Blob(0) })
		return err
	})
	return secret, err
}

func oneThread(c *conn, threadID string) (t *threads.Thread, err error) {
	if e := c.query("SELECT "+threadColumns+" FROM threads WHERE thread_id = ?", func(r row) error {
		t, err = threads.Read(r)
		return err
	}, threadID); e != nil {
		return nil, e
	}
	return t, nil
}

// foldAll adds to open items the text that is still in the log.
func foldAll(c *conn, list []*items.Item) error {
	for _, it := range list {
		if err := foldText(c, it); err != nil {
			return err
		}
	}
	return nil
}

// foldText adds to an open item the deltas since its row was written.
func foldText(c *conn, it *items.Item) error {
	if !it.Status.Open() || !it.Type.Streams() {
		return nil
	}
	var deltas []string
	if err := c.query("SELECT params FROM events WHERE item_id = ? AND method = 'item/delta' AND seq > ? ORDER BY seq", func(r row) error {
		var d items.Delta
		if err := json.Unmarshal(r.Blob(0), &d); err != nil {
			return err
		}
		deltas = append(deltas, d.Delta.Text)
		return nil
	}, it.ItemID, it.UpdatedSeq); err != nil {
		return fmt.Errorf("read the text of %s: %w", it.ItemID, err)
	}
	content, err := items.Fold(it.Content, deltas)
	if err != nil {
		return fmt.Errorf("read the text of %s: %w", it.ItemID, err)
	}
	it.Content = content
	return nil
}

// TurnThread implements turns.Store.
func (s *View) TurnThread(ctx context.Context, turnID string) (string, error) {
	return s.oneText(ctx, "SELECT thread_id FROM turns WHERE turn_id = ?", turnID)
}

// ItemThread implements turns.Store.
func (s *View) ItemThread(ctx context.Context, itemID string) (string, error) {
	return s.oneText(ctx, "SELECT thread_id FROM items WHERE item_id = ?", itemID)
}

func (s *View) oneText(ctx context.Context, sql, id string) (text string, err error) {
	err = s.engine.read(ctx, func(c *conn) error {
		_, err := c.queryOne(sql, func(r row) { text = r.Text(0) }, id)
		return err
	})
	return text, err
}

// Turn implements turns.Store.
func (s *View) Turn(ctx context.Context, turnID string) (t *turns.Turn, err error) {
	err = s.engine.read(ctx, func(c *conn) error {
		t, err = oneTurn(c, turnID)
		return err
	})
	return t, err
}

// Item implements turns.Store.
func (s *View) Item(ctx context.Context, itemID string) (*items.Item, error) {
	it, _, err := s.item(ctx, s.engine, itemID)
	return it, err
}

// item reads an item with its text so far, and the newest seq.
func (s *View) item(ctx context.Context, l lane, itemID string) (it *items.Item, latest int64, err error) {
	var first int64
	err = l.read(ctx, func(c *conn) error {
		if err := ends(c, &first, &latest); err != nil {
			return err
		}
		if _, err := c.queryOne("SELECT "+itemColumns+" FROM items WHERE item_id = ?", func(r row) { it = items.Read(r) }, itemID); err != nil || it == nil {
			return err
		}
		return errors.Join(newLineages(c).of(it), foldText(c, it))
	})
	return it, latest, err
}

func oneTurn(c *conn, turnID string) (t *turns.Turn, err error) {
	if e := c.query("SELECT "+turnColumns+" FROM turns WHERE turn_id = ?", func(r row) error {
		t, err = turns.Read(r)
		return err
	}, turnID); e != nil {
		return nil, e
	}
	return t, nil
}

// lastTurns is among how many of a thread's newest turns the one that ended
// last is: turns of the queue may overtake each other, and it is bounded.
const lastTurns = 200

// LastTurn implements turns.Store.
func (s *View) LastTurn(ctx context.Context, threadID string) (last *turns.Turn, err error) {
	err = s.engine.read(ctx, func(c *conn) error {
		return c.query(newestTurns, func(r row) error {
			t, err := turns.Read(r)
			if err != nil {
				return err
			}
			if t.State.Ended() && !t.StartedAt.IsZero() && (last == nil || t.UpdatedSeq > last.UpdatedSeq) {
				last = t
			}
			return nil
		}, threadID, int64(lastTurns))
	})
	return last, err
}

// transcript is what was said in a thread, newest first. Input that waits in
// the queue, and text that no agent was given, are not part of it.
var transcript = "SELECT " + itemColumns + ` FROM items WHERE thread_id = ?1
	AND (type = 'agent_message' AND status <> 'deleted' OR type = 'user_message' AND status = 'completed'
		AND turn_id NOT IN (SELECT turn_id FROM turns WHERE thread_id = ?1 AND state IN ('queued', 'active') AND +state = 'queued'))
	AND ` + liveItem + `
	ORDER BY created_seq DESC`

// Transcript implements turns.Store.
func (s *View) Transcript(ctx context.Context, threadID string, limit, maxBytes int) (list []*items.Item, err error) {
	bytes := 0
	err = s.points.read(ctx, func(c *conn) error {
		return c.query(transcript, func(r row) error {
			it := items.Read(r)
			if err := foldText(c, it); err != nil {
				return err
			}
			if bytes += len(it.Content); bytes > maxBytes || len(list) >= limit {
				return errEnough
			}
			list = append(list, it)
			return nil
		}, threadID)
	})
	return list, err
}

// agentMessages are what the agent has said in a turn, newest first.
var agentMessages = "SELECT " + itemColumns + ` FROM items WHERE thread_id = ? AND created_seq > ? AND turn_id = ?
	AND type = 'agent_message' AND status <> 'deleted' AND ` + liveItem + `
	ORDER BY created_seq DESC`

// LastMessage implements turns.Store.
func (s *View) LastMessage(ctx context.Context, turnID string) (last *items.Item, err error) {
	err = s.engine.read(ctx, func(c *conn) error {
		t, err := oneTurn(c, turnID)
		if err != nil || t == nil {
			return err
		}
		return c.query(agentMessages, func(r row) error {
			it := items.Read(r)
			if err := foldText(c, it); err != nil {
				return err
			}
			content, err := items.Decode(it.Content)
			if err != nil {
				return fmt.Errorf("read the text of %s: %w", it.ItemID, err)
			}
			if text, _ := items.TextOf(content); strings.TrimSpace(text) == "" {
				return nil
			}
			last = it
			return errEnough
		}, t.ThreadID, t.CreatedSeq, turnID)
	})
	return last, err
}

// Unfinished implements turns.Store.
func (s *View) Unfinished(ctx context.Context) (active, queued []string, err error) {
	err = s.engine.read(ctx, func(c *conn) error {
		if err := c.query(`SELECT thread_id FROM (
				SELECT thread_id, created_seq FROM turns WHERE state = 'active'
				UNION ALL SELECT thread_id, created_seq FROM threads WHERE state = 'closing')
			GROUP BY thread_id ORDER BY min(created_seq)`, func(r row) error {
			active = append(active, r.Text(0))
			return nil
		}); err != nil {
			return err
		}
		return c.query("SELECT thread_id FROM turns WHERE state = 'queued' GROUP BY thread_id ORDER BY min(created_seq)", func(r row) error {
			queued = append(queued, r.Text(0))
			return nil
		})
	})
	return active, queued, err
}

// Stored implements turns.Store.
func (s *View) Stored(ctx context.Context, key string) (stored *ledger.Stored, err error) {
	err = s.engine.read(ctx, func(c *conn) error {
		stored, err = persist.StoredKey(&tx{c}, key, s.now())
		return err
	})
	return stored, err
}
