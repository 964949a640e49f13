package dispatch

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/ledger"
)

// modelBuild is the product behind something that breaks one of its rules. The zero
// value is the product as it is.
type modelBuild struct {
	store   func(ledger.Log) ledger.Log           // in front of what deliveries write
	read    func(ledger.Reader) ledger.Reader     // in front of what they read to decide
	channel func(bridges.Channel) bridges.Channel // in front of bridges
}

// modelRun runs a program.
type modelRun struct {
	t testing.TB
	p *modelProgram
	b *modelBuild
	w *world
	r *receiver
	a *audit

	threads  []*modelThread
	turns    int
	items    int
	commands sync.WaitGroup
	counts   map[string]int
	commits  int // of all lives
	end      int64
}

// runModel runs a program to its end, and returns what breaks a property.
func runModel(t testing.TB, p *modelProgram, b *modelBuild) (run *modelRun) {
	dir, err := os.MkdirTemp(t.TempDir(), "run")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	run = &modelRun{t: t, p: p, b: b, counts: map[string]int{}}
	bubble(t, func() {
		run.open(dir)
		defer run.close()
		for _, m := range p.Moves {
			run.revive()
			run.move(m)
			run.counts[m.Kind]++
			run.sleep(m.Wait)
		}
		run.heal()
		run.check()
		run.again()
	})
	return run
}

// bubble runs f in a bubble with virtual time.
func bubble(t testing.TB, f func()) {
	synctest.Test(t.(*testing.T), func(*testing.T) { f() })
}

// sleep lets time pass, little of it while nothing can be written: what is tried again
// every second costs the test real time.
func (r *modelRun) sleep(d time.Duration) {
	const some = 20 * time.Second
	for ; d > 0; d -= some {
		time.Sleep(min(d, some))
		r.w.life.mu.Lock()
		stuck := r.w.life.dead || r.w.life.full
		r.w.life.mu.Unlock()
		if stuck {
			return
		}
		if d > time.Hour {
			time.Sleep(d - time.Hour)
			d = time.Hour
		}
	}
}

func (r *modelRun) failures() []string { return r.a.failures }

// open starts the first life, and makes what the run begins with.
func (r *modelRun) open(dir string) {
	r.r = newReceiver(r.p.Seed, r.p.Bad)
	r.r.kill, r.r.killAt = r.kill, r.p.killAnswer
	r.w = newWorld(r.t, dir) // which starts deliveries
	r.w.stop()
	r.a = newAudit(r.w.store, r.r)
	r.w.change = r.arm
	r.w.open()
	r.w.life.mu.Lock()
	r.w.life.crashAt = r.p.killCommit
	r.w.life.mu.Unlock()
	for _, id := range r.p.Threads {
		r.threads = append(r.threads, newModelThread(r, id))
	}
	for _, id := range []string{modelHook, modelChat} {
		c := bridges.CreateBridge{BridgeID: id, Kind: bridges.KindWebhook, OnPause: bridges.PauseWaits}
		if id == modelChat {
			c.Kind = bridges.KindSlack
		}
		if slices.Contains(r.p.Drops, id) {
			c.OnPause = bridges.PauseDrops
		}
		r.insist(func() error { _, err := r.w.s.BridgeCreate(context.Background(), c); return err })
	}
	for _, s := range r.p.Subs {
		r.insist(func() error { return r.create(s) })
	}
}

// insist does what a run needs, also if the program dies at it.
func (r *modelRun) insist(do func() error) {
	err := do()
	for r.dead() {
		r.revive()
		err = do()
	}
	if err != nil && !errors.Is(err, bridges.ErrInUse) {
		r.t.Fatal(err)
	}
}

// arm is called with the parts of each life before it begins.
func (r *modelRun) arm(cfg *Config) {
	r.r.release()
	r.a.mu.Lock()
	defer r.a.mu.Unlock()
	r.a.life++
	r.a.sending, r.a.inside, r.a.stuck = map[string]int{}, map[sending]int{}, map[sending]bool{}
	for _, row := range r.a.rows {
		row.perhaps = row.perhaps || row.begunTimes > row.sent
		row.begunTimes = row.sent // what has begun before is made no more
	}
	r.w.life.onCommit = func(u *ledger.Unit) {
		r.commits++
		r.a.committed(u)
	}
	log := ledger.Log(r.w.life)
	if r.b.store != nil {
		log = r.b.store(log)
	}
	cfg.Store = audited{log, r.a}
	cfg.Secrets = mortal{cfg.Secrets, r.w.life}
	if read := cfg.Read; r.b.read != nil {
		cfg.Read = func(ctx context.Context, f func(ledger.Reader) error) error {
			return read(ctx, func(tx ledger.Reader) error { return f(r.b.read(tx)) })
		}
	}
	cfg.Open = func(b *bridges.Bridge, _ bridges.Secrets, _ *bridges.Secrets) (bridges.Channel, error) {
		c := bridges.Channel(channel{r.w.target, r.r, b.BridgeID, b.BridgeID == modelChat})
		if r.b.channel != nil {
			c = r.b.channel(c)
		}
		return c, nil
	}
}

func (r *modelRun) close() {
	r.commands.Wait()
	r.w.stop()
	r.r.release()
	r.w.close()
}

// kill ends the program: nothing more is written. It may be called from anywhere.
func (r *modelRun) kill() {
	r.w.life.mu.Lock()
	defer r.w.life.mu.Unlock()
	r.w.life.dead = true
}

func (r *modelRun) dead() bool {
	r.w.life.mu.Lock()
	defer r.w.life.mu.Unlock()
	return r.w.life.dead
}

// revive starts the program again if it has died.
func (r *modelRun) revive() {
	if r.dead() {
		r.commands.Wait()
		r.counts["died"]++
		r.w.crash()
	}
}

// heal ends all that is wrong, and waits until nothing is left to do.
func (r *modelRun) heal() {
	r.commands.Wait()
	r.full(false)
	r.r.mu.Lock()
	r.r.healed, r.r.killAt = true, 0
	r.r.mu.Unlock()
	r.r.release()
	r.w.life.mu.Lock()
	r.w.life.crashAt = 0
	r.w.life.mu.Unlock()
	r.revive()
	for i, wait := range []time.Duration{time.Second, time.Minute, time.Minute, time.Hour, 3 * time.Hour, 26 * time.Hour, 26 * time.Hour, 26 * time.Hour} {
		for _, id := range []string{modelHook, modelChat} {
			if _, err := r.w.s.BridgeResume(context.Background(), bridges.ChangeBridge{BridgeID: id}); err != nil {
				r.a.fail("heal: resume %s: %v", id, err)
			}
		}
		for id, sub := range r.latest() {
			if sub.State == bridges.Active && i == 0 { // mismatches are looked at again
				_, _ = r.w.s.SubscriptionPause(context.Background(), bridges.ChangeSubscription{SubscriptionID: id})
			}
			if sub.State != bridges.Deleted {
				if _, err := r.w.s.SubscriptionResume(context.Background(), bridges.ChangeSubscription{SubscriptionID: id}); err != nil {
					r.a.fail("heal: resume %s: %v", id, err)
				}
			}
		}
		time.Sleep(wait)
		synctest.Wait()
		if r.settled() {
			break
		}
	}
	r.end = r.a.log.head()
}

// latest are the subscriptions as committed.
func (r *modelRun) latest() map[string]*bridges.Subscription {
	r.a.mu.Lock()
	defer r.a.mu.Unlock()
	list := map[string]*bridges.Subscription{}
	for id, s := range r.a.subs {
		list[id] = s
	}
	return list
}

// settled reports whether all subscriptions have come to the end of the log.
func (r *modelRun) settled() bool {
	for id, sub := range r.latest() {
		if sub.State == bridges.Deleted {
			continue
		}
		v, latest, err := r.w.s.Subscription(context.Background(), id)
		if err != nil || v.State != bridges.Active || v.Cursor.ScannedSeq < latest || v.Pending > r.a.blocked(sub) {
			return false
		}
	}
	return true
}

// again starts the program once more: whoever has come to the end sends nothing.
func (r *modelRun) again() {
	sends := r.r.sends
	before := len(r.a.failures)
	r.w.restart()
	time.Sleep(time.Minute)
	synctest.Wait()
	if r.r.sends != sends {
		r.a.fail("P3: %d attempts after the end", r.r.sends-sends)
	}
	if len(r.a.failures) == before {
		r.check()
	}
}

func (r *modelRun) full(on bool) {
	r.w.life.mu.Lock()
	defer r.w.life.mu.Unlock()
	r.w.life.full = on
}

// command does what a client asks for. Clients may ask for what cannot be done.
func (r *modelRun) command(m modelMove, do func() error) {
	r.commands.Wait()
	run := func() {
		err := do()
		for _, e := range []error{
			nil, errDead, ledger.ErrStorageFull, ledger.ErrStorageFailed, bridges.ErrSubscriptionNotFound, bridges.ErrNotHeld, bridges.ErrDeliveryNotFound,
			bridges.ErrNothingToSend, bridges.ErrAhead, bridges.ErrMoved, context.DeadlineExceeded,
		} {
			if errors.Is(err, e) {
				return
			}
		}
		r.a.fail("command: %s: %v", m.Kind, err)
	}
	if !m.Async {
		run()
		return
	}
	r.commands.Go(run)
}

func (r *modelRun) create(s modelSub) error {
	c := bridges.CreateSubscription{
		SubscriptionID: s.ID, BridgeID: s.Bridge, ThreadID: s.Thread, On: s.On, Methods: s.Methods, Order: s.Order, IncludeText: s.Text,
	}
	if s.Beginning {
		c.From = &bridges.From{Beginning: true}
	}
	// It waits for an attempt of the deleted one, whose receipt may find no space.
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_, err := r.w.s.SubscriptionCreate(ctx, c)
	return err
}

// move does one move.
func (r *modelRun) move(m modelMove) {
	ctx := context.Background()
	th := r.threads[m.Pick%len(r.threads)]
	s := r.p.Subs[m.Pick%len(r.p.Subs)]
	bridge := []string{modelHook, modelChat}[m.Pick%2]
	change := bridges.ChangeSubscription{SubscriptionID: s.ID, Reason: "the model"}
	switch m.Kind {
	case "work", "end", "retry", "ask", "answer", "verdict", "damage", "repair":
		th.move(m)
	case "pause":
		r.command(m, func() error { _, err := r.w.s.SubscriptionPause(ctx, change); return err })
	case "resume":
		r.command(m, func() error { _, err := r.w.s.SubscriptionResume(ctx, change); return err })
	case "reset":
		to := r.w.store.Tail().Head() * int64(m.How) / 1000
		r.command(m, func() error {
			_, err := r.w.s.SubscriptionReset(ctx, bridges.ResetSubscription{SubscriptionID: s.ID, ToSeq: &to, Reason: "the model"})
			return err
		})
	case "skip":
		r.command(m, func() error {
			_, err := r.w.s.SubscriptionSkip(ctx, bridges.SkipSubscription{SubscriptionID: s.ID, Reason: "the model"})
			return err
		})
	case "skip one":
		seq := r.a.mismatch(s.ID)
		if seq == 0 {
			return
		}
		r.command(m, func() error {
			_, err := r.w.s.SubscriptionSkip(ctx, bridges.SkipSubscription{SubscriptionID: s.ID, Seq: seq, Reason: "the model"})
			return err
		})
	case "update":
		r.command(m, func() error { _, err := r.w.s.SubscriptionUpdate(ctx, updateOf(s, m.How)); return err })
	case "move":
		r.command(m, func() error {
			ctx, cancel := context.WithTimeout(ctx, time.Minute) // as create does
			defer cancel()
			_, err := r.w.s.SubscriptionUpdate(ctx, bridges.UpdateSubscription{SubscriptionID: s.ID, BridgeID: &bridge})
			return err
		})
	case "delete":
		r.command(m, func() error { _, err := r.w.s.SubscriptionDelete(ctx, change); return err })
	case "create":
		r.command(m, func() error { return r.create(s) })
	case "renew":
		r.command(m, func() error {
			_, err := r.w.s.SubscriptionDelete(ctx, change)
			if err == nil {
				err = r.create(s)
			}
			return err
		})
	case "redeliver":
		id := r.a.someDelivery(m.How)
		if id == "" {
			return
		}
		r.command(m, func() error { _, err := r.w.s.Redeliver(ctx, id, nil); return err })
	case "bridge pause":
		r.command(m, func() error {
			_, err := r.w.s.BridgePause(ctx, bridges.ChangeBridge{BridgeID: bridge, Reason: "the model"})
			return err
		})
	case "bridge resume":
		r.command(m, func() error { _, err := r.w.s.BridgeResume(ctx, bridges.ChangeBridge{BridgeID: bridge}); return err })
	case "bridge update":
		policy := []bridges.OnPause{bridges.PauseDrops, bridges.PauseWaits}[m.How%2]
		r.command(m, func() error {
			_, err := r.w.s.BridgeUpdate(ctx, bridges.UpdateBridge{BridgeID: bridge, OnPause: &policy})
			return err
		})
	case "restart":
		r.commands.Wait()
		r.w.restart()
	case "crash":
		r.kill()
	case "crash at commit":
		r.w.life.mu.Lock()
		r.w.life.crashAt = r.w.life.commits + 1 + m.How%7
		r.w.life.mu.Unlock()
	case "crash at answer":
		r.r.mu.Lock()
		r.r.killAt = r.r.sends + 1 + m.How%3
		r.r.mu.Unlock()
	case "full", "space":
		r.full(m.Kind == "full")
	default:
		panic("no such move: " + m.Kind)
	}
}

func updateOf(s modelSub, how int) bridges.UpdateSubscription {
	c := bridges.UpdateSubscription{SubscriptionID: s.ID}
	switch how % 4 {
	case 0:
		order := []bridges.Order{bridges.OrderStrict, bridges.OrderTurn}[how/4%2]
		c.Order = &order
	case 1:
		on := modelChoices[how/4%len(modelChoices)]
		c.On = &on
		if on == nil {
			c.Methods = &[]string{modelMethods[how%len(modelMethods)]}
		}
	default:
		c.On = &s.On
		methods := s.Methods[:len(s.Methods):len(s.Methods)]
		if how%4 == 2 {
			methods = []string{modelMethods[how/4%len(modelMethods)]}
		}
		c.Methods = &methods
	}
	return c
}

// mortal are the secrets as one life of the program sees them.
type mortal struct {
	Secrets
	life *life
}

// Remove implements Secrets: who is dead removes nothing.
func (m mortal) Remove(id string, generation int64) error {
	m.life.mu.Lock()
	defer m.life.mu.Unlock()
	if m.life.dead {
		return errDead
	}
	return m.Secrets.Remove(id, generation)
}
