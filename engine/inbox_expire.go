package engine

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
)

// The bounds of retention.
const (
	expireEvery  = 10 * time.Minute // how often it looks for what is to be removed
	expireAtOnce = 1000             // inboxes in one look
)

// expire removes what retention removes from inboxes, until ctx is done.
func (x *Inboxes) expire(ctx context.Context) {
	ticker := time.NewTicker(expireEvery)
	defer ticker.Stop()
	// A crash or an error may have interrupted a removal. Only then rows are left, and must be
	// looked for.
	whole := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			whole = x.expireOnce(ctx, time.Now().Add(-x.e.rules.cfg.InboxRetention), !whole)
		}
	}
}

// expireOnce removes what is older than before, and with rest also what is left of
// inboxes that were removed. A thread that cannot do it now is left to the next
// look, and does not keep others from it. It reports whether all could.
func (x *Inboxes) expireOnce(ctx context.Context, before time.Time, rest bool) bool {
	ids, err := x.e.rules.inboxes.InboxesToExpire(ctx, before.UnixMilli(), expireAtOnce)
	if rest {
		removed, failed := x.e.rules.inboxes.RemovedInboxes(ctx)
		ids, err = append(ids, removed...), errors.Join(err, failed)
	}
	for _, id := range ids {
		_, failed := call(ctx, x.e, id, func(a *actor) (struct{}, error) { return struct{}{}, a.inbox.expireInbox(before) })
		if err = errors.Join(err, failed); ctx.Err() != nil {
			return false
		}
	}
	if err != nil {
		x.e.log.Warn("old entries of inboxes cannot be removed now", zap.Error(err))
	}
	return err == nil
}

// expireInbox removes what was acknowledged before a time, and everything if the
// thread was closed before.
func (k *inboxKeeper) expireInbox(before time.Time) error {
	t := k.a.state.thread
	switch {
	case t == nil:
		return nil
	case t.State == threads.Closed && t.ClosedAt.After(before):
		return nil
	case t.State == threads.Closed:
		return k.removeInbox()
	case k.a.state.inbox == nil:
		return nil
	}
	for more := true; more; {
		d := k.a.decide()
		err := d.inbox.inSnapshot(func(b *inbox.Book) (err error) {
			more, err = b.Expire(before)
			return err
		})
		if err == nil && !d.change.empty() {
			_, err = k.a.commit(d)
		}
		if err != nil {
			return err
		}
	}
	return k.forget()
}

// removeAtOnce is how many rows one unit removes.
const removeAtOnce = 1000

// forget removes the rows of expired items that are no longer needed to recognise duplicates, nor
// to know which item of a digest is the newest about something. There is no event for it, because
// no read shows these rows.
func (k *inboxKeeper) forget() error {
	since := time.Now().Add(-k.a.e.rules.cfg.DedupeFor)
	expired := ledger.Range{Index: inbox.RawOfThread, Prefix: []any{k.a.id}, Until: k.a.state.inbox.Expired + 1}
	return k.removeRows(expired, func(rd ledger.Reader, v ledger.Values) (bool, error) {
		raw := inbox.ReadRaw(v)
		if !raw.Expired || raw.Source == inbox.SourceTurns || !raw.ReceivedAt.Before(since) {
			return false, nil
		}
		if raw.About == "" {
			return true, nil
		}
		digest, err := rd.Get(inbox.DigestBySeq, raw.Digest)
		return digest == nil, err
	})
}

// removeInbox removes the inbox of a closed thread: first the inbox itself with the
// event of its removal, then its rows in pieces. Without the inbox nothing reads them,
// and it does not matter where a crash interrupts this. The event belongs to the
// whole log, because thread/closed is the last one of the thread.
func (k *inboxKeeper) removeInbox() error {
	if k.a.state.inbox != nil {
		d := notify.Draft{
			Method: notify.InboxExpired, Header: notify.Header{Seq: notify.Provisional(0), Timestamp: nowTime()},
			Body: &inbox.Expired{SubjectThreadID: k.a.id},
		}
		if err := d.Encode(); err != nil {
			return err
		}
		if _, err := k.a.e.store.Append(&ledger.Unit{Drafts: []notify.Draft{d}, Rows: []ledger.Row{&ledger.Removal{Of: inbox.Table, Key: []any{k.a.id}}}}); err != nil {
			return err
		}
		k.a.state.inbox = nil
	}
	// Items come last: a later look finds unfinished removals by them.
	for _, ix := range []*ledger.Index{inbox.EntryOfThread, inbox.DigestThread, inbox.RawOfThread} {
		of := ledger.Range{Index: ix, Prefix: []any{k.a.id}, First: 1}
		if err := k.removeRows(of, func(ledger.Reader, ledger.Values) (bool, error) { return true, nil }); err != nil {
			return err
		}
	}
	return nil
}

// removeRows removes the rows of a range for which goes is true, in pieces.
func (k *inboxKeeper) removeRows(r ledger.Range, goes func(ledger.Reader, ledger.Values) (bool, error)) error {
	for {
		var gone []ledger.Row
		if err := k.a.e.rules.inboxes.ReadToDecide(context.Background(), func(rd ledger.Reader) error {
			return rd.Scan(r, func(v ledger.Values) error {
				remove, err := goes(rd, v)
				if remove && err == nil {
					gone = append(gone, &ledger.Removal{Of: r.Index.Table, Key: []any{v.Int(0)}})
				}
				if len(gone) == removeAtOnce {
					return ledger.ErrEnough
				}
				return err
			})
		}); err != nil || len(gone) == 0 {
			return err
		}
		if _, err := k.a.e.store.Append(&ledger.Unit{Rows: gone}); err != nil {
			return err
		}
		if len(gone) < removeAtOnce {
			return nil
		}
	}
}
