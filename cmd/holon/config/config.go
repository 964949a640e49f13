package config

import (
	"time"

	"github.com/seed82539d15/holon/inbox"
)

// Config holds every setting in the form that the program uses.
type Config struct {
	Listen        []string
	Data          string
	Auth          string
	AllowOrigin   []string
	AllowHost     []string
	TLSCert       string
	TLSKey        string
	BehindProxy   bool
	Console       bool
	PublicURL     string // as given; see ConsoleURL
	DefaultThread string // "" means there is none
	LogLevel      string
	LogFormat     string // auto, text or json

	DrainTimeout     time.Duration
	InterruptTimeout time.Duration
	Heartbeat        time.Duration
	WriteTimeout     time.Duration

	MaxFrameBytes   int
	MaxInFlight     int
	MaxActiveTurns  int
	MaxWaitingTurns int
	MaxQueue        int
	MaxProcesses    int // of all agents; 0: as many as half of the memory allows
	MaxItemBytes    int
	MaxConnections  int
	TailBytes       int

	// Of each inbox.
	MaxPendingItems       int
	MaxUnackedItems       int
	MaxUnackedBytes       int64
	MaxTimers             int
	MaxInboxSubscriptions int
	InboxRetention        time.Duration
	Dedupe                time.Duration
	Inbox                 inbox.Policy // where neither the thread nor its agent says otherwise

	MaxLaneLag time.Duration // how long retention waits for what follows the log

	Synchronous string
	Retention   Retention
	Pprof       string // path of a unix socket, "" means none

	DefaultAgent string
	// Agents are the configured agents by name. The built-in echo always exists
	// and is listed only if it is configured.
	Agents map[string]Agent
	// Sources are the configured sources of webhooks by name. Loaded hides them
	// behind its own Sources: write loaded.Config.Sources.
	Sources map[string]WebhookSource
	// Bridges are the configured bridges by name.
	Bridges map[string]Bridge
}

// The values of LogFormat.
const (
	LogAuto = "auto" // text on a terminal, else JSON
	LogText = "text"
	LogJSON = "json"
)

// Retention says which events the server prunes on its own; zero values keep
// everything.
type Retention struct {
	MaxAge   time.Duration
	MaxBytes int64
}
