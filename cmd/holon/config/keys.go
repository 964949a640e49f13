package config

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seed82539d15/holon/internal/limits"
)

// Key is one key of a C: of the settings (Config), or of a named table.
type Key[C any] struct {
	// Name is the key in the file; in a setting's name a dot separates table
	// and key.
	Name string
	Type Type
	// Help is one line, without a full stop.
	Help string
	// Common settings are flags of every subcommand, the others only of serve
	// and config.
	Common bool
	// Kinds are the kinds of table that have the key; none means all.
	Kinds []string

	optional bool // in a named table: it is shown only if it is given

	set func(*C, raw) error
	get func(*C) any
}

// Setting is a key that is also a flag and a variable.
type Setting = Key[Config]

// Flag returns the flag's name without dashes: max-frame-bytes.
func (k Key[C]) Flag() string { return strings.NewReplacer("_", "-", ".", "-").Replace(k.Name) }

// Env returns the variable's name: HOLON_MAX_FRAME_BYTES.
func (k Key[C]) Env() string {
	return "HOLON_" + strings.ToUpper(strings.ReplaceAll(k.Name, ".", "_"))
}

// Value returns the key's value in c, in a form for JSON.
func (k Key[C]) Value(c *C) any { return k.get(c) }

// isOf reports whether a table of this kind has the key.
func (k Key[C]) isOf(kind string) bool { return len(k.Kinds) == 0 || slices.Contains(k.Kinds, kind) }

// of limits the key to these kinds of table.
func (k Key[C]) of(kinds ...string) Key[C] { k.Kinds = kinds; return k }

// Keys is the table of all settings except the tables that users name. The
// order is that of the documentation.
var Keys = slices.Concat([]Setting{
	list("listen", "where to listen: HOST:PORT, unix:PATH or stdio; repeatable", func(c *Config) *[]string { return &c.Listen }),
	common(text("data", "the directory of the log, the token and all other files of the server", func(c *Config) *string { return &c.Data })),
	text("auth", "who needs the token: auto (not the server's own user on this machine), token (everybody), none (nobody)", func(c *Config) *string { return &c.Auth }),
	list("allow_origin", "further web origins that may call, such as https://console.example.com; repeatable", func(c *Config) *[]string { return &c.AllowOrigin }),
	list("allow_host", "further names in the Host header, such as holon.example.com; repeatable", func(c *Config) *[]string { return &c.AllowHost }),
	text("tls_cert", "file of the certificate, PEM", func(c *Config) *string { return &c.TLSCert }),
	text("tls_key", "file of the certificate's key, PEM", func(c *Config) *string { return &c.TLSKey }),
	boolean("behind_proxy", "a proxy in front does TLS, so a non-loopback listener needs no certificate", func(c *Config) *bool { return &c.BehindProxy }),
	boolean("console", "serve the console in the browser at / of every listener that is not a unix socket", func(c *Config) *bool { return &c.Console }),
	text("public_url", "the address under which browsers reach the console, such as https://holon.example.com: messages of bridges link to it; empty for none", func(c *Config) *string { return &c.PublicURL }),
	text("default_thread", "a thread that exists from the start and takes turns without a thread_id; empty for none", func(c *Config) *string { return &c.DefaultThread }),
	text("log_format", "of all that serve writes to stderr: text (lines for people), json (an object for each line) or auto (text on a terminal)", func(c *Config) *string { return &c.LogFormat }),
	text("log_level", "debug, info, warn or error", func(c *Config) *string { return &c.LogLevel }),
	seconds("drain_seconds", "how long running turns may continue after SIGTERM", func(c *Config) *time.Duration { return &c.DrainTimeout }),
	seconds("interrupt_seconds", "how long an agent may take to stop before it is killed", func(c *Config) *time.Duration { return &c.InterruptTimeout }),
	seconds("heartbeat_seconds", "silence on a stream before a heartbeat", func(c *Config) *time.Duration { return &c.Heartbeat }),
	seconds("write_timeout_seconds", "how long one write to a client may take before its stream is closed", func(c *Config) *time.Duration { return &c.WriteTimeout }),
	size("max_frame_bytes", "the longest line taken or sent", func(c *Config) *int { return &c.MaxFrameBytes }),
	number("max_in_flight", "requests in flight on one connection before the server stops reading it", func(c *Config) *int { return &c.MaxInFlight }),
	number("max_active_turns", "turns that run at once, over all threads; those that wait for a person do not count", func(c *Config) *int { return &c.MaxActiveTurns }),
	number("max_waiting_turns", "turns that wait for a person without counting as running", func(c *Config) *int { return &c.MaxWaitingTurns }),
	number("max_processes", "processes of agents at once, over all agents; 0 for as many as half of the memory allows", func(c *Config) *int { return &c.MaxProcesses }),
	number("max_queue", "turns that wait in one thread", func(c *Config) *int { return &c.MaxQueue }),
	size("max_item_bytes", "an item's content before it is cut to head and tail", func(c *Config) *int { return &c.MaxItemBytes }),
	number("max_connections", "connections at once, over all listeners", func(c *Config) *int { return &c.MaxConnections }),
	size("tail_bytes", "newest events kept in memory for streams", func(c *Config) *int { return &c.TailBytes }),
	number("max_pending_items", "raw items of one inbox that wait in digests", func(c *Config) *int { return &c.MaxPendingItems }),
	number("max_unacked_items", "raw items of one inbox that are not acknowledged", func(c *Config) *int { return &c.MaxUnackedItems }),
	size64("max_unacked_bytes", "the size of the items of one inbox that are not acknowledged", func(c *Config) *int64 { return &c.MaxUnackedBytes }),
	number("max_timers", "timers of one thread", func(c *Config) *int { return &c.MaxTimers }),
	number("max_inbox_subscriptions", "sources that are connected to one inbox", func(c *Config) *int { return &c.MaxInboxSubscriptions }),
	days("inbox_retention_days", "how long acknowledged items of inboxes are kept", func(c *Config) *time.Duration { return &c.InboxRetention }),
	days("dedupe_days", "how long ids of items are remembered, so that a repetition is not stored again", func(c *Config) *time.Duration { return &c.Dedupe }),
}, inboxSettings(), []Setting{
	days("max_lane_lag_days", "how long events are kept for a subscription that has not taken them, beyond the retention", func(c *Config) *time.Duration { return &c.MaxLaneLag }),
	text("synchronous", "full survives power loss; normal is faster and may lose the last changes then", func(c *Config) *string { return &c.Synchronous }),
	days("retention.max_age_days", "prune events older than this; 0 keeps all", func(c *Config) *time.Duration { return &c.Retention.MaxAge }),
	size64("retention.max_bytes", "prune the oldest events when the log is larger; 0 keeps all", func(c *Config) *int64 { return &c.Retention.MaxBytes }),
	text("pprof", "path of a unix socket that serves profiles; empty for none", func(c *Config) *string { return &c.Pprof }),
	text("default_agent", "the agent of threads that name none", func(c *Config) *string { return &c.DefaultAgent }),
})

// lookup finds a key by name.
func lookup[C any](keys []Key[C], name string) (Key[C], bool) {
	i := slices.IndexFunc(keys, func(k Key[C]) bool { return k.Name == name })
	if i < 0 {
		return Key[C]{}, false
	}
	return keys[i], true
}

func keyNames[C any](keys []Key[C]) []string {
	names := make([]string, len(keys))
	for i, key := range keys {
		names[i] = key.Name
	}
	return names
}

// Defaults returns the settings of a machine where nothing is configured.
func Defaults() *Config {
	return &Config{
		Listen:      []string{"127.0.0.1:8080"},
		Data:        defaultData(),
		Auth:        "auto",
		AllowOrigin: []string{},
		AllowHost:   []string{},
		Console:     true,
		LogLevel:    "info",
		LogFormat:   LogAuto,

		DrainTimeout:     limits.Drain.Default,
		InterruptTimeout: limits.Interrupt.Default,
		Heartbeat:        limits.Heartbeat.Default,
		WriteTimeout:     limits.WriteTimeout.Default,

		MaxFrameBytes:   limits.FrameBytes.Default,
		MaxInFlight:     limits.InFlight.Default,
		MaxActiveTurns:  limits.ActiveTurns.Default,
		MaxWaitingTurns: limits.WaitingTurns.Default,
		MaxQueue:        limits.QueuedTurns.Default,
		MaxProcesses:    limits.Processes.Default,
		MaxItemBytes:    limits.ItemBytes.Default,
		MaxConnections:  limits.Connections.Default,
		TailBytes:       limits.TailBytes.Default,

		MaxPendingItems:       limits.PendingItems.Default,
		MaxUnackedItems:       limits.UnackedItems.Default,
		MaxUnackedBytes:       limits.UnackedBytes.Default,
		MaxTimers:             limits.Timers.Default,
		MaxInboxSubscriptions: limits.InboxSubscriptions.Default,
		InboxRetention:        limits.InboxRetention.Default,
		Dedupe:                limits.Dedupe.Default,
		MaxLaneLag:            limits.LaneLag.Default,

		Synchronous:  "full",
		DefaultAgent: KindEcho,
		Agents:       map[string]Agent{},
		Sources:      map[string]WebhookSource{},
		Bridges:      map[string]Bridge{},
	}
}

// defaultData returns <XDG state>/holon. Without a home directory it stays empty
// and Validate asks for --data.
func defaultData() string {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "holon")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".local", "state", "holon")
}

// defaultFile returns <XDG config>/holon/config.toml, "" without a home directory.
func defaultFile() string {
	dir, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "holon", "config.toml")
}

func common(k Setting) Setting { k.Common = true; return k }

// entry makes a Key from functions that read and show its values.
func entry[C, T any](name string, kind Type, help string, at func(*C) *T, read func(raw) (T, error), show func(T) any) Key[C] {
	return Key[C]{
		Name: name, Type: kind, Help: help,
		set: func(c *C, v raw) error {
			value, err := read(v)
			if err != nil {
				return err
			}
			*at(c) = value
			return nil
		},
		get: func(c *C) any { return show(*at(c)) },
	}
}

func same[T any](v T) any { return v }

func text[C any](name, help string, at func(*C) *string) Key[C] {
	return entry(name, Text, help, at, asText, same)
}

func list[C any](name, help string, at func(*C) *[]string) Key[C] {
	return entry(name, List, help, at, asList, same)
}

// command returns a list of words, or one line that is split into them.
func command[C any](name, help string, at func(*C) *[]string) Key[C] {
	return entry(name, List, help, at, asCommand, same)
}

// secrets returns a table of texts. Only its names are shown, because the values may
// be secrets.
func secrets[C any](name, help string, at func(*C) *map[string]string) Key[C] {
	return entry(name, Table, help, at, asTexts, func(v map[string]string) any { return slices.Sorted(maps.Keys(v)) })
}

func boolean[C any](name, help string, at func(*C) *bool) Key[C] {
	return entry(name, Bool, help, at, asBool, same)
}

func number[C any](name, help string, at func(*C) *int) Key[C] {
	return entry(name, Number, help, at, func(v raw) (int, error) { return toInt(asNumber(v)) }, same)
}

func size[C any](name, help string, at func(*C) *int) Key[C] {
	return entry(name, Size, help, at, func(v raw) (int, error) { return toInt(asSize(v)) }, same)
}

func size64[C any](name, help string, at func(*C) *int64) Key[C] {
	return entry(name, Size, help, at, asSize, same)
}

func seconds[C any](name, help string, at func(*C) *time.Duration) Key[C] {
	return entry(name, Seconds, help, at,
		func(v raw) (time.Duration, error) { return asDuration(v, time.Second, "seconds") },
		func(d time.Duration) any { return d.Seconds() })
}

func days[C any](name, help string, at func(*C) *time.Duration) Key[C] {
	return entry(name, Days, help, at,
		func(v raw) (time.Duration, error) { return asDuration(v, 24*time.Hour, "days") },
		func(d time.Duration) any { return d.Hours() / 24 })
}

// toInt narrows a number to an int that is safe on every machine.
func toInt(n int64, err error) (int, error) {
	if err != nil {
		return 0, err
	}
	if n != int64(int32(n)) {
		return 0, fmt.Errorf("%d is out of range; the largest is 2147483647", n)
	}
	return int(n), nil
}
