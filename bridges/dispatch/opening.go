package dispatch

import (
	"errors"
	"fmt"

	"go.uber.org/zap"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
)

// opening is what happens to bridges at the start.
type opening struct{ s *Service }

// bridges makes the channels, takes in the bridges of the configuration, and
// pauses everything if the log was restored from a backup. It removes secrets that
// no row names.
func (o opening) bridges() error {
	s := o.s
	named := map[string]map[int64]bool{}
	configured := map[string]Configured{}
	for _, c := range s.cfg.Configured {
		configured[c.Bridge.BridgeID] = c
	}
	for id, b := range s.known.bridges {
		row := b.row.Load()
		named[id] = map[int64]bool{row.Generation: true, row.Previous: true}
		_, still := configured[id]
		if err := o.bridge(b, row, still); err != nil {
			return fmt.Errorf("bridge %s: %w", id, err)
		}
	}
	for id, c := range configured {
		if err := o.configure(id, c); err != nil {
			return fmt.Errorf("bridges.%s: %w", id, err)
		}
	}
	_, err := s.cfg.Secrets.Keep(func(id string, generation int64) bool { return named[id][generation] })
	if err != nil {
		s.cfg.Log.Error("remove secrets that nothing names", zap.Error(err))
	}
	return nil
}

// bridge brings a stored bridge up to date at the start.
func (o opening) bridge(b *bridge, row *bridges.Bridge, configured bool) error {
	s := o.s
	if row.LogID != s.cfg.LogID {
		if err := b.change(s, notify.BridgePaused, bridges.ByServer, func(next *bridges.Bridge, seq int64, at notify.Time) {
			next.LogID = s.cfg.LogID
			next.Pause(seq, at, bridges.ReasonRestored)
		}); err != nil {
			return err
		}
	}
	active := b.row.Load().State == bridges.Active // one that is paused stays so: nothing is sent without bridge/resume
	if row.Configured {
		if configured || !active {
			return nil
		}
		return b.disable(s, bridges.ReasonNotConfigured)
	}
	channel, err := s.vault.channel(b.row.Load())
	if err != nil {
		s.cfg.Log.Error("open a bridge", zap.String("bridge_id", row.BridgeID), zap.Error(err))
		if !active {
			return nil
		}
		return b.disable(s, bridges.ReasonNoSecret)
	}
	b.channel.Store(&channel)
	return nil
}

// configure creates or updates a bridge of the configuration.
func (o opening) configure(id string, c Configured) error {
	s := o.s
	b := s.known.bridges[id]
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
		s.known.add(&row).channel.Store(&c.Channel)
		return nil
	}
	b.channel.Store(&c.Channel)
	row := b.row.Load()
	switch {
	case !row.Configured:
		return errors.New("a bridge of this name was created by a client: use another name, or delete that one")
	case row.State == bridges.Disabled && row.Reason == bridges.ReasonNotConfigured:
	case row.Kind == c.Bridge.Kind && row.Settings.Equal(c.Bridge.Settings) && row.OnPause == c.Bridge.OnPause && row.SecretHint == c.Bridge.SecretHint:
		return nil
	}
	return b.change(s, notify.BridgeUpdated, bridges.ByServer, func(next *bridges.Bridge, seq int64, at notify.Time) {
		next.Kind, next.Settings, next.SecretHint = c.Bridge.Kind, c.Bridge.Settings, c.Bridge.SecretHint
		next.SetOnPause(c.Bridge.OnPause, seq)
		next.UpdatedSeq, next.UpdatedAt = seq, at
		if next.Reason == bridges.ReasonNotConfigured {
			next.State, next.Reason = bridges.Active, ""
		}
	})
}
