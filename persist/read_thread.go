package persist

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

func readThread(s Snapshot, threadID string) (*threads.Thread, error) {
	return one(s, threads.Read, threads.ByID, threadID)
}

// newestTurns calls f with the newest turns of a thread, at most limit, until it
// returns false.
func newestTurns(s Snapshot, threadID string, limit int, f func(*turns.Turn) bool) error {
	return s.Scan(ledger.Range{Index: turns.OfThread, Prefix: []any{threadID}, Newest: true}, func(v ledger.Values) error {
		t, err := turns.Read(v)
		if err != nil {
			return err
		}
		if limit--; !f(t) || limit <= 0 {
			return ledger.ErrEnough
		}
		return nil
	})
}

// lastTurns is how many of a thread's newest turns are read to find the one that
// ended last. Queued turns may overtake each other, but the queue is bounded.
const lastTurns = 200

// LastTurn implements turns.Rows.
func (r *Reads) LastTurn(ctx context.Context, threadID string) (last *turns.Turn, err error) {
	err = r.db.Snapshot(ctx, ForEngine, func(s Snapshot) error {
		return newestTurns(s, threadID, lastTurns, func(t *turns.Turn) bool {
			if t.State.Ended() && !t.StartedAt.IsZero() && (last == nil || t.UpdatedSeq > last.UpdatedSeq) {
				last = t
			}
			return true
		})
	})
	return last, err
}

// Transcript implements turns.Rows.
func (r *Reads) Transcript(ctx context.Context, threadID string, limit, maxBytes int) (list []*items.Item, err error) {
	err = r.db.Snapshot(ctx, ForPoints, func(s Snapshot) error {
		queued, err := queuedTurns(s, threadID)
		if err != nil {
			return err
		}
		bytes := 0
		return s.Scan(ledger.Range{
			Index: items.OfThread, Prefix: []any{threadID}, Newest: true, Live: turns.SupersededItems,
			Only: []ledger.Only{{Column: "type", Values: []any{string(items.KindUserMessage), string(items.KindAgentMessage)}}},
		}, func(v ledger.Values) error {
			it := items.Read(v)
			if !inTranscript(it, queued) {
				return nil
			}
			if err := foldText(s, it); err != nil {
				return err
			}
			if bytes += len(it.Content); bytes > maxBytes || len(list) >= limit {
				return ledger.ErrEnough
			}
			list = append(list, it)
			return nil
		})
	})
	return list, err
}

// inTranscript reports whether a message is part of the transcript. Input of
// queued turns, and messages that were not delivered, are not.
func inTranscript(it *items.Item, queued map[string]bool) bool {
	if it.Type == items.KindAgentMessage {
		return it.Status != items.StatusDeleted
	}
	return it.Status == items.StatusCompleted && !queued[it.TurnID]
}

func queuedTurns(s Snapshot, threadID string) (map[string]bool, error) {
	ids := map[string]bool{}
	err := s.Scan(ledger.Range{
		Index: turns.UnfinishedOfThread, Prefix: []any{threadID}, First: turnNames,
		Only: []ledger.Only{{Column: "state", Values: []any{string(turns.Queued)}}},
	}, func(v ledger.Values) error {
		ids[v.Text(1)] = true
		return nil
	})
	return ids, err
}

// LastMessage implements turns.Rows.
func (r *Reads) LastMessage(ctx context.Context, turnID string) (last *items.Item, err error) {
	err = r.db.Snapshot(ctx, ForEngine, func(s Snapshot) error {
		t, err := one(s, turns.Read, turns.ByID, turnID)
		if err != nil || t == nil {
			return err
		}
		return s.Scan(ledger.Range{
			Index: items.OfThread, Prefix: []any{t.ThreadID}, Newest: true, Until: t.CreatedSeq, Live: turns.SupersededItems,
			Only: []ledger.Only{{Column: "turn_id", Values: []any{turnID}}, {Column: "type", Values: []any{string(items.KindAgentMessage)}}},
		}, func(v ledger.Values) error {
			it := items.Read(v)
			if it.Status == items.StatusDeleted {
				return nil
			}
			if err := foldText(s, it); err != nil {
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
			return ledger.ErrEnough
		})
	})
	return last, err
}

// Unfinished implements turns.Rows.
func (r *Reads) Unfinished(ctx context.Context) (active, queued []string, err error) {
	err = r.db.Snapshot(ctx, ForEngine, func(s Snapshot) error {
		if active, err = threadsOf(s,
			ledger.Range{Index: turns.ByState, Prefix: []any{string(turns.Active)}, First: turnNames},
			ledger.Range{Index: threads.ByState, Prefix: []any{string(threads.Closing)}, First: threadNames},
		); err != nil {
			return err
		}
		queued, err = threadsOf(s, ledger.Range{Index: turns.ByState, Prefix: []any{string(turns.Queued)}, First: turnNames})
		return err
	})
	return active, queued, err
}

// threadsOf lists the threads that the last column of each row names, in the
// order of the lowest created_seq of their rows.
func threadsOf(s Snapshot, ranges ...ledger.Range) (ids []string, err error) {
	first := map[string]int64{}
	for _, r := range ranges {
		if err := s.Scan(r, func(v ledger.Values) error {
			seq, id := v.Int(0), v.Text(r.First-1)
			if at, ok := first[id]; !ok {
				ids = append(ids, id)
				first[id] = seq
			} else {
				first[id] = min(at, seq)
			}
			return nil
		}); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(ids, func(a, b string) int { return cmp.Compare(first[a], first[b]) })
	return ids, nil
}

// ReadThread implements turns.Reader.
func (r *Reads) ReadThread(ctx context.Context, threadID string, turnLimit int) (out turns.ThreadSnapshot, err error) {
	err = r.db.Snapshot(ctx, ForPoints, func(s Snapshot) error {
		if _, out.Latest, err = s.Ends(); err != nil {
			return err
		}
		if out.Thread, err = readThread(s, threadID); err != nil || out.Thread == nil || turnLimit <= 0 {
			return err
		}
		bytes := 0
		return newestTurns(s, threadID, turnLimit, func(t *turns.Turn) bool {
			if bytes += t.Bytes() + rowBytes; bytes > listBytes && len(out.Turns) > 0 {
				return false
			}
			out.Turns = append(out.Turns, *t)
			return true
		})
	})
	return out, err
}

// maxAttempts bounds the attempts that a snapshot of a turn has.
const maxAttempts = 100

// ReadTurn implements turns.Reader.
func (r *Reads) ReadTurn(ctx context.Context, q turns.TurnQuery) (out turns.TurnSnapshot, err error) {
	err = r.db.Snapshot(ctx, ForPoints, func(s Snapshot) error {
		if _, out.Latest, err = s.Ends(); err != nil {
			return err
		}
		if out.Turn, err = one(s, turns.Read, turns.ByID, q.TurnID); err != nil || out.Turn == nil {
			return err
		}
		if out.Attempts, err = newestAttempts(s, q.TurnID); err != nil {
			return err
		}
		l, err := newStepListing(turns.StepQuery{TurnID: q.TurnID, Limit: turns.MaxSteps, Newest: true, IncludeSuperseded: q.IncludeSuperseded})
		if err != nil {
			return err
		}
		steps, err := listOf(s, l, func(v ledger.Values) (*turns.Step, error) {
			st, err := turns.ReadStep(v)
			if err != nil || st.Step == "" { // attempts are listed separately
				return nil, err
			}
			return st, nil
		})
		slices.Reverse(steps.Rows)
		if out.Steps = steps.Rows; err != nil || q.Items <= 0 {
			return err
		}
		list, err := listItems(ctx, s, items.Query{TurnID: q.TurnID, Limit: q.Items, IncludeSuperseded: q.IncludeSuperseded})
		out.Items, out.Next = list.Rows, list.Next
		return err
	})
	return out, err
}

// newestAttempts returns the newest tries of the turn itself, the oldest first.
func newestAttempts(s Snapshot, turnID string) (list []turns.Step, err error) {
	err = s.Scan(ledger.Range{Index: turns.StepsByEpoch, Prefix: []any{turnID, ""}, Newest: true}, func(v ledger.Values) error {
		st, err := turns.ReadStep(v)
		if err != nil {
			return err
		}
		if list = append(list, *st); len(list) == maxAttempts {
			return ledger.ErrEnough
		}
		return nil
	})
	slices.Reverse(list)
	return list, err
}
