package config

import "time"

// Config holds every setting, as the program uses it.
type Config struct {
	Listen        []string
	Data          string
	Auth          string
	AllowOrigin   []string
	AllowHost     []string
	TLSCert       string
	TLSKey        string
	BehindProxy   bool
	DefaultThread string // "" means there is none
	LogLevel      string

	DrainTimeout     time.Duration
	InterruptTimeout time.Duration
	Heartbeat        time.Duration
	WriteTimeout     time.Duration

	MaxFrameBytes   int
	MaxInFlight     int
	MaxActiveTurns  int
	MaxWaitingTurns int
	MaxQueue        int
	MaxItemBytes    int
	MaxConnections  int
	TailBytes       int

	Synchronous string
	Retention   Retention
	Pprof       string // path of a unix socket, "" means none

	DefaultAgent string
	// Agents are the configured ones by name. The built-in echo is always
	// there and is listed only if something configures it.
	Agents map[string]Agent
}

// Retention says what may be pruned by itself; zero values keep everything.
type Retention struct {
	MaxAge   time.Duration
	MaxBytes int64
}
