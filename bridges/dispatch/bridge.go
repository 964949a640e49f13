package dispatch

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
)

// signBoth is how long after a rotation the secret before it counts too.
const signBoth = 24 * time.Hour

// openBridges makes the channels, takes in the bridges of the configuration, and
// pauses everything if the log was restored from a backup. It removes secrets that
// no row names.
func (s *Service) openBridges() error {
	named := map[string]map[int64]bool{}
	configured := map[string]Configured{}
	for _, c := range s.cfg.Configured {
		configured[c.Bridge.BridgeID] = c
	}
	for id, b := range s.bridges {
		row := b.row.Load()
		named[id] = map[int64]bool{row.Generation: true, row.Previous: true}
		_, still := configured[id]
		if err := s.openBridge(b, row, still); err != nil {
			return fmt.Errorf("bridge %s: %w", id, err)
		}
	}
	for id, c := range configured {
		if err := s.configure(id, c); err != nil {
			return fmt.Errorf("bridges.%s: %w", id, err)
		}
	}
	_, err := s.cfg.Secrets.Keep(func(id string, generation int64) bool { return named[id][generation] })
	if err != nil {
		s.cfg.Log.Error("remove secrets that nothing names", zap.Error(err))
	}
	return nil
}

// openBridge brings a stored bridge up to date at the start.
func (s *Service) openBridge(b *bridge, row *bridges.Bridge, configured bool) error {
	if row.LogID != s.cfg.LogID {
		if err := s.changeBridge(b, notify.BridgePaused, bridges.ByServer, func(next *bridges.Bridge, seq int64, at notify.Time) {
			next.LogID = s.cfg.LogID
			next.Pause(seq, at, bridges.ReasonRestored)
		}); err != nil {
			return err
		}
	}
	if row.Configured {
		if configured || row.State == bridges.Disabled {
			return nil
		}
		return s.disable(b, bridges.ReasonNotConfigured)
	}
	channel, err := s.channelOf(b.row.Load())
	if err != nil {
		s.cfg.Log.Error("open a bridge", zap.String("bridge_id", row.BridgeID), zap.Error(err))
		if row.State == bridges.Disabled {
			return nil
		}
		return s.disable(b, bridges.ReasonNoSecret)
	}
	b.channel.Store(&channel)
	return nil
}

// configure takes a bridge in that the configuration has.
func (s *Service) configure(id string, c Configured) error {
	b := s.bridges[id]
	if b == nil {
		now := notify.TimeOf(s.now())
		row := c.Bridge
		row.State, row.Configured, row.LogID = bridges.Active, true, s.cfg.LogID
		row.CreatedAt, row.UpdatedAt, row.CreatedSeq, row.UpdatedSeq = now, now, notify.Provisional(0), notify.Provisional(0)
		u := &ledger.Unit{Rows: []ledger.Row{&row}}
		draft(u, notify.BridgeCreated, s.now(), row.Event(bridges.ByServer))
		if err := s.append(u); err != nil {
			return err
		}
		s.addBridge(&row).channel.Store(&c.Channel)
		return nil
	}
	b.channel.Store(&c.Channel)
	row := b.row.Load()
	switch {
	case !row.Configured:
		return errors.New("a bridge of this name was created by a client: use another name, or delete that one")
	case row.State == bridges.Disabled && row.Reason == bridges.ReasonNotConfigured:
	case row.Kind == c.Bridge.Kind && row.Settings == c.Bridge.Settings && row.OnPause == c.Bridge.OnPause && row.SecretHint == c.Bridge.SecretHint:
		return nil
	}
	return s.changeBridge(b, notify.BridgeUpdated, bridges.ByServer, func(next *bridges.Bridge, seq int64, at notify.Time) {
		next.Kind, next.Settings, next.OnPause, next.SecretHint = c.Bridge.Kind, c.Bridge.Settings, c.Bridge.OnPause, c.Bridge.SecretHint
		next.UpdatedSeq, next.UpdatedAt = seq, at
		if next.Reason == bridges.ReasonNotConfigured {
			next.State, next.Reason = bridges.Active, ""
		}
	})
}

func (s *Service) append(u *ledger.Unit) error {
	for i := range u.Drafts {
		if err := u.Drafts[i].Encode(); err != nil {
			return err
		}
	}
	_, err := s.cfg.Store.Append(u)
	return err
}

// channelOf makes the channel of a bridge that a client has created.
func (s *Service) channelOf(row *bridges.Bridge) (bridges.Channel, error) {
	current, err := s.secretsOf(row, row.Generation)
	if err != nil {
		return nil, err
	}
	var previous *bridges.Secrets
	if row.Previous != 0 && s.now().Before(row.RotatedAt.Add(signBoth)) {
		if p, err := s.secretsOf(row, row.Previous); err == nil {
			previous = &p
		}
	}
	return s.cfg.Open(row, current, previous)
}

func (s *Service) secretsOf(row *bridges.Bridge, generation int64) (secret bridges.Secrets, err error) {
	if generation == 0 {
		return secret, nil
	}
	raw, err := s.cfg.Secrets.Read(row.BridgeID, generation)
	if err != nil {
		return secret, err
	}
	return secret, json.Unmarshal(raw, &secret)
}

func (s *Service) writeSecrets(bridgeID string, generation int64, secret bridges.Secrets) error {
	raw, err := json.Marshal(secret)
	if err != nil {
		return err
	}
	return s.cfg.Secrets.Write(bridgeID, generation, raw)
}

// changeBridge commits a change of a bridge, with its event; "" = without one.
func (s *Service) changeBridge(b *bridge, method string, by bridges.By, change func(next *bridges.Bridge, seq int64, at notify.Time)) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, err := s.changeKeyed(b, nil, method, by, func(next *bridges.Bridge, seq int64, at notify.Time) error {
		change(next, seq, at)
		return nil
	})
	return err
}

// changeKeyed is changeBridge for a command of a client. b.mu is held.
func (s *Service) changeKeyed(b *bridge, key *ledger.Key, method string, by bridges.By, change func(next *bridges.Bridge, seq int64, at notify.Time) error) (bridges.BridgeResult, error) {
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
			return u, bridges.BridgeResult{Bridge: was}, nil // it is already
		}
		u.Rows = append(u.Rows, next)
		if method != "" {
			draft(u, method, now, next.Event(by))
		}
		return u, bridges.BridgeResult{Bridge: *next}, nil
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
	s.places.set(&b.outlet, func(o *outlet) {
		if o.sends = next.State == bridges.Active; o.sends && method == notify.BridgeResumed {
			o.unhealthy = 0
		}
	})
	return r, nil
}

// disable stops a bridge because of its target or its configuration.
func (s *Service) disable(b *bridge, reason string) error {
	s.cfg.Log.Warn("a bridge is disabled", zap.String("bridge_id", b.row.Load().BridgeID), zap.String("reason", reason))
	return s.changeBridge(b, notify.BridgeDisabled, bridges.ByServer, func(next *bridges.Bridge, seq int64, at notify.Time) {
		next.State, next.Reason, next.UpdatedSeq, next.UpdatedAt = bridges.Disabled, reason, seq, at
	})
}

// outcome notes what an attempt says of the bridge. Most say nothing new.
func (b *bridge) outcome(s *Service, r bridges.Result, now time.Time) error {
	row := b.row.Load()
	switch {
	case r.Outcome == bridges.Gone && row.Kind == bridges.KindWebhook:
		if row.State == bridges.Active {
			return s.disable(b, bridges.ReasonGone)
		}
	case r.Outcome == bridges.Wait:
		return s.changeBridge(b, "", "", func(next *bridges.Bridge, _ int64, _ notify.Time) { next.HeldUntil = notify.TimeOf(now.Add(waitOf(r))) })
	case r.Outcome == bridges.Delivered:
		if len(row.FailedDays) > 0 || !row.HeldUntil.IsZero() {
			return s.changeBridge(b, "", "", func(next *bridges.Bridge, _ int64, _ notify.Time) {
				next.FailedDays, next.HeldUntil = nil, notify.Time{}
			})
		}
	case r.Unhealthy:
		changed, disable := row.Clone().Failed(now)
		if !changed {
			return nil
		}
		if err := s.changeBridge(b, "", "", func(next *bridges.Bridge, _ int64, _ notify.Time) { next.Failed(now) }); err != nil {
			return err
		}
		if disable && row.State == bridges.Active {
			return s.disable(b, bridges.ReasonFailing)
		}
	}
	return nil
}

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
		s.mu.RLock()
		many := len(s.bridges) >= bridges.MaxBridges
		s.mu.RUnlock()
		switch {
		case s.bridge(c.BridgeID) != nil:
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
		if err := s.writeSecrets(row.BridgeID, row.Generation, c.Secrets); err != nil {
			return u, bridges.BridgeResult{}, fmt.Errorf("keep the secrets of a bridge: %w", err)
		}
		u.Rows = append(u.Rows, row)
		draft(u, notify.BridgeCreated, now, row.Event(bridges.ByClient))
		return u, bridges.BridgeResult{Bridge: *row}, u.Drafts[0].Encode()
	}, s.cfg.Store.Append)
	if err != nil || replayed {
		if row != nil && !errors.Is(err, ledger.ErrStorageFailed) { // of which nobody knows whether it was committed
			_ = s.cfg.Secrets.Remove(row.BridgeID, row.Generation) // else the next start does
		}
		return r, err
	}
	s.addBridge(row).channel.Store(&channel)
	r.Secret = made
	return r, nil
}

// newSecret makes a secret for signatures.
func newSecret() string {
	raw := make([]byte, 32)
	_, _ = rand.Read(raw) // it never fails
	return "whsec_" + base64.StdEncoding.EncodeToString(raw)
}

// changeable finds a bridge that clients may change.
func (s *Service) changeable(id string) (*bridge, error) {
	b := s.bridge(id)
	switch {
	case b == nil:
		return nil, bridges.ErrBridgeNotFound
	case b.row.Load().Configured:
		return nil, bridges.ErrConfigured
	}
	return b, nil
}

// BridgeUpdate changes members of a bridge that are not secret. Errors:
// bridges.ErrBridgeNotFound, bridges.ErrConfigured, *turns.InvalidError.
func (s *Service) BridgeUpdate(_ context.Context, c bridges.UpdateBridge) (bridges.BridgeResult, error) {
	b, err := s.changeable(c.BridgeID)
	if err != nil {
		return bridges.BridgeResult{}, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	var channel bridges.Channel
	r, err := s.changeKeyed(b, c.Key, notify.BridgeUpdated, bridges.ByClient, func(next *bridges.Bridge, seq int64, at notify.Time) (err error) {
		for _, m := range []struct {
			to   *string
			from *string
		}{{&next.URL, c.URL}, {&next.Server, c.Server}, {&next.APIURL, c.APIURL}} {
			if m.from != nil {
				*m.to = *m.from
			}
		}
		if c.OnPause != nil {
			next.OnPause = *c.OnPause
		}
		next.UpdatedSeq, next.UpdatedAt = seq, at
		channel, err = s.channelOf(next)
		return err
	})
	if err == nil && channel != nil {
		b.channel.Store(&channel)
	}
	return r, err
}

// BridgeRotate gives a bridge new secrets. For a day webhooks are signed with both.
// Errors: as BridgeUpdate.
func (s *Service) BridgeRotate(_ context.Context, c bridges.RotateSecret) (bridges.BridgeResult, error) {
	b, err := s.changeable(c.BridgeID)
	if err != nil {
		return bridges.BridgeResult{}, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	made, old := "", b.row.Load()
	var channel bridges.Channel
	r, err := s.changeKeyed(b, c.Key, notify.BridgeRotated, bridges.ByClient, func(next *bridges.Bridge, seq int64, at notify.Time) (err error) {
		secret := c.Secrets
		if next.Kind == bridges.KindWebhook && secret.Secret == "" {
			made = newSecret()
			secret.Secret = made
		}
		next.Previous, next.Generation = next.Generation, max(s.now().UnixNano(), next.Generation+1)
		next.RotatedAt, next.UpdatedAt, next.UpdatedSeq, next.SecretHint = at, at, seq, secret.Hint()
		if next.Reason == bridges.ReasonNoSecret {
			next.State, next.Reason = bridges.Active, ""
		}
		before, err := s.secretsOf(next, next.Previous)
		previous := &before
		if err != nil {
			previous = nil // it was lost; the new one counts
		}
		if channel, err = s.cfg.Open(next, secret, previous); err != nil {
			return err
		}
		return s.writeSecrets(next.BridgeID, next.Generation, secret)
	})
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

// forgetPrevious ends the time in which the secret before a rotation counts.
func (s *Service) forgetPrevious(b *bridge) {
	b.mu.Lock()
	defer b.mu.Unlock()
	row := b.row.Load()
	if row.Previous == 0 || s.now().Before(row.RotatedAt.Add(signBoth)) {
		return
	}
	if _, err := s.changeKeyed(b, nil, "", "", func(next *bridges.Bridge, _ int64, _ notify.Time) error { next.Previous = 0; return nil }); err != nil {
		s.cfg.Log.Error("forget an old secret", zap.String("bridge_id", row.BridgeID), zap.Error(err))
		return
	}
	if channel, err := s.channelOf(b.row.Load()); err == nil {
		b.channel.Store(&channel)
	}
	if err := s.cfg.Secrets.Remove(row.BridgeID, row.Previous); err != nil {
		s.cfg.Log.Error("remove an old secret", zap.String("bridge_id", row.BridgeID), zap.Error(err))
	}
}

// BridgePause stops a bridge. Errors: bridges.ErrBridgeNotFound.
func (s *Service) BridgePause(_ context.Context, c bridges.ChangeBridge) (bridges.BridgeResult, error) {
	b := s.bridge(c.BridgeID)
	if b == nil {
		return bridges.BridgeResult{}, bridges.ErrBridgeNotFound
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return s.changeKeyed(b, c.Key, notify.BridgePaused, bridges.ByClient, func(next *bridges.Bridge, seq int64, at notify.Time) error {
		if next.State != bridges.Paused {
			next.Pause(seq, at, c.Reason)
		}
		return nil
	})
}

// BridgeResume lets a bridge send again that was paused or disabled. Errors:
// bridges.ErrBridgeNotFound, *turns.InvalidError if its secrets are missing.
func (s *Service) BridgeResume(_ context.Context, c bridges.ChangeBridge) (bridges.BridgeResult, error) {
	b := s.bridge(c.BridgeID)
	if b == nil {
		return bridges.BridgeResult{}, bridges.ErrBridgeNotFound
	}
	b.mu.Lock()
	r, err := s.changeKeyed(b, c.Key, notify.BridgeResumed, bridges.ByClient, func(next *bridges.Bridge, seq int64, at notify.Time) error {
		if b.channel.Load() == nil {
			if next.Configured {
				return bridges.ErrConfigured
			}
			channel, err := s.channelOf(next)
			if err != nil {
				return bridges.ErrNoSecret
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
		s.places.set(&b.outlet, func(o *outlet) { o.heldUntil = time.Time{} })
		s.kickBridge(c.BridgeID)
	}
	return r, err
}

// kickBridge looks again at all lanes of a bridge.
func (s *Service) kickBridge(id string) {
	for _, l := range s.all() {
		if l.bridge == s.bridge(id) {
			l.mu.Lock()
			l.kick()
			l.mu.Unlock()
		}
	}
}

// BridgeDelete deletes a bridge. Errors: bridges.ErrBridgeNotFound,
// bridges.ErrConfigured, bridges.ErrInUse if it has subscriptions.
func (s *Service) BridgeDelete(ctx context.Context, c bridges.DeleteBridge) (bridges.BridgeResult, error) {
	s.changing.Lock()
	defer s.changing.Unlock()
	if r, ok, err := ledger.Replay[bridges.BridgeResult](s.cfg.Store, c.Key); ok || err != nil {
		return r, err
	}
	b, err := s.changeable(c.BridgeID)
	if err != nil {
		return bridges.BridgeResult{}, err
	}
	for _, l := range s.all() {
		if l.bridge != b {
			continue
		}
		if !c.Cascade {
			return bridges.BridgeResult{}, bridges.ErrInUse
		}
		if _, err := s.deleteLane(ctx, l, nil, "its bridge was deleted"); err != nil {
			return bridges.BridgeResult{}, err
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	row := b.row.Load()
	r, replayed, err := ledger.Keyed(s.cfg.Store, c.Key, func() (*ledger.Unit, bridges.BridgeResult, error) {
		u := &ledger.Unit{Rows: []ledger.Row{&ledger.Removal{Of: bridges.BridgeTable, Key: []any{row.BridgeID}}}}
		draft(u, notify.BridgeDeleted, s.now(), row.Event(bridges.ByClient))
		return u, bridges.BridgeResult{Bridge: *row}, u.Drafts[0].Encode()
	}, s.cfg.Store.Append)
	if err != nil || replayed {
		return r, err
	}
	s.mu.Lock()
	delete(s.bridges, row.BridgeID)
	s.mu.Unlock()
	for _, generation := range []int64{row.Generation, row.Previous} {
		if generation != 0 {
			if err := s.cfg.Secrets.Remove(row.BridgeID, generation); err != nil {
				s.cfg.Log.Error("remove a secret", zap.String("bridge_id", row.BridgeID), zap.Error(err))
			}
		}
	}
	return r, nil
}

// BridgeTest sends a message that says that it is a test, once. Errors:
// bridges.ErrBridgeNotFound, *turns.InvalidError for a target that does not fit.
func (s *Service) BridgeTest(ctx context.Context, id string, target bridges.Target) (bridges.TestResult, error) {
	b := s.bridge(id)
	if b == nil {
		return bridges.TestResult{}, bridges.ErrBridgeNotFound
	}
	if err := s.cfg.CheckTarget(b.row.Load().Kind, target); err != nil {
		return bridges.TestResult{}, err
	}
	channel := b.channel.Load()
	if channel == nil {
		return bridges.TestResult{Error: b.row.Load().Reason}, nil
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
	r := (*channel).Send(ctx, &bridges.Outgoing{ID: bridges.OutgoingID(s.cfg.LogID, e.DeliveryID), Body: body, Envelope: e, Target: target})
	return bridges.TestResult{
		Delivered: r.Outcome == bridges.Delivered, Status: r.Status, Error: r.Error, LatencyMs: s.now().Sub(now).Milliseconds(),
	}, nil
}
