package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/seed82539d15/holon/agents/acp"
	"github.com/seed82539d15/holon/agents/process"
	"github.com/seed82539d15/holon/api/logring"
	"github.com/seed82539d15/holon/cmd/holon/config"
	"github.com/seed82539d15/holon/cmd/holon/servers"
	"github.com/seed82539d15/holon/console"
	"github.com/seed82539d15/holon/engine"
	"github.com/seed82539d15/holon/hooks"
	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/internal/worktree"
	"github.com/seed82539d15/holon/persist/sqlite"
	"github.com/seed82539d15/holon/rpc"
	"github.com/seed82539d15/holon/rpc/admission"
	"github.com/seed82539d15/holon/rpc/client"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/tokens"
	"github.com/seed82539d15/holon/turns"
)

// gcPercent is GOGC of a daemon, unless the environment has one. A server with much to
// do makes garbage and keeps little: collecting it half as often saves a twentieth of
// its processor time, and costs as much memory again as it keeps.
const gcPercent = 200

// recordsDir is the directory of the records of agents' processes. A server makes it once
// it has a log, and nobody else does.
const recordsDir = "processes"

// Options are the configuration and the environment of a daemon.
type Options struct {
	Config  *config.Config
	Version string
	Commit  string // from which the program was built; "" = not known
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  *Stderr         // for the log and for lines for people; the caller closes it
	Stop    <-chan struct{} // closed to stop in order: SIGTERM

	// Descriptors is how many file descriptors the process may have open, which bounds
	// its connections; 0 = enough for max_connections.
	Descriptors int
	// Memory is how much memory the server and its agents may use, in bytes: the default of
	// max_processes; 0 = not known.
	Memory int64
	// Servers is the registry that names the server while it runs; "" = none.
	Servers servers.Registry
	// Text says that Stderr gets lines for people; otherwise each line is a JSON object.
	Text bool
	// Welcome says, with Text, that a person reads Stderr on a terminal, and is told what to do next.
	// It is the command line with which the program was started, without the program;
	// nil = nobody reads it.
	Welcome []string
	// AskedForLog says that this person has set the level of the log. Else the terminal
	// gets only what needs attention, warnings and errors.
	AskedForLog bool

	// DataByDefault says that nobody has named the data directory of Config.
	DataByDefault bool

	// OnAgents, if not nil, receives a function that kills the processes of all
	// agents, for a stop that does not wait for the drain. That function may be
	// called at any time.
	OnAgents func(kill func())
}

// UsageError is an invalid configuration: exit code 2.
type UsageError struct{ Err error }

// Error implements error.
func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *UsageError) Unwrap() error { return e.Err }

// daemon holds the parts of one run.
type daemon struct {
	Options
	cfg        *config.Config
	log        *zap.Logger
	logs       *logring.Ring
	store      *sqlite.Store
	agents     *agents
	inboxes    *inboxMetrics
	turns      *turnMetrics
	hooks      *hooks.Handler
	engine     *engine.Engine
	deliveries *deliveries
	worktrees  *worktree.Cache
	wire       *rpc.Server
	console    *console.Console // nil: none
	metrics    http.Handler
	listeners  []*listener
	pprof      *listener // nil: none
	startedAt  time.Time
	leftOut    []string // names of variables that are not passed on

	token       admission.Token // the server's own
	tokens      *tokens.Service // named and console tokens, codes
	agentTokens *tokens.AgentTokens
}

// Run serves until Stop is closed and the drain is over, or until ctx is done,
// which stops at once. It returns nil after an orderly stop.
func Run(ctx context.Context, o Options) (err error) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	// What this process starts must not inherit its access to another server, nor what is
	// true only where it was started.
	leftOut, err := process.Disown()
	if err != nil {
		return err
	}
	d := &daemon{Options: o, cfg: o.Config, startedAt: time.Now(), leftOut: leftOut, inboxes: newInboxMetrics()}
	d.worktrees = worktree.New(filepath.Join(d.cfg.Data, "git"))
	d.agentTokens = tokens.NewAgentTokens(func(ctx context.Context) ([]byte, error) { return d.store.Reader().LeaseSecret(ctx) })
	if err := d.checkListeners(); err != nil {
		return &UsageError{err}
	}
	d.logs = logring.New(logring.DefaultLines)
	if d.log, err = d.newLogger(d.logs); err != nil {
		return &UsageError{err}
	}
	// Libraries, such as net/http, have a logger that writes to stderr itself.
	restore, err := zap.RedirectStdLogAt(d.log.Named("go"), zap.WarnLevel)
	if err != nil {
		return err
	}
	defer restore()

	observed := newStoreMetrics(d.log)
	d.store, err = sqlite.Open(sqlite.Options{
		Dir: d.cfg.Data, Normal: d.cfg.Synchronous == "normal", TailBytes: d.cfg.TailBytes, Observer: observed.observer(), Migrating: d.logMigration,
		Beside: []string{recordsDir},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.store.Close()) }()
	if info, err := os.Stat(d.cfg.Data); err == nil && info.Mode().Perm()&0o077 != 0 {
		d.log.Warn("others can read the data directory: chmod 700 it", zap.String("data", d.cfg.Data))
	}
	if d.token, err = admission.LoadOrCreateToken(d.cfg.Data); err != nil {
		return err
	}
	records, err := process.OpenRecords(filepath.Join(d.cfg.Data, recordsDir))
	if err != nil {
		return err
	}
	// Before anything starts: processes of a killed server must not continue.
	if _, err := records.EndSurvivors(ctx, d.log.Named("agents")); err != nil {
		d.log.Error("end processes that the last run left running", zap.Error(err))
	}
	most := cmp.Or(d.cfg.MaxProcesses, acp.DefaultProcesses(d.Memory))
	d.log.Info("processes of agents at once", zap.Int("max_processes", most), zap.Int64("memory_bytes", d.Memory))
	if d.agents, err = newAgents(d.cfg, d.Version, acp.NewRoom(most), records, d.agentTokens, d.log.Named("agents")); err != nil {
		return &UsageError{err}
	}
	d.turns = newTurnMetrics(d.agents.list)
	if d.engine, err = engine.New(d.engineConfig(), d.store, d.store.Reader(), d.agents.list, d.log.Named("turns")); err != nil {
		return &UsageError{err}
	}
	if o.OnAgents != nil {
		o.OnAgents(d.kill)
	}

	if d.hooks, err = d.newHooks(); err != nil {
		return &UsageError{err}
	}
	if d.deliveries, err = newDeliveries(d.cfg, records); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.deliveries.close()) }()

	// The store outlives everything that writes to it.
	storeCtx, stopStore := context.WithCancel(context.WithoutCancel(ctx))
	storeDone := make(chan error, 1)
	go func() { storeDone <- d.store.Run(storeCtx) }()
	defer func() {
		stopStore()
		err = errors.Join(err, <-storeDone)
	}()
	return d.serve(ctx, observed)
}

// logMigration logs that the database gets a newer schema: a large one takes minutes, and an
// older program does not open it afterwards.
func (d *daemon) logMigration(m sqlite.Migration) {
	fields := []zap.Field{zap.Int("from_schema", m.From), zap.Int("to_schema", m.To), zap.String("copy", m.Copy)}
	if m.Took == 0 {
		d.log.Warn("migrating the database; it is copied before", fields...)
		return
	}
	d.log.Warn("the database is migrated", append(fields, zap.Duration("took", m.Took))...)
}

// kill ends the processes of all agents. How they end then is no end of their turns.
func (d *daemon) kill() {
	d.engine.Leave()
	d.agents.kill()
}

func (d *daemon) serve(ctx context.Context, observed *storeMetrics) error {
	began := time.Now()
	if err := d.engine.Recover(ctx); err != nil {
		return fmt.Errorf("recover from the last run: %w", err)
	}
	d.log.Info("recovered", zap.Duration("took", time.Since(began)))
	if name := d.cfg.DefaultThread; name != "" {
		switch _, err := d.engine.StartThread(ctx, turns.StartThread{ThreadID: name}); {
		case errors.Is(err, threads.ErrClosed):
			// A client has closed it; that must not keep the server from starting.
			d.log.Warn("the default thread is closed: turns without a thread_id are refused; name another with --default-thread", zap.String("thread_id", name))
		case err != nil:
			return fmt.Errorf("start the default thread %s: %w", name, err)
		}
	}
	followers, err := d.followLog(ctx)
	if err != nil {
		return err
	}
	if err := d.openDeliveries(ctx, followers); err != nil {
		return err
	}
	if d.tokens, err = openTokens(ctx, d.store); err != nil {
		return err
	}
	if err := d.newWire(ctx, observed); err != nil {
		return err
	}
	if err := d.listen(); err != nil {
		return err
	}
	defer d.closeListeners()
	d.setOwn()

	if err := d.openPprof(); err != nil {
		return err
	}
	// Before anything runs: queued turns start at once, and their processes get
	// the address. Clients wait until the listeners are served.
	if err := d.announce(); err != nil {
		return err
	}
	defer d.withdraw()

	// The serving goroutines end when runCtx is cancelled, after the drain.
	runCtx, stopRun := context.WithCancel(context.WithoutCancel(ctx))
	defer stopRun()
	group, runCtx := errgroup.WithContext(runCtx)
	group.Go(func() error { return d.engine.Run(runCtx) })
	group.Go(func() error { return d.retain(runCtx) })
	group.Go(func() error { return d.tokens.Run(runCtx) })
	group.Go(func() error { return d.readWorktrees(runCtx) })
	group.Go(func() error { return d.deliver(runCtx, followers) })
	stdioEnded := d.serveListeners(runCtx, group)
	d.servePprof(runCtx, group)

	select {
	case <-d.Stop:
	case <-stdioEnded:
	case <-runCtx.Done(): // something failed
	case <-ctx.Done():
	}
	if ctx.Err() == nil && runCtx.Err() == nil {
		d.drain(ctx)
	}
	stopRun()
	d.closeListeners()
	err = group.Wait()
	d.agents.close()
	if d.Welcome != nil && ctx.Err() == nil {
		d.say("Stopped.")
	}
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	return err
}

// readWorktrees reads what is shown of directories. A server without it is complete.
func (d *daemon) readWorktrees(ctx context.Context) error {
	if err := d.worktrees.Run(ctx); err != nil {
		d.log.Warn("git: branches and changed lines are not shown", zap.Error(err))
	}
	return nil
}

// The drain takes at most 8 s if drain_seconds is 6: running turns are stopped,
// then streams get the last events and stream/closing. After it agents get up
// to 7 s to end their processes: 3 s from the end of their input to TERM, 3 s
// from there to KILL. Meanwhile deliveries under way get drain_seconds: the ends
// that the drain has made are among them.
const (
	drainGrace = 1500 * time.Millisecond
	closeGrace = 500 * time.Millisecond
)

func (d *daemon) drain(ctx context.Context) {
	d.log.Info("stopping: new turns are refused, running ones may end", zap.Duration("within", d.cfg.DrainTimeout))
	if d.Welcome != nil {
		d.say("\nStopping; running turns get %s to end. Ctrl-C again stops at once.", d.cfg.DrainTimeout)
	}
	before, err := d.store.Reader().Position(ctx)
	if err != nil {
		d.log.Warn("what the stop cuts off cannot be listed", zap.Error(err))
	}
	if err := d.engine.Drain(ctx); err != nil {
		d.log.Warn("some turns did not end in time; the next start ends them", zap.Error(err))
	}
	if err == nil {
		sayLeft(ctx, d, before.Latest, "left for the next start: ")
	}
	closeCtx, cancel := context.WithTimeout(ctx, closeGrace)
	defer cancel()
	if err := d.wire.Close(closeCtx, rpc.Closing{
		Code: "server_stopping", Reason: "the server is stopping", Reconnect: true, RetryAfter: time.Second,
	}); err != nil {
		d.log.Warn("some streams did not take their last line", zap.Error(err))
	}
	d.log.Info("stopped", zap.Duration("after", time.Since(d.startedAt).Round(time.Millisecond)))
}

func (d *daemon) engineConfig() engine.Config {
	return engine.Config{
		DefaultAgent:    d.cfg.DefaultAgent,
		MaxActiveTurns:  d.cfg.MaxActiveTurns,
		MaxWaitingTurns: d.cfg.MaxWaitingTurns,
		MaxQueue:        d.cfg.MaxQueue,
		MaxItemBytes:    d.cfg.MaxItemBytes,
		InterruptAfter:  d.cfg.InterruptTimeout,
		DrainAfter:      d.cfg.DrainTimeout,
		DrainGrace:      drainGrace,
		Inbox: inbox.Bounds{
			MaxPendingItems: d.cfg.MaxPendingItems, MaxUnackedItems: d.cfg.MaxUnackedItems, MaxUnackedBytes: d.cfg.MaxUnackedBytes,
			MaxTimers: d.cfg.MaxTimers, MaxSubscriptions: d.cfg.MaxInboxSubscriptions,
		},
		InboxDefaults:  inboxDefaults(d.cfg),
		InboxRetention: d.cfg.InboxRetention,
		DedupeFor:      d.cfg.Dedupe,
		ObserveInbox:   d.inboxes.observe,
		ObserveTurns:   d.turns.observe,
		Reviews:        reviewRules(d.cfg),
	}
}

// withdraw removes server.json and the entry of the registry, if they are still this
// server's.
func (d *daemon) withdraw() {
	if err := d.Servers.Remove(d.cfg.Data); err != nil {
		d.log.Warn("remove the entry of this server", zap.Error(err))
	}
	if r, err := client.ReadServerFile(d.cfg.Data); err != nil || r.PID != os.Getpid() {
		return
	}
	if err := os.Remove(client.ServerFile(d.cfg.Data)); err != nil && !errors.Is(err, os.ErrNotExist) {
		d.log.Warn("remove server.json", zap.Error(err))
	}
}
