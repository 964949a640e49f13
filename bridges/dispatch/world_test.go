package dispatch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/follow"
	"github.com/seed82539d15/holon/internal/test/persisttest"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/persist"
	"github.com/seed82539d15/holon/persist/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a store on which deliveries run, and which can be restarted or crash.
type world struct {
	t         testing.TB
	store     *sqlite.Store
	life      *life
	followers *follow.Dispatcher
	s         *Service
	target    *target
	secrets   *memorySecrets
	change    func(*Config)

	configured []Configured
	stop       func()
	end        func()
}

// life is the store as one run of the program sees it: after a crash nothing more
// is written.
type life struct {
	*sqlite.Store
	mu       sync.Mutex
	dead     bool
	full     bool
	commits  int
	crashAt  int // the program ends after so many commits; 0 = it does not
	crashed  chan struct{}
	onCommit func(*ledger.Unit)
}

var errDead = errors.New("the program has ended")

func (l *life) Append(u *ledger.Unit) (ledger.Receipt, error) {
	l.mu.Lock()
	dead, full := l.dead, l.full
	l.mu.Unlock()
	switch {
	case dead:
		return ledger.Receipt{}, errDead
	case full:
		return ledger.Receipt{}, ledger.ErrStorageFull
	}
	r, err := l.Store.Append(u)
	if err != nil {
		return r, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.onCommit != nil {
		l.onCommit(u)
	}
	if l.commits++; l.commits == l.crashAt && !l.dead {
		l.dead = true // the commit is durable, and nobody learns of it
		close(l.crashed)
	}
	if l.dead {
		return ledger.Receipt{}, errDead
	}
	return r, nil
}

// memorySecrets are secrets in memory.
type memorySecrets struct {
	mu   sync.Mutex
	kept map[string][]byte
}

func (m *memorySecrets) key(id string, g int64) string { return fmt.Sprint(id, "/", g) }

func (m *memorySecrets) Write(id string, g int64, secret []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kept[m.key(id, g)] = secret
	return nil
}

func (m *memorySecrets) Read(id string, g int64) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s, ok := m.kept[m.key(id, g)]; ok {
		return s, nil
	}
	return nil, errors.New("no such secret")
}

func (m *memorySecrets) Remove(id string, g int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.kept, m.key(id, g))
	return nil
}

func (m *memorySecrets) Keep(keep func(string, int64) bool) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for k := range m.kept {
		var g int64
		id, rest, _ := strings.Cut(k, "/")
		_, _ = fmt.Sscan(rest, &g)
		if !keep(id, g) {
			delete(m.kept, k)
			n++
		}
	}
	return n, nil
}

// target is a receiver of all bridges. It keeps what arrived.
type target struct {
	mu      sync.Mutex
	edits   bool
	got     []arrived
	answer  func(o *bridges.Outgoing, n int) bridges.Result // n counts the attempts from 1; nil: delivered
	sends   int
	shown   map[string]string // by remote id: the type of what it shows
	remotes int
}

// arrived is an attempt that has reached the target.
type arrived struct {
	id, deliveryID string
	body           string
	envelope       bridges.Envelope
	at             time.Time
}

func (g *target) Edits() bool { return g.edits }

func (g *target) Timeout() time.Duration { return 20 * time.Second }

func (g *target) Own(t bridges.Target) bool { return t == bridges.Target{} }

func (g *target) CheckTarget(bridges.Target) error { return nil }

func (g *target) Send(ctx context.Context, o *bridges.Outgoing) bridges.Result {
	g.mu.Lock()
	g.sends++
	n, answer := g.sends, g.answer
	g.mu.Unlock()
	r := bridges.Result{Outcome: bridges.Delivered, Status: 200}
	if answer != nil {
		r = answer(o, n)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if r.Outcome == bridges.Delivered || r.Arrived {
		g.got = append(g.got, arrived{o.ID, o.Envelope().DeliveryID, string(o.Body), *o.Envelope(), time.Now()})
	}
	if r.Outcome == bridges.Delivered && g.edits {
		for i := range o.Cards {
			if o.Cards[i].Remove {
				delete(g.shown, o.Cards[i].RemoteID)
				r.RemoteIDs = append(r.RemoteIDs, "")
				continue
			}
			r.RemoteIDs = append(r.RemoteIDs, g.show(&o.Cards[i], o.Envelope()))
		}
	}
	return r
}

// show posts, replaces or changes a message, as kinds do.
func (g *target) show(s *bridges.Card, e *bridges.Envelope) string {
	id := s.RemoteID
	if s.Post || id == "" || g.shown[id] == "" {
		g.remotes++
		id = fmt.Sprint("m", g.remotes)
		if s.Post {
			delete(g.shown, s.RemoteID)
		}
	}
	g.shown[id] = fmt.Sprintf("%s %d", e.Type, e.Seq)
	return id
}

// take returns what has arrived since its last call, as "type seq".
func (g *target) take() string {
	synctest.Wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	var list []string
	for _, a := range g.got {
		list = append(list, fmt.Sprintf("%s %d", a.envelope.Type, a.envelope.Seq))
	}
	g.got = nil
	return strings.Join(list, ", ")
}

func (g *target) visible() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	var list []string
	for i := 1; i <= g.remotes; i++ {
		if text := g.shown[fmt.Sprint("m", i)]; text != "" {
			list = append(list, text)
		}
	}
	return strings.Join(list, ", ")
}

func inWorld(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, dir)
		defer w.close()
		f(t, w)
	})
}

func newWorld(t testing.TB, dir string) *world {
	w := &world{t: t, target: &target{shown: map[string]string{}}, secrets: &memorySecrets{kept: map[string][]byte{}}}
	s, err := sqlite.Open(sqlite.Options{Dir: dir, Normal: true, TailBytes: 8 << 10})
	if err != nil {
		t.Fatal(err)
	}
	w.store = s
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	w.end = func() {
		cancel()
		if err := errors.Join(<-done, s.Close()); err != nil {
			t.Error(err)
		}
	}
	w.open()
	return w
}

func (w *world) close() {
	w.stop()
	w.end()
}

// open starts deliveries.
func (w *world) open() {
	w.t.Helper()
	position, err := w.store.Reader().Position(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	w.openAs(position.LogID)
}

func (w *world) openAs(logID string) {
	w.t.Helper()
	ctx := context.Background()
	w.life = &life{Store: w.store, crashed: make(chan struct{})}
	var err error
	w.followers, err = follow.Open(ctx, follow.Config{Store: w.life, Reader: w.store.Reader(), Tail: w.store.Tail(), LogID: logID})
	if err != nil {
		w.t.Fatal(err)
	}
	w.store.KeepFrom(w.followers.Floor)
	cfg := Config{
		Store: w.life, Events: w.store.Reader(), Followers: w.followers, LogID: logID, Head: w.store.Tail().Head, Position: w.store.Reader().Position, Secrets: w.secrets,
		Read: func(ctx context.Context, f func(ledger.Reader) error) error {
			return w.store.Reader().Snapshot(ctx, persist.ForEngine, func(s persist.Snapshot) error { return f(s) })
		},
		Open: func(*bridges.Bridge, bridges.Secrets, *bridges.Secrets) (bridges.Channel, error) {
			return w.target, nil
		},
		Configured: w.configured, Drain: time.Second, Random: func() float64 { return 0.5 },
	}
	if w.change != nil {
		w.change(&cfg)
	}
	if w.s, err = Open(ctx, cfg); err != nil {
		w.t.Fatal(err)
	}
	runCtx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	work.Go(func() { _ = w.followers.Run(runCtx) })
	work.Go(func() {
		if err := w.s.Run(runCtx); err != nil {
			w.t.Error(err)
		}
	})
	w.stop = sync.OnceFunc(func() {
		cancel()
		work.Wait()
	})
}

func (w *world) restart() {
	w.t.Helper()
	w.stop()
	w.open()
}

// crash ends the program at once; what is under way is never heard of.
func (w *world) crash() {
	w.t.Helper()
	w.life.mu.Lock()
	w.life.dead = true
	w.life.mu.Unlock()
	w.stop()
	w.open()
}

func (w *world) bridge(id string) {
	w.t.Helper()
	if _, err := w.s.BridgeCreate(context.Background(), bridges.CreateBridge{BridgeID: id, Kind: bridges.KindWebhook, Settings: bridges.Settings{URL: "https://example.com"}}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) subscribe(id, bridge, thread string, on ...bridges.On) {
	w.t.Helper()
	w.create(bridges.CreateSubscription{SubscriptionID: id, BridgeID: bridge, ThreadID: thread, On: on})
}

func (w *world) create(c bridges.CreateSubscription) bridges.SubscriptionResult {
	w.t.Helper()
	r, err := w.s.SubscriptionCreate(context.Background(), c)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

func (w *world) view(id string) bridges.SubscriptionView {
	w.t.Helper()
	synctest.Wait()
	v, _, err := w.s.Subscription(context.Background(), id)
	if err != nil {
		w.t.Fatal(err)
	}
	return v
}

// deliveries spells the rows of a subscription, the oldest first.
func (w *world) deliveries(id string) string {
	w.t.Helper()
	synctest.Wait()
	list, _, _, err := w.s.Deliveries(context.Background(), bridges.DeliveryQuery{SubscriptionID: id, Limit: 1000})
	if err != nil {
		w.t.Fatal(err)
	}
	var out []string
	for i := len(list) - 1; i >= 0; i-- {
		d := list[i]
		text := fmt.Sprintf("%s %d %s", d.EventType, d.Seq, d.State)
		if d.Reason != "" {
			text += " (" + d.Reason + ")"
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

// events spells the events of the log after a seq that have no thread.
func (w *world) events(after int64) string {
	w.t.Helper()
	p, err := w.store.Reader().Page(context.Background(), notify.Query{After: after, MaxEvents: 1000, MaxBytes: 1 << 20})
	if err != nil {
		w.t.Fatal(err)
	}
	var out []string
	for _, e := range p.Events {
		if notify.ThreadIDOf(e.Params) == "" {
			out = append(out, e.Method)
		}
	}
	return strings.Join(out, ", ")
}

func (w *world) thread(id string) *persisttest.Maker {
	m := persisttest.NewMaker(w.t, w.store, id)
	m.At(time.Now())
	m.Start()
	m.Commit()
	return m
}

// turn starts a turn with a first attempt.
func turn(m *persisttest.Maker, id string) {
	m.At(time.Now())
	m.Attempt(id)
	m.Commit()
}

func end(m *persisttest.Maker, id string) int64 {
	m.At(time.Now())
	m.EndTurn(id)
	return m.Commit().Last
}

func want(t testing.TB, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n got %s\nwant %s", what, got, want)
	}
}

var permission = items.PermissionRequest{Type: items.KindPermissionRequest, Title: "run make", Options: []items.Option{{OptionID: "y", Name: "Yes", Kind: items.AllowOnce}}}
