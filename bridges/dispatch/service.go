package dispatch

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/follow"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// Secrets keeps the secrets of bridges outside of the database; *secrets.Store
// implements it.
type Secrets interface {
	Write(bridge string, generation int64, secret []byte) error
	Read(bridge string, generation int64) ([]byte, error)
	Remove(bridge string, generation int64) error
	Keep(keep func(bridge string, generation int64) bool) (removed int, err error)
}

// Config has the parts of a Service. All of them are needed but those that say
// otherwise.
type Config struct {
	Store ledger.Log
	// Read calls f with the rows of one snapshot.
	Read func(ctx context.Context, f func(ledger.Reader) error) error
	// ReadList is Read for the lists of clients, which must not delay the others;
	// nil: Read.
	ReadList func(ctx context.Context, f func(ledger.Reader) error) error
	// Events reads the log, for an event that is looked at again.
	Events    notify.Log
	Followers *follow.Dispatcher
	LogID     string
	Head      func() int64 // the newest seq that was published
	// Position says where the log ends for its readers, who see a commit a moment before it is
	// published: a seq that a client gives is checked against it.
	Position func(context.Context) (turns.Position, error)
	Secrets  Secrets
	// Open makes the channel of a bridge. previous are the secrets before a
	// rotation; nil = none count any more. Its error is a *turns.InvalidError.
	Open       func(b *bridges.Bridge, current bridges.Secrets, previous *bridges.Secrets) (bridges.Channel, error)
	Configured []Configured  // the bridges of the configuration
	Drain      time.Duration // how long attempts may continue at a stop
	// ConsoleURL is the address of the console, to which messages link; "" = they have no
	// links. Bodies that are stored keep the links that they have.
	ConsoleURL string

	Log    *zap.Logger      // nil: nothing is logged
	Now    func() time.Time // nil: time.Now
	Random func() float64   // between 0 and 1; nil: rand.Float64
}

// Configured is a bridge of the configuration. Of Bridge only the id, the kind,
// OnPause, the settings and the hint are looked at.
type Configured struct {
	Bridge  bridges.Bridge
	Channel bridges.Channel
}

// Service runs deliveries. A change that returns without an error is durable. All
// methods may be called from many goroutines, Run once.
type Service struct {
	cfg    Config
	slots  slots
	meter  meter
	open   atomic.Int64  // deliveries that are not settled, of all lanes
	bodies atomic.Int64  // bytes of their bodies that are in memory
	tests  chan struct{} // one for each bridge/test that runs
	start  start

	// changing is held by commands that make or end bridges and subscriptions.
	changing sync.Mutex

	known   registry
	ofTurns ofTurns
	sender  sender
	vault   vault

	work    group
	sending context.Context // of attempts; ends when they are cut
	cut     context.CancelFunc
}

// start is when Run began. Its methods may be called from many goroutines.
type start struct{ at atomic.Int64 } // in nanoseconds; 0 = it has not

func (s *start) begin(now time.Time) { s.at.Store(now.UnixNano()) }

// recentFor returns what is left of the first minute; it is not above 0 when that is over.
func (s *start) recentFor(now time.Time) time.Duration {
	at := s.at.Load()
	if at == 0 {
		return time.Minute
	}
	return time.Minute - now.Sub(time.Unix(0, at))
}

// Open reads what exists, compares it with the configuration, and adds the
// followers. It sends nothing: see Run. Followers must not run yet.
func Open(ctx context.Context, cfg Config) (*Service, error) {
	if cfg.Log == nil {
		cfg.Log = zap.NewNop()
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Random == nil {
		cfg.Random = rand.Float64
	}
	if cfg.ReadList == nil {
		cfg.ReadList = cfg.Read
	}
	s := &Service{cfg: cfg, tests: make(chan struct{}, bridges.MaxTests)}
	s.known = registry{bridges: map[string]*bridge{}, lanes: map[string]*lane{}, leaving: map[string]*lane{}}
	s.vault = vault{cfg.Secrets, cfg.Open, cfg.Now}
	s.ofTurns.s = s
	s.sending, s.cut = context.WithCancel(context.WithoutCancel(ctx))
	s.slots.now, s.slots.start, s.slots.stopped = cfg.Now, (*lane).run, true
	s.meter.init()
	s.sender = sender{slots: &s.slots, log: cfg.Log, now: cfg.Now, stuck: map[sending]bool{}, wake: func(deliveryID string) {
		subscription, _, _ := bridges.ParseDeliveryID(deliveryID)
		if l := s.known.locked(subscription); l != nil { // else it is of a test, or deleted
			defer l.mu.Unlock()
			if s.sending.Err() == nil { // after a stop nothing begins
				l.kick()
			}
		}
	}}
	var subs []*bridges.Subscription
	if err := cfg.Read(ctx, func(tx ledger.Reader) error {
		if err := tx.Scan(ledger.Range{Index: bridges.BridgeByID}, func(v ledger.Values) error {
			b, err := bridges.ReadBridge(v)
			if err == nil {
				s.known.add(b)
			}
			return err
		}); err != nil {
			return err
		}
		return tx.Scan(ledger.Range{Index: bridges.SubscriptionBySeq}, func(v ledger.Values) error {
			sub, err := bridges.ReadSubscription(v)
			if err == nil && sub.State != bridges.Deleted {
				subs = append(subs, sub)
			}
			return err
		})
	}); err != nil {
		return nil, fmt.Errorf("read bridges and subscriptions: %w", err)
	}
	if err := (opening{s}).bridges(); err != nil {
		return nil, err
	}
	for _, sub := range subs {
		var err error
		if sub.State != bridges.Ended {
			err = openLane(ctx, s, sub)
		}
		if err == nil && sub.TurnID != "" {
			err = s.ofTurns.watch(ctx)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := s.ofTurns.unwatch(); err != nil {
		return nil, err
	}
	return s, nil
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

func (s *Service) now() time.Time { return s.cfg.Now() }

// Run sends until ctx is done. Attempts under way then get Config.Drain, and are
// cut after it; what they may have done is known at the next start. The store must
// still run. Run returns nil when all its goroutines have ended, except those of
// attempts that do not return: they change nothing any more.
func (s *Service) Run(ctx context.Context) error {
	s.start.begin(s.now())
	s.slots.begin()
	for _, l := range s.known.all() {
		l.mu.Lock()
		l.rejudge(ctx, "")
		l.kick()
		l.mu.Unlock()
	}
	retention{s}.run(ctx) // until ctx is done
	timer := time.AfterFunc(s.cfg.Drain, s.cut)
	defer timer.Stop()
	s.slots.stop()
	s.cut()
	for _, l := range s.known.all() {
		l.mu.Lock()
		if l.timer != nil {
			l.timer.Stop()
		}
		l.mu.Unlock()
	}
	s.work.stop()
	return nil
}

// group runs goroutines for which Run waits. Its methods may be called from many goroutines.
type group struct {
	mu      sync.Mutex
	stopped bool
	running sync.WaitGroup
}

// run runs f beside the caller, unless Run is about to end.
func (g *group) run(f func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.stopped {
		g.running.Go(f)
	}
}

func (g *group) stop() {
	g.mu.Lock()
	g.stopped = true
	g.mu.Unlock()
	g.running.Wait()
}
