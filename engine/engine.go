package engine

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/seed82539d15/holon/turns"
)

// Engine decides everything that happens to threads and turns. It is safe for
// use by many goroutines. Call Recover, then Run. Call Drain before Run's ctx ends.
type Engine struct {
	rules *rules
	store turns.Store
	rows  turns.Rows
	log   *zap.Logger
	names []string // of agents, in the order of the configuration
	gate  *gate

	agentCtx    context.Context // of all prompts; ends with Run
	agentCancel context.CancelCauseFunc
	prompts     sync.WaitGroup // agents at work

	actors     *actors
	services   services
	agentLocks threadLocks // one command at a time may ask the agent of a thread
	dirs       directories

	workers   *Workers
	inboxes   *Inboxes
	children  *Children
	awaits    *awaits
	family    *family
	reviews   *reviews
	resumeIDs []string // threads whose active turn continues in a worker: set by Recover, read by Run

	pause *pause

	lateOutput counter
	waiting    counter
	reviewed   [len(reviewEnds)]counter
}

// New makes an engine; it starts nothing. The first agent is the default one
// unless cfg names another.
func New(cfg Config, store turns.Store, rows Rows, list []turns.Agent, log *zap.Logger) (*Engine, error) {
	e := &Engine{
		rules: &rules{cfg: cfg.withDefaults(), agents: agents{}, log: rows, inboxes: rows, zap: log},
		store: store, rows: rows, log: log, services: services{log: log}, dirs: newDirectories(),
	}
	e.inboxes, e.awaits, e.family = newInboxes(e), newAwaits(), newFamily(e)
	e.reviews = newReviews(e)
	e.rules.awaits, e.children = e.awaits, &Children{e}
	e.workers = &Workers{e: e, secret: leaseSecret{rows: rows}}
	e.actors = newActors(func(id string) *actor { return newActor(e, id) })
	for _, is := range list {
		name := is.Info().Name
		if e.rules.agents[name] != nil {
			return nil, fmt.Errorf("two agents are named %q", name)
		}
		e.rules.agents[name] = newAgent(is)
		e.names = append(e.names, name)
	}
	c := &e.rules.cfg
	if c.DefaultAgent == "" && len(e.names) > 0 {
		c.DefaultAgent = e.names[0]
	}
	if e.rules.agents[c.DefaultAgent] == nil {
		return nil, fmt.Errorf("the default agent %q is not configured", c.DefaultAgent)
	}
	e.agentCtx, e.agentCancel = context.WithCancelCause(context.Background())
	e.gate = newGate(c.MaxActiveTurns, c.MaxWaitingTurns, e.wake)
	e.pause = newPause(store, e.gate, log)
	e.rules.draining = e.pause.isDraining
	return e, nil
}

// stopAgentsWithin is how long Run waits at its end for the agents that it has
// cancelled. Drain has given them time to stop before.
const stopAgentsWithin = 2 * time.Second

// Run serves the agents that are services, starts queued turns, ends a pause of
// the runtime on time, and blocks until ctx is done. Then it refuses commands,
// detaches all agents and stops the services. It returns when its goroutines have
// ended, or after stopAgentsWithin and stopServicesWithin: an agent that ignores
// its cancellation does not keep the server from stopping.
func (e *Engine) Run(ctx context.Context) error {
	e.services.serve(e.rules.agents, e.names, host{e})
	for _, id := range e.resumeIDs {
		e.wake(id)
	}
	e.gate.open()
	inboxes := e.inboxes.start(ctx)
	inboxes.Go(func() { e.family.run(ctx) })
	inboxes.Go(func() { e.reviews.run(ctx) })
	e.pause.resumeOnTime(ctx)
	inboxes.Wait()
	e.Leave() // actors first: what cancelled agents return then does not end a turn
	e.workers.claims.close()
	e.actors.wait() // each says why its agent is let go
	e.agentCancel(errAbandoned)
	stopped := make(chan struct{})
	go func() {
		e.prompts.Wait()
		close(stopped)
	}()
	if !waitFor(context.Background(), stopped, stopAgentsWithin) {
		e.log.Warn("agents are still running and are left alone")
	}
	e.services.stop()
	return nil
}

// Leave leaves all turns to the next server, which decides about them as after a kill:
// what agents say from now on, and how they end, changes nothing. Commands are refused.
// It does not wait, may be called at any time, and is for a stop that does not wait either;
// Run does it at its end.
func (e *Engine) Leave() {
	for _, in := range e.actors.close() {
		in.stop()
	}
}

// wake makes a thread's actor check whether a turn can start. The gate calls it
// with its lock held: locks are taken in the order gate, actors, intake.
func (e *Engine) wake(threadID string) {
	// It fails only when the engine has stopped, and then no turn may start.
	_ = e.actors.submit(threadID, (*actor).startNext, true)
}

// call runs f in the actor of the thread, if that may decide, and waits for its
// answer or for ctx. The end of ctx does not undo what f commits.
func call[R any](ctx context.Context, e *Engine, threadID string, f func(*actor) (R, error)) (R, error) {
	return callThen(ctx, e, threadID, f, nil)
}

// callThen works like call; it calls then once f has run or will never run, which may be after
// the end of ctx. then may be nil and must not block.
func callThen[R any](ctx context.Context, e *Engine, threadID string, f func(*actor) (R, error), then func()) (R, error) {
	return inActorThen(ctx, e, threadID, func(a *actor) (R, error) {
		if err := a.mayDecide(); err != nil {
			var zero R
			return zero, err
		}
		return f(a)
	}, then)
}

// inActor works like call, for an f that also has to run while the actor may not decide.
func inActor[R any](ctx context.Context, e *Engine, threadID string, f func(*actor) (R, error)) (R, error) {
	return inActorThen(ctx, e, threadID, f, nil)
}

// inActorThen works like inActor, with the then of callThen.
func inActorThen[R any](ctx context.Context, e *Engine, threadID string, f func(*actor) (R, error), then func()) (R, error) {
	type answer struct {
		r   R
		err error
	}
	done := make(chan answer, 1)
	err := e.actors.submit(threadID, func(a *actor) {
		out := answer{err: turns.ErrInternal} // if it panics
		defer func() { done <- out }()
		if then != nil {
			defer then()
		}
		if err := a.load(); err != nil {
			out.err = err
			return
		}
		out.r, out.err = f(a)
	}, false)
	if err != nil {
		if then != nil {
			then()
		}
		var zero R
		return zero, err
	}
	select {
	case out := <-done:
		return out.r, out.err
	case <-ctx.Done():
		var zero R
		return zero, context.Cause(ctx)
	}
}

// Load counts what the engine has in memory, for metrics.
type Load struct {
	Actors     int              // busy threads
	Active     int              // turns that run
	Waiting    int              // turns among Active that wait for a person
	Parked     int              // turns among Active that have no slot because they, or their agents, wait for child turns, or since a restart for a person
	Awaiting   int              // requests that wait for ends of turns
	Slots      int              // slots that running turns have taken
	Capacity   int              // slots in all
	Reviews    map[string]int64 // since the start: reviews that began (pending), and that ended, by verdict or as timeout
	LateOutput int64            // since the start: outputs that could not be stored because their turn or thread had ended
}

// Load returns the counts of now.
func (e *Engine) Load() Load {
	running, slots, parked := e.gate.load()
	return Load{
		Actors: e.actors.count(), Active: running, Waiting: int(e.waiting.Load()), Parked: parked, Awaiting: int(e.awaits.n.Load()),
		Slots: slots, Capacity: e.rules.cfg.MaxActiveTurns, LateOutput: e.lateOutput.Load(), Reviews: e.countedReviews(),
	}
}

// reviewEnds are what is counted of reviews.
var reviewEnds = [...]string{string(turns.ReviewPending), string(turns.Approved), string(turns.Rejected), string(turns.Blocked), turns.ReviewTimeout}

func (e *Engine) countReview(state string) {
	if i := slices.Index(reviewEnds[:], state); i >= 0 {
		e.reviewed[i].Add(1)
	}
}

func (e *Engine) countedReviews() map[string]int64 {
	m := make(map[string]int64, len(reviewEnds))
	for i, name := range reviewEnds {
		m[name] = e.reviewed[i].Load()
	}
	return m
}

// threadOf returns the thread of a turn, or ErrNotFound.
func (e *Engine) threadOf(ctx context.Context, turnID string) (string, error) {
	id, err := e.rows.TurnThread(ctx, turnID)
	if err == nil && id == "" {
		err = turns.ErrNotFound
	}
	return id, err
}
