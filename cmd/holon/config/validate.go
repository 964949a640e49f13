package config

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/seed82539d15/holon/internal/limits"
	"github.com/seed82539d15/holon/rpc/admission"
)

// tableName matches the allowed names of agents and other tables: a name is
// part of requests, of keys and of --agent NAME=….
var tableName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// threadID matches a thread_id that a client chooses.
var threadID = tableName

// Validate returns the first error that keeps a server from starting with these
// settings: an *Error with the key, where it was set and what to do.
func (l *Loaded) Validate() error {
	checks := []struct {
		key   string
		check func() error
	}{
		{"data", l.checkData},
		{"auth", func() error { return oneOf(l.Auth, "auto", "token", "none") }},
		{"tls_cert", l.checkTLS},
		{"listen", l.checkListen},
		{"public_url", l.checkPublicURL},
		{"default_thread", l.checkDefaultThread},
		{"log_format", func() error { return oneOf(l.LogFormat, LogAuto, LogText, LogJSON) }},
		{"log_level", func() error { return oneOf(l.LogLevel, "debug", "info", "warn", "error") }},
		{"drain_seconds", func() error { return between(l.DrainTimeout, limits.Drain.Least, limits.Drain.Most) }},
		{"interrupt_seconds", func() error { return between(l.InterruptTimeout, limits.Interrupt.Least, limits.Interrupt.Most) }},
		{"heartbeat_seconds", func() error { return between(l.Heartbeat, limits.Heartbeat.Least, limits.Heartbeat.Most) }},
		{"write_timeout_seconds", func() error { return between(l.WriteTimeout, limits.WriteTimeout.Least, limits.WriteTimeout.Most) }},
		{"max_frame_bytes", l.checkFrame},
		{"max_in_flight", func() error { return within(l.MaxInFlight, limits.InFlight.Least, limits.InFlight.Most) }},
		{"max_active_turns", func() error { return within(l.MaxActiveTurns, limits.ActiveTurns.Least, limits.ActiveTurns.Most) }},
		{"max_waiting_turns", func() error { return within(l.MaxWaitingTurns, limits.WaitingTurns.Least, limits.WaitingTurns.Most) }},
		{"max_processes", func() error { return within(l.MaxProcesses, limits.Processes.Least, limits.Processes.Most) }},
		{"max_queue", func() error { return within(l.MaxQueue, limits.QueuedTurns.Least, limits.QueuedTurns.Most) }},
		{"max_item_bytes", func() error { return within(l.MaxItemBytes, limits.ItemBytes.Least, limits.ItemBytes.Most) }},
		{"max_connections", func() error { return within(l.MaxConnections, limits.Connections.Least, limits.Connections.Most) }},
		{"tail_bytes", func() error { return within(l.TailBytes, limits.TailBytes.Least, limits.TailBytes.Most) }},
		{"max_pending_items", func() error { return within(l.MaxPendingItems, limits.PendingItems.Least, limits.PendingItems.Most) }},
		{"max_unacked_items", func() error { return within(l.MaxUnackedItems, limits.UnackedItems.Least, limits.UnackedItems.Most) }},
		{"max_unacked_bytes", func() error { return within(l.MaxUnackedBytes, limits.UnackedBytes.Least, limits.UnackedBytes.Most) }},
		{"max_timers", func() error { return within(l.MaxTimers, limits.Timers.Least, limits.Timers.Most) }},
		{"max_inbox_subscriptions", func() error {
			return within(l.MaxInboxSubscriptions, limits.InboxSubscriptions.Least, limits.InboxSubscriptions.Most)
		}},
		{"inbox_retention_days", func() error {
			return betweenDays(l.InboxRetention, limits.InboxRetention.Least, limits.InboxRetention.Most)
		}},
		{"dedupe_days", func() error { return betweenDays(l.Dedupe, limits.Dedupe.Least, limits.Dedupe.Most) }},
		{"max_lane_lag_days", func() error { return betweenDays(l.MaxLaneLag, limits.LaneLag.Least, limits.LaneLag.Most) }},
		{"synchronous", func() error { return oneOf(l.Synchronous, "full", "normal") }},
		{"pprof", l.checkPprof},
	}
	for _, c := range checks {
		if err := c.check(); err != nil {
			return &Error{Key: c.key, Source: l.Sources[c.key], Text: err.Error()}
		}
	}
	for _, s := range sorts {
		if err := s.validate(l); err != nil {
			return err
		}
	}
	return firstOf(l.checkInboxes(), l.checkChildAgents(), l.CheckDefaultAgent())
}

// CheckName returns an error if a table, such as an agent's, must not have this
// name.
func CheckName(name string) error {
	if !tableName.MatchString(name) {
		return fmt.Errorf("a name has 1 to 64 of A-Z, a-z, 0-9, _ and -")
	}
	return nil
}

func (l *Loaded) checkData() error {
	if l.Data == "" {
		return fmt.Errorf("there is no home directory to keep it in; give --data DIR")
	}
	return nil
}

func (l *Loaded) checkTLS() error {
	if (l.TLSCert == "") != (l.TLSKey == "") {
		return fmt.Errorf("tls_cert and tls_key go together; give both or neither")
	}
	return nil
}

// checkListen checks every listener against the admission rules.
func (l *Loaded) checkListen() error {
	if len(l.Listen) == 0 {
		return fmt.Errorf("give at least one, such as 127.0.0.1:8080")
	}
	seen := map[string]bool{}
	for _, listen := range l.Listen {
		if seen[listen] {
			return fmt.Errorf("%s is given twice", listen)
		}
		seen[listen] = true
		if listen == "stdio" {
			continue
		}
		kind, err := admission.KindOf(listen)
		if err != nil {
			return err
		}
		policy := admission.Policy{
			Mode: admission.Mode(l.Auth), Listen: listen, Kind: kind, TLS: l.TLSCert != "",
			BehindProxy: l.BehindProxy, AllowOrigins: l.AllowOrigin, AllowHosts: l.AllowHost,
		}
		if err := policy.Check(); err != nil {
			return err
		}
	}
	return nil
}

func (l *Loaded) checkDefaultThread() error {
	if l.DefaultThread != "" && !threadID.MatchString(l.DefaultThread) {
		return fmt.Errorf("%s is no thread id; use 1 to 64 of A-Z, a-z, 0-9, _ and -", quote(l.DefaultThread))
	}
	return nil
}

// checkFrame ensures that a frame can hold a page of a list (1 MiB and one
// row), the input of a worker's turn (turns.MaxWorkerInput), and an item's
// whole content with the rest of its event.
func (l *Loaded) checkFrame() error {
	if err := within(l.MaxFrameBytes, limits.FrameBytes.Least, limits.FrameBytes.Most); err != nil {
		return err
	}
	if l.MaxFrameBytes < 2*l.MaxItemBytes {
		return fmt.Errorf("%d is less than twice max_item_bytes (%d), so an item would not fit into a frame; raise this one or lower the other", l.MaxFrameBytes, l.MaxItemBytes)
	}
	return nil
}

func (l *Loaded) checkPprof() error {
	if l.Pprof != "" && !filepath.IsAbs(strings.TrimPrefix(l.Pprof, "unix:")) {
		return fmt.Errorf("%s is no absolute path; profiles are served on a unix socket only", quote(l.Pprof))
	}
	return nil
}

func within[N int | int64](n, least, most N) error {
	if n < least || n > most {
		return fmt.Errorf("give a number from %d to %d, not %d", least, most, n)
	}
	return nil
}

func betweenDays(d, least, most time.Duration) error {
	if d < least || d > most {
		const day = 24 * time.Hour
		return fmt.Errorf("give a number from %g to %g, not %g", float64(least)/float64(day), float64(most)/float64(day), float64(d)/float64(day))
	}
	return nil
}

func between(d, least, most time.Duration) error {
	if d < least || d > most {
		return fmt.Errorf("give a number from %g to %g, not %g", least.Seconds(), most.Seconds(), d.Seconds())
	}
	return nil
}
