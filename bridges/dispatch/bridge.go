package dispatch

import (
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
)

// bridge is a bridge that exists.
type bridge struct {
	bridgeLoad
	mu      sync.Mutex // held while its row is changed
	deleted bool       // the bridge was deleted, and its row may be that of a new one; guarded by mu
	row     atomic.Pointer[bridges.Bridge]
	channel atomic.Pointer[bridges.Channel] // nil: it cannot be opened
}

// edits reports whether messages can be changed once they are sent; true if nobody knows now.
func (b *bridge) edits() bool {
	c := b.channel.Load()
	return c == nil || (*c).Edits()
}

// change commits a change of a bridge, with its event; "" = without one.
func (b *bridge) change(s *Service, method string, by bridges.By, change func(next *bridges.Bridge, seq int64, at notify.Time)) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.deleted { // an attempt has outlived it
		return nil
	}
	_, err := b.changeKeyed(s, nil, method, by, func(next *bridges.Bridge, seq int64, at notify.Time) error {
		change(next, seq, at)
		return nil
	})
	return err
}

// changeKeyed works like change, for a command of a client. b.mu is held.
func (b *bridge) changeKeyed(s *Service, key *ledger.Key, method string, by bridges.By, change func(next *bridges.Bridge, seq int64, at notify.Time) error) (bridges.BridgeResult, error) {
	if b.deleted {
		return replayOr[bridges.BridgeResult](s.cfg.Store, key, bridges.ErrBridgeNotFound)
	}
	var next *bridges.Bridge
	r, replayed, err := ledger.Keyed(s.cfg.Store, key, func() (*ledger.Unit, bridges.BridgeResult, error) {
		u, now := &ledger.Unit{}, s.now()
		next = b.row.Load().Clone()
		was := *next
		if err := change(next, notify.Provisional(0), notify.TimeOf(now)); err != nil {
			return u, bridges.BridgeResult{}, err
		}
		if next.State == was.State && next.Reason == was.Reason && (method == notify.BridgePaused || method == notify.BridgeResumed) && next.LogID == was.LogID {
			next = nil
			return u, bridges.BridgeResult{Bridge: was.Shown()}, nil // it is already
		}
		u.Rows = append(u.Rows, next)
		if method != "" {
			draft(u, method, now, next.Event(by))
		}
		return u, bridges.BridgeResult{Bridge: next.Shown()}, nil
	}, func(u *ledger.Unit) (ledger.Receipt, error) {
		for i := range u.Drafts {
			if err := u.Drafts[i].Encode(); err != nil {
				return ledger.Receipt{}, err
			}
		}
		return s.cfg.Store.Append(u)
	})
	if err != nil || replayed || next == nil {
		return r, err
	}
	b.row.Store(next)
	s.slots.set(&b.bridgeLoad, func(o *bridgeLoad) {
		if o.sends = next.State == bridges.Active; o.sends && method == notify.BridgeResumed {
			o.unhealthy, o.waits = 0, 0
		}
	})
	return r, nil
}

// disable stops a bridge because of its target or its configuration.
func (b *bridge) disable(s *Service, reason string) error {
	s.cfg.Log.Warn("a bridge is disabled", zap.String("bridge_id", b.row.Load().BridgeID), zap.String("reason", reason))
	return b.change(s, notify.BridgeDisabled, bridges.ByServer, func(next *bridges.Bridge, seq int64, at notify.Time) {
		next.State, next.Reason, next.UpdatedSeq, next.UpdatedAt = bridges.Disabled, reason, seq, at
	})
}

// outcome notes what an attempt says of the bridge. Most say nothing new.
func (b *bridge) outcome(s *Service, r bridges.Result, now time.Time) error {
	row := b.row.Load()
	switch {
	case r.Outcome == bridges.Gone && row.Kind == bridges.KindWebhook:
		if row.State == bridges.Active {
			return b.disable(s, bridges.ReasonGone)
		}
	case r.Outcome == bridges.Wait:
		return b.change(s, "", "", func(next *bridges.Bridge, _ int64, _ notify.Time) {
			next.HeldUntil = notify.TimeOf(now.Add(r.RetryAfter))
		})
	case r.Outcome == bridges.Delivered:
		if len(row.FailedDays) > 0 || !row.HeldUntil.IsZero() && !now.Before(row.HeldUntil.Time) {
			return b.change(s, "", "", func(next *bridges.Bridge, _ int64, _ notify.Time) {
				next.FailedDays = nil
				if !now.Before(next.HeldUntil.Time) { // else it was under way when the target asked to wait
					next.HeldUntil = notify.Time{}
				}
			})
		}
	case r.Unhealthy || r.Outcome == bridges.Failed && s.sending.Err() == nil: // not of those that a stop has cut
		changed, disable := row.Clone().Failed(now)
		if !changed {
			return nil
		}
		if err := b.change(s, "", "", func(next *bridges.Bridge, _ int64, _ notify.Time) { next.Failed(now) }); err != nil {
			return err
		}
		if disable && row.State == bridges.Active {
			return b.disable(s, bridges.ReasonFailing)
		}
	}
	return nil
}

// forgetPrevious ends the time in which the secret before a rotation counts.
func (b *bridge) forgetPrevious(s *Service) {
	b.mu.Lock()
	defer b.mu.Unlock()
	row := b.row.Load()
	if b.deleted || row.Previous == 0 || s.now().Before(row.RotatedAt.Add(signBoth)) {
		return
	}
	if _, err := b.changeKeyed(s, nil, "", "", func(next *bridges.Bridge, _ int64, _ notify.Time) error { next.Previous = 0; return nil }); err != nil {
		s.cfg.Log.Error("forget an old secret", zap.String("bridge_id", row.BridgeID), zap.Error(err))
		return
	}
	if channel, err := s.vault.channel(b.row.Load()); err == nil {
		b.channel.Store(&channel)
	}
	if err := s.cfg.Secrets.Remove(row.BridgeID, row.Previous); err != nil {
		s.cfg.Log.Error("remove an old secret", zap.String("bridge_id", row.BridgeID), zap.Error(err))
	}
}
