package daemon

import (
	"context"
	"net/http"
	"strings"

	"go.uber.org/zap"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/clients/js"
	"github.com/seed82539d15/holon/console"
	"github.com/seed82539d15/holon/cursors"
	"github.com/seed82539d15/holon/follow"
	"github.com/seed82539d15/holon/hooks"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/persist"
	"github.com/seed82539d15/holon/persist/sqlite"
	"github.com/seed82539d15/holon/rpc"
	"github.com/seed82539d15/holon/rpc/admission"
	"github.com/seed82539d15/holon/turns"
)

// newWire makes the rpc server.
func (d *daemon) newWire(ctx context.Context, observed *storeMetrics) error {
	position, err := d.store.Reader().Position(ctx)
	if err != nil {
		return err
	}
	d.wire, err = rpc.New(rpc.Config{
		Services: api.Services{
			Engine: d.engine, Reader: d.store.Reader(), LogID: position.LogID,
			Inboxes: d.engine.Inboxes(), InboxReader: countedReader{d.store.Reader(), d.inboxes.expansions}, Sources: sources{d.cfg.Sources},
			Workers: d.engine.Workers(), Children: d.engine.Children(), Pruner: pruner{d.store},
			Cursors:    cursors.New(cursors.Config{Log: d.store, Reader: d.store.Reader(), Scanned: d.deliveries.service.Scanned}),
			Tokens:     d.tokens,
			BindAccess: d.agentTokens.Bind,
			Directory:  d.engine.Directory,
			Memory:     d.agents.memory,
			Deliveries: d.deliveries.service, Worktrees: d.worktrees, Logs: d.logs, Log: d.log.Named("rpc"),
			Version: d.Version, StartedAt: d.startedAt, DefaultThread: d.cfg.DefaultThread, Console: d.cfg.Console, ChildAgents: childAgents(d.cfg), WorkIn: workIn(d.cfg), Limits: d.limits(),
		},
		Tail:    d.store.Tail(),
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { d.metrics.ServeHTTP(w, r) }),
		Ready:   func(context.Context) error { return d.store.Healthy() },
	})
	if err != nil {
		return err
	}
	d.metrics = d.metricsHandler(observed)
	if d.cfg.Console {
		d.console, err = console.New(js.Files)
	}
	return err
}

// followLog starts nothing: it makes the dispatcher of what follows the log inside
// the server, which are the inboxes that receive events of other threads, and the
// subscriptions of bridges.
func (d *daemon) followLog(ctx context.Context) (*follow.Dispatcher, error) {
	position, err := d.store.Reader().Position(ctx)
	if err != nil {
		return nil, err
	}
	followers, err := follow.Open(ctx, follow.Config{
		Store: d.store, Reader: d.store.Reader(), Tail: d.store.Tail(), LogID: position.LogID, Bounds: follow.Bounds{MaxLagAge: d.cfg.MaxLaneLag},
		Report: func(name string, err error) {
			d.log.Warn("follow the log", zap.String("follower", name), zap.Error(err))
		},
	})
	if err != nil {
		return nil, err
	}
	d.store.KeepFrom(followers.Floor)
	return followers, d.engine.Inboxes().Follow(ctx, followers, position.LogID, d.store.Tail().Head)
}

// limits returns the bounds that the configuration sets, and the process.
func (d *daemon) limits() api.Limits {
	connections, unadmitted := d.connectionBounds()
	return api.Limits{
		MaxFrameBytes: d.cfg.MaxFrameBytes, MaxInFlight: d.cfg.MaxInFlight,
		MaxConnections: connections, MaxUnadmitted: unadmitted, MaxItemBytes: d.cfg.MaxItemBytes, MaxActiveTurns: d.cfg.MaxActiveTurns,
		MaxWaitingTurns: d.cfg.MaxWaitingTurns,
		MaxQueuedTurns:  d.cfg.MaxQueue, TailBytes: d.cfg.TailBytes, HeartbeatSeconds: d.cfg.Heartbeat.Seconds(),
		WriteTimeoutSeconds: d.cfg.WriteTimeout.Seconds(), DrainSeconds: d.cfg.DrainTimeout.Seconds(),
		InterruptSeconds: d.cfg.InterruptTimeout.Seconds(),
		MaxPendingItems:  d.cfg.MaxPendingItems, MaxUnackedItems: d.cfg.MaxUnackedItems, MaxUnackedBytes: d.cfg.MaxUnackedBytes,
		MaxTimers: d.cfg.MaxTimers, MaxSubscriptions: d.cfg.MaxInboxSubscriptions,
		InboxRetentionDays: d.cfg.InboxRetention.Hours() / 24, DedupeDays: d.cfg.Dedupe.Hours() / 24,
		MaxLaneLagDays: d.cfg.MaxLaneLag.Hours() / 24,
	}
}

// httpServer serves one listener behind its gate. Webhooks come before it: their
// senders have no token and use names of hosts that a tunnel gives them, and each
// webhook is signed. The files of the console have rules of their own; behind those is
// nothing but the files.
func (d *daemon) httpServer(gate *admission.Gate, kind admission.Kind) *http.Server {
	admitted := gate.Middleware(d.wire.Handler())
	var files http.Handler // nil: none here
	if d.console != nil && kind != admission.Unix {
		files = gate.Static(d.console)
	}
	// No http.ServeMux: it redirects other spellings of a path.
	return d.wire.HTTPServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, hooks.Path):
			d.hooks.ServeHTTP(w, r)
		case files != nil && console.Owns(r.URL.Path):
			files.ServeHTTP(w, r)
		default:
			admitted.ServeHTTP(w, r)
		}
	}), gate.ConnContext)
}

// pruner turns the store's result into the wire's and stores it under the key.
type pruner struct{ store *sqlite.Store }

func (p pruner) Prune(ctx context.Context, before int64, key *ledger.Key) (turns.PruneResult, error) {
	return ledger.Once(p.store, key, func() (turns.PruneResult, error) {
		done, err := p.store.Prune(ctx, before)
		return turns.PruneResult{FirstSeq: done.First, Pruned: done.Removed}, err
	})
}

// retain prunes by the configured retention.
func (d *daemon) retain(ctx context.Context) error {
	r := persist.Retention{MaxAgeDays: d.cfg.Retention.MaxAge.Hours() / 24, MaxBytes: d.cfg.Retention.MaxBytes}
	return r.Run(ctx, d.store, func(p persist.Pruned, err error) {
		if err != nil {
			d.log.Error("retention", zap.Error(err))
			return
		}
		d.log.Info("pruned by retention", zap.Int64("events", p.Removed), zap.Int64("first_seq", p.First))
	})
}
