package dispatch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// BridgeCreate makes a bridge. Errors: *turns.InvalidError, bridges.ErrInUse,
// bridges.ErrTooMany.
func (s *Service) BridgeCreate(ctx context.Context, c bridges.CreateBridge) (bridges.BridgeResult, error) {
	s.changing.Lock()
	defer s.changing.Unlock()
	var made string
	var channel bridges.Channel
	var row *bridges.Bridge
	r, replayed, err := ledger.Keyed(s.cfg.Store, c.Key, func() (*ledger.Unit, bridges.BridgeResult, error) {
		u, now := &ledger.Unit{}, s.now()
		if c.BridgeID == "" {
			c.BridgeID = "bridge_" + uuid.Must(uuid.NewV7()).String()
		}
		s.known.mu.RLock()
		many := len(s.known.bridges) >= bridges.MaxBridges
		s.known.mu.RUnlock()
		switch {
		case s.known.bridge(c.BridgeID) != nil:
			return u, bridges.BridgeResult{}, bridges.ErrInUse
		case many:
			return u, bridges.BridgeResult{}, bridges.ErrTooMany
		}
		if c.Kind == bridges.KindWebhook && c.Secret == "" {
			made = newSecret()
			c.Secret = made
		}
		if c.OnPause == "" {
			c.OnPause = bridges.PauseWaits
		}
		at := notify.TimeOf(now)
		row = &bridges.Bridge{
			BridgeID: c.BridgeID, Kind: c.Kind, State: bridges.Active, OnPause: c.OnPause, Settings: c.Settings, SecretHint: c.Secrets.Hint(),
			CreatedAt: at, UpdatedAt: at, CreatedSeq: notify.Provisional(0), UpdatedSeq: notify.Provisional(0), LogID: s.cfg.LogID,
			Generation: now.UnixNano(),
		}
		var err error
		if channel, err = s.cfg.Open(row, c.Secrets, nil); err != nil {
			return u, bridges.BridgeResult{}, err
		}
		// Before the commit that names it: a crash in between leaves a file that the
		// next start removes.
		if err := s.vault.write(row.BridgeID, row.Generation, c.Secrets); err != nil {
			return u, bridges.BridgeResult{}, fmt.Errorf("keep the secrets of a bridge: %w", err)
		}
		u.Rows = append(u.Rows, row)
		draft(u, notify.BridgeCreated, now, row.Event(bridges.ByClient))
		return u, bridges.BridgeResult{Bridge: row.Shown()}, u.Drafts[0].Encode()
	}, s.cfg.Store.Append)
	if err != nil || replayed {
		if row != nil {
			s.dropUnnamed(row, err)
		}
		return r, err
	}
	s.known.add(row).channel.Store(&channel)
	r.Secret = made
	return r, nil
}

// dropUnnamed removes the secrets that were written for a commit that was refused with
// err. If it is unknown whether it was committed, they stay: the next start removes them if
// no row names them.
func (s *Service) dropUnnamed(row *bridges.Bridge, err error) {
	if errors.Is(err, ledger.ErrStorageFailed) {
		return
	}
	if err := s.cfg.Secrets.Remove(row.BridgeID, row.Generation); err != nil {
		s.cfg.Log.Error("remove a secret that nothing names", zap.String("bridge_id", row.BridgeID), zap.Error(err))
	}
}

// changeable finds a bridge that clients may change.
func (s *Service) changeable(id string) (*bridge, error) {
	b := s.known.bridge(id)
	switch {
	case b == nil:
		return nil, bridges.ErrBridgeNotFound
	case b.row.Load().Configured:
		return nil, bridges.ErrConfigured
	}
	return b, nil
}

// BridgeUpdate changes members of a bridge that are not secret. Errors:
// bridges.ErrBridgeNotFound, bridges.ErrConfigured, *turns.InvalidError,
// bridges.ErrNoSecret.
func (s *Service) BridgeUpdate(_ context.Context, c bridges.UpdateBridge) (bridges.BridgeResult, error) {
	b, err := s.changeable(c.BridgeID)
	if err != nil {
		return replayOr[bridges.BridgeResult](s.cfg.Store, c.Key, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	var channel bridges.Channel
	r, err := b.changeKeyed(s, c.Key, notify.BridgeUpdated, bridges.ByClient, func(next *bridges.Bridge, seq int64, at notify.Time) (err error) {
		for _, m := range []struct {
			to   *string
			from *string
		}{{&next.URL, c.URL}, {&next.Server, c.Server}, {&next.APIURL, c.APIURL}} {
			if m.from != nil {
				*m.to = *m.from
			}
		}
		if was := b.row.Load(); next.Generation != 0 && (next.Server != was.Server || next.APIURL != was.APIURL) {
			return turns.Invalid("server", turns.ReasonInvalid, "the bridge's secrets would go to another server: create another bridge")
		}
		if c.Targets != nil {
			next.Targets = *c.Targets
		}
		if c.OnPause != nil {
			next.SetOnPause(*c.OnPause, seq)
		}
		next.UpdatedSeq, next.UpdatedAt = seq, at
		channel, err = s.vault.channel(next)
		return err
	})
	if err == nil && channel != nil {
		b.channel.Store(&channel)
	}
	return r, err
}

// BridgeRotate gives a bridge new secrets; those that are not given stay. For a day
// webhooks are signed with both. Errors: as BridgeUpdate.
func (s *Service) BridgeRotate(_ context.Context, c bridges.RotateSecret) (bridges.BridgeResult, error) {
	r, err := s.rotate(c)
	if err == nil {
		s.kickBridge(c.BridgeID) // it may have had no channel before
	}
	return r, err
}

func (s *Service) rotate(c bridges.RotateSecret) (bridges.BridgeResult, error) {
	b, err := s.changeable(c.BridgeID)
	if err != nil {
		return replayOr[bridges.BridgeResult](s.cfg.Store, c.Key, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	made, old := "", b.row.Load()
	var channel bridges.Channel
	var wrote *bridges.Bridge
	r, err := b.changeKeyed(s, c.Key, notify.BridgeRotated, bridges.ByClient, func(next *bridges.Bridge, seq int64, at notify.Time) (err error) {
		before, err := s.vault.read(next, next.Generation)
		previous := &before
		if err != nil {
			previous = nil // it was lost; the new one counts
		}
		given := c.Secrets
		if next.Kind == bridges.KindWebhook && given.Secret == "" {
			made = newSecret()
			given.Secret = made
		}
		if given == (bridges.Secrets{}) {
			return turns.Invalid("token", turns.ReasonRequired, "give the new secret: only that of a webhook can be made here")
		}
		secret := before.Replaced(given)
		next.Previous, next.Generation = next.Generation, max(s.now().UnixNano(), next.Generation+1)
		next.RotatedAt, next.UpdatedAt, next.UpdatedSeq, next.SecretHint = at, at, seq, secret.Hint()
		if next.Reason == bridges.ReasonNoSecret {
			next.State, next.Reason = bridges.Active, ""
		}
		if channel, err = s.cfg.Open(next, secret, previous); err != nil {
			return err
		}
		wrote = next
		return s.vault.write(next.BridgeID, next.Generation, secret)
	})
	if wrote != nil && b.row.Load() != wrote {
		s.dropUnnamed(wrote, err)
	}
	if err != nil || channel == nil {
		return r, err
	}
	b.channel.Store(&channel)
	if old.Previous != 0 {
		if err := s.cfg.Secrets.Remove(old.BridgeID, old.Previous); err != nil {
			s.cfg.Log.Error("remove an old secret", zap.String("bridge_id", old.BridgeID), zap.Error(err))
		}
	}
	r.Secret = made
	return r, nil
}

// BridgePause stops a bridge. Errors: bridges.ErrBridgeNotFound.
func (s *Service) BridgePause(_ context.Context, c bridges.ChangeBridge) (bridges.BridgeResult, error) {
	b := s.known.bridge(c.BridgeID)
	if b == nil {
		return replayOr[bridges.BridgeResult](s.cfg.Store, c.Key, bridges.ErrBridgeNotFound)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.changeKeyed(s, c.Key, notify.BridgePaused, cmp.Or(c.By, bridges.ByClient), func(next *bridges.Bridge, seq int64, at notify.Time) error {
		if next.State != bridges.Paused {
			next.Pause(seq, at, c.Reason)
		}
		return nil
	})
}

// BridgeResume lets a bridge send again that was paused or disabled. Errors:
// bridges.ErrBridgeNotFound, bridges.ErrConfigured, bridges.ErrNoSecret,
// *turns.InvalidError.
func (s *Service) BridgeResume(_ context.Context, c bridges.ChangeBridge) (bridges.BridgeResult, error) {
	b := s.known.bridge(c.BridgeID)
	if b == nil {
		return replayOr[bridges.BridgeResult](s.cfg.Store, c.Key, bridges.ErrBridgeNotFound)
	}
	b.mu.Lock()
	r, err := b.changeKeyed(s, c.Key, notify.BridgeResumed, cmp.Or(c.By, bridges.ByClient), func(next *bridges.Bridge, seq int64, at notify.Time) error {
		if b.channel.Load() == nil {
			if next.Configured {
				return bridges.ErrConfigured
			}
			channel, err := s.vault.channel(next)
			if err != nil {
				return err
			}
			b.channel.Store(&channel)
		}
		if next.State != bridges.Active {
			next.Resume(seq, at)
			next.HeldUntil = notify.Time{}
		}
		return nil
	})
	b.mu.Unlock()
	if err == nil {
		s.slots.set(&b.bridgeLoad, func(o *bridgeLoad) { o.heldUntil = time.Time{} })
		s.kickBridge(c.BridgeID)
	}
	return r, err
}

// checkTarget checks where a subscription is to send. Errors: *turns.InvalidError,
// and bridges.ErrConfigured or bridges.ErrNoSecret of a bridge that cannot be opened.
func (b *bridge) checkTarget(t bridges.Target) error {
	switch channel := b.channel.Load(); {
	case channel != nil:
		return (*channel).CheckTarget(t)
	case b.row.Load().Configured: // it is no longer there
		return bridges.ErrConfigured
	}
	return bridges.ErrNoSecret
}

// allows reports whether a token that is limited to threads may send to a target. What
// exists keeps its target: it is asked of what begins or changes. A bridge that cannot
// be opened allows its list.
func (b *bridge) allows(t bridges.Target) bool {
	channel := b.channel.Load()
	return channel != nil && (*channel).Own(t) || slices.Contains(b.row.Load().Targets, t)
}

// unopened explains why a bridge has no channel.
func (b *bridge) unopened() string {
	if b.row.Load().Configured {
		return bridges.ReasonNotConfigured
	}
	return bridges.ReasonNoSecret
}

// kickBridge looks again at all lanes of a bridge.
func (s *Service) kickBridge(id string) {
	for _, l := range s.known.all() {
		if l.bridge == s.known.bridge(id) {
			l.mu.Lock()
			l.kick()
			l.mu.Unlock()
		}
	}
}

// BridgeDelete deletes a bridge, also one that the configuration no longer has.
// Errors: bridges.ErrBridgeNotFound, bridges.ErrConfigured, bridges.ErrInUse if it has
// subscriptions.
func (s *Service) BridgeDelete(ctx context.Context, c bridges.DeleteBridge) (bridges.BridgeResult, error) {
	s.changing.Lock()
	defer s.changing.Unlock()
	if r, ok, err := ledger.Replay[bridges.BridgeResult](s.cfg.Store, c.Key); ok || err != nil {
		return r, err
	}
	b := s.known.bridge(c.BridgeID)
	switch {
	case b == nil:
		return bridges.BridgeResult{}, bridges.ErrBridgeNotFound
	case b.row.Load().Configured && b.channel.Load() != nil:
		return bridges.BridgeResult{}, bridges.ErrConfigured
	}
	for _, l := range s.known.all() {
		if l.bridge == b && !c.Cascade {
			return bridges.BridgeResult{}, bridges.ErrInUse
		}
	}
	if err := deleteOfBridge(ctx, s, c); err != nil {
		return bridges.BridgeResult{}, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	row := b.row.Load()
	r, replayed, err := ledger.Keyed(s.cfg.Store, c.Key, func() (*ledger.Unit, bridges.BridgeResult, error) {
		u := &ledger.Unit{Rows: []ledger.Row{&ledger.Removal{Of: bridges.BridgeTable, Key: []any{row.BridgeID}}}}
		draft(u, notify.BridgeDeleted, s.now(), row.Event(cmp.Or(c.By, bridges.ByClient)))
		return u, bridges.BridgeResult{Bridge: row.Shown()}, u.Drafts[0].Encode()
	}, s.cfg.Store.Append)
	if err != nil || replayed {
		return r, err
	}
	b.deleted = true
	s.known.mu.Lock()
	delete(s.known.bridges, row.BridgeID)
	s.known.mu.Unlock()
	for _, generation := range []int64{row.Generation, row.Previous} {
		if generation != 0 {
			if err := s.cfg.Secrets.Remove(row.BridgeID, generation); err != nil {
				s.cfg.Log.Error("remove a secret", zap.String("bridge_id", row.BridgeID), zap.Error(err))
			}
		}
	}
	return r, nil
}

// deleteOfBridge deletes the subscriptions of a bridge, those that have ended too. s.changing is
// held.
func deleteOfBridge(ctx context.Context, s *Service, c bridges.DeleteBridge) error {
	var ids []string
	if err := s.cfg.Read(ctx, func(tx ledger.Reader) error {
		return tx.Scan(ledger.Range{Index: bridges.SubscriptionOfBridge, Prefix: []any{c.BridgeID}}, func(v ledger.Values) error {
			sub, err := bridges.ReadSubscription(v)
			if err == nil && sub.State != bridges.Deleted {
				ids = append(ids, sub.SubscriptionID)
			}
			return err
		})
	}); err != nil {
		return err
	}
	for _, id := range ids {
		l, err := s.ofTurns.toDelete(ctx, id)
		if err == nil && l != nil {
			_, err = s.deleteLane(l, nil, c.By, "its bridge was deleted")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// BridgeTest sends a test message, once. Errors:
// bridges.ErrBridgeNotFound, *turns.InvalidError for a target that does not fit,
// bridges.ErrTesting.
func (s *Service) BridgeTest(ctx context.Context, id string, target bridges.Target) (bridges.TestResult, error) {
	select {
	case s.tests <- struct{}{}:
		defer func() { <-s.tests }()
	default:
		return bridges.TestResult{}, bridges.ErrTesting
	}
	b := s.known.bridge(id)
	if b == nil {
		return bridges.TestResult{}, bridges.ErrBridgeNotFound
	}
	channel := b.channel.Load()
	switch {
	case channel == nil:
		return bridges.TestResult{Error: b.unopened()}, nil
	case s.slots.stuckOf(&b.bridgeLoad) >= maxStuck:
		return bridges.TestResult{Error: stuckError}, nil
	}
	if err := (*channel).CheckTarget(target); err != nil {
		return bridges.TestResult{}, err
	}
	now := s.now()
	e := &bridges.Envelope{
		DeliveryID: "test:" + id + ":" + uuid.NewString(), LogID: s.cfg.LogID, EventType: bridges.TypeTest, Type: "bridge.test",
		Timestamp: notify.TimeOf(now), Supersedes: []string{}, Data: bridges.Data{Title: "A test of the bridge " + id, Method: "bridge/test"},
	}
	body, err := json.Marshal(e)
	if err != nil {
		return bridges.TestResult{}, err
	}
	r := s.sender.send(ctx, &b.bridgeLoad, *channel, sending{e.DeliveryID, id, target}, &bridges.Outgoing{ID: bridges.OutgoingID(s.cfg.LogID, e.DeliveryID), Body: body, Target: target})
	return bridges.TestResult{
		Delivered: r.Outcome == bridges.Delivered, Status: r.Status, Error: r.Error, LatencyMs: s.now().Sub(now).Milliseconds(),
	}, nil
}
