package sqlite

import (
	"fmt"
	"time"

	"github.com/seed82539d15/holon/internal/bench/rows"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// thread is the data of one thread, made before the measurement starts.
type thread struct {
	id, turnID, promptID           string
	started, began, prompt, ending rows.Params
	message                        rows.Params
	promptContent, content         []byte
	itemIDs                        []string

	seq     int64 // thread_seq of the newest event
	turnSeq int64 // created_seq of the turn
}

func makeThreads(l load) ([]*thread, error) {
	now := notify.TimeOf(time.Now())
	list := make([]*thread, l.threads)
	for i := range list {
		t := &thread{
			id: rows.IDs("thread_", 1)[0], turnID: rows.IDs("turn_", 1)[0], promptID: rows.IDs("item_", 1)[0],
			itemIDs: rows.IDs("item_", l.items),
		}
		var err [5]error
		t.started, err[0] = rows.Make(notify.ThreadStarted, t.id, "", &threads.Changed{
			Type: "started", State: threads.Running, StartedAt: now, SessionID: t.id, Agent: "echo",
		})
		t.began, err[1] = rows.Make(notify.TurnStarted, t.id, t.turnID, &turns.StartedEvent{
			Type: "started", State: turns.Active, StartedAt: now, Origin: turns.OriginClient,
		})
		t.prompt, t.promptContent, err[2] = rows.Prompt(t.id, t.turnID, fmt.Sprintf("/items %d %d", l.items, l.size))
		t.message, t.content, err[3] = rows.Message(t.id, t.turnID, l.size)
		t.ending, err[4] = rows.Make(notify.TurnCompleted, t.id, t.turnID, &turns.EndedEvent{
			Type: "completed", State: turns.Completed, StartedAt: now, CompletedAt: now,
		})
		for _, e := range err {
			if e != nil {
				return nil, e
			}
		}
		list[i] = t
	}
	return list, nil
}

// all writes the starts of all turns, then their messages in groups, one thread
// after the other, and then their ends.
func (w *writer) all(list []*thread, l load) error {
	if err := w.group(func() error { return each(list, w.beginTurn) }); err != nil {
		return err
	}
	for at := 0; at < l.items; at += l.group {
		for _, t := range list {
			ids := t.itemIDs[at:min(at+l.group, l.items)]
			if err := w.group(func() error { return w.messages(t, ids) }); err != nil {
				return err
			}
		}
	}
	return w.group(func() error { return each(list, w.completeTurn) })
}

func each(list []*thread, f func(*thread) error) error {
	for _, t := range list {
		if err := f(t); err != nil {
			return err
		}
	}
	return nil
}

// group runs one transaction.
func (w *writer) group(f func() error) error {
	if err := w.begin.exec(); err != nil {
		return err
	}
	if err := f(); err != nil {
		return err
	}
	if err := w.commit.exec(); err != nil {
		return err
	}
	return w.checkpoint()
}

// event inserts the next event of a thread. itemID is "" for none.
func (w *writer) event(t *thread, method string, p rows.Params, itemID string, now int64) error {
	w.seq++
	t.seq++
	w.buf = p.Append(w.buf[:0], w.seq, t.seq, itemID)
	w.bytes += len(w.buf)
	var item any
	if itemID != "" {
		item = itemID
	}
	return w.insertEvent.exec(w.seq, t.seq, t.id, item, method, now, w.buf)
}

// item inserts an item and its event.
func (w *writer) item(t *thread, kind items.Kind, id string, p rows.Params, content []byte, now int64) error {
	if err := w.event(t, notify.ItemCreated, p, id, now); err != nil {
		return err
	}
	w.bytes += len(content)
	return w.insertItem.exec(w.seq, id, t.id, t.turnID, string(kind), now, now, w.seq, content)
}

func (w *writer) beginTurn(t *thread) error {
	now := time.Now().UnixMilli()
	if err := w.event(t, notify.ThreadStarted, t.started, "", now); err != nil {
		return err
	}
	if err := w.insertThread.exec(w.seq, t.id, now, w.seq, w.seq); err != nil {
		return err
	}
	if err := w.event(t, notify.TurnStarted, t.began, "", now); err != nil {
		return err
	}
	t.turnSeq = w.seq
	if err := w.insertTurn.exec(w.seq, t.turnID, t.id, now, w.seq); err != nil {
		return err
	}
	if err := w.item(t, items.KindUserMessage, t.promptID, t.prompt, t.promptContent, now); err != nil {
		return err
	}
	return w.advanceThread.exec(w.seq, t.seq, t.id)
}

func (w *writer) messages(t *thread, ids []string) error {
	now := time.Now().UnixMilli()
	for _, id := range ids {
		if err := w.item(t, items.KindAgentMessage, id, t.message, t.content, now); err != nil {
			return err
		}
	}
	return w.advanceThread.exec(w.seq, t.seq, t.id)
}

func (w *writer) completeTurn(t *thread) error {
	now := time.Now().UnixMilli()
	if err := w.event(t, notify.TurnCompleted, t.ending, "", now); err != nil {
		return err
	}
	if err := w.endTurn.exec(now, w.seq, t.turnSeq); err != nil {
		return err
	}
	return w.advanceThread.exec(w.seq, t.seq, t.id)
}
