package engine_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed82539d15/holon/engine"
	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/internal/test/hosttest"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// variant is a broken build: the engine behind something that breaks one of its rules.
// The zero value is the engine as it is.
type variant struct {
	rows       func(engine.Rows) engine.Rows // in front of what the engine reads
	arm        func(w *forest)               // before each life
	between    func(w *forest)               // between two lives, while nothing runs
	marksFirst bool                          // an answer is marked as told before it is written
	losesCut   bool                          // no agent says that it has not read its prompt
	broken     bool                          // the log need not be sound
}

// A wake that looks at the inbox only: a thread that is read again has forgotten its
// queue if something is new.
type wakesFirst struct{ engine.Rows }

func (r wakesFirst) Load(ctx context.Context, threadID string) (turns.Loaded, error) {
	l, err := r.Rows.Load(ctx, threadID)
	if err != nil {
		return l, err
	}
	box, err := r.LoadInbox(ctx, threadID)
	if err != nil || box == nil || box.NewEntries == 0 {
		return l, err
	}
	l.Turns = slices.DeleteFunc(l.Turns, func(t *turns.Turn) bool { return t.State == turns.Queued })
	l.Items = slices.DeleteFunc(l.Items, func(it *items.Item) bool {
		return !slices.ContainsFunc(l.Turns, func(t *turns.Turn) bool { return t.TurnID == it.TurnID })
	})
	return l, nil
}

// An inbox that wakes its thread at each end: it sees no child turn that has not ended.
type eachEnd struct{ engine.Rows }

func (r eachEnd) ReadToDecide(ctx context.Context, f func(ledger.Reader) error) error {
	return r.Rows.ReadToDecide(ctx, func(l ledger.Reader) error { return f(noSiblings{l}) })
}

type noSiblings struct{ ledger.Reader }

func (r noSiblings) Scan(rg ledger.Range, f func(ledger.Values) error) error {
	if rg.Index == turns.Unsettled && len(rg.Prefix) == 1 && len(rg.Only) > 1 { // that of turns.UnendedOf
		return nil
	}
	return r.Reader.Scan(rg, f)
}

// Entries that the engine reads as these change them.
type changedEntries struct {
	engine.Rows
	change func(e *inbox.Entry)
}

func (r changedEntries) ReadToDecide(ctx context.Context, f func(ledger.Reader) error) error {
	return r.Rows.ReadToDecide(ctx, func(l ledger.Reader) error { return f(changedReader{l, r.change}) })
}

type changedReader struct {
	ledger.Reader
	change func(e *inbox.Entry)
}

func (r changedReader) Scan(rg ledger.Range, f func(ledger.Values) error) error {
	return r.Reader.Scan(rg, func(v ledger.Values) error {
		if rg.Index == inbox.EntryNew {
			e := inbox.ReadEntry(slices.Clone(v))
			r.change(e)
			var err error
			if v, err = e.Values(0); err != nil {
				return err
			}
		}
		return f(v)
	})
}

// changes is a build that reads entries like that.
func changes(change func(e *inbox.Entry)) *variant {
	return &variant{rows: func(r engine.Rows) engine.Rows { return changedEntries{r, change} }}
}

// noWindow is a build in which nothing that is new waits for more.
func noWindow() *variant { return changes(func(e *inbox.Entry) { e.AtOnce = true }) }

// longWindow is a build in which windows are longer than they should be.
func longWindow() *variant {
	return changes(func(e *inbox.Entry) {
		if late := e.PostedAt.Add(10 * time.Second); late.Before(time.Now()) {
			e.PostedAt = notify.TimeOf(late)
		} else {
			e.PostedAt = notify.TimeOf(time.Now())
		}
	})
}

// uncounted is a build that does not count leases.
func uncounted() *variant {
	return &variant{arm: func(w *forest) {
		w.h.faults.without(func(u *ledger.Unit) {
			for _, row := range u.Rows {
				if e, ok := row.(*inbox.Entry); ok {
					e.Leases = 0
				}
			}
		})
	}}
}

// An owner that takes outside work for its child turns when it looks.
type waitsOutside struct{ engine.Rows }

func (r waitsOutside) ReadToDecide(ctx context.Context, f func(ledger.Reader) error) error {
	return r.Rows.ReadToDecide(ctx, func(l ledger.Reader) error { return f(noOutside{l}) })
}

type noOutside struct{ ledger.Reader }

func (r noOutside) Scan(rg ledger.Range, f func(ledger.Values) error) error {
	rg.Only = slices.DeleteFunc(slices.Clone(rg.Only), func(o ledger.Only) bool { return o.Column == "outside" })
	return r.Reader.Scan(rg, f)
}

// unchained is a build in which no turn has a chain.
func unchained() *variant {
	return &variant{arm: func(w *forest) {
		w.h.faults.without(func(u *ledger.Unit) {
			for _, row := range u.Rows {
				if t, ok := row.(*turns.Turn); ok {
					t.Chain = 0
				}
			}
		})
	}}
}

// A policy that only memory has: a restart has forgotten which turns were detached.
func forgetDetached(w *forest) {
	db, err := sql.Open("sqlite3", filepath.Join(w.h.dir, "holon.db"))
	if err != nil {
		w.h.t.Fatal(err)
	}
	defer db.Close()
	for _, e := range w.h.seen {
		if e.Method != notify.TurnDetached {
			continue
		}
		if _, err := db.Exec("UPDATE turns SET attention_policy = ? WHERE turn_id = ? AND state IN ('queued', 'active')", string(turns.Blocking), e.TurnID); err != nil {
			w.h.t.Fatal(err)
		}
	}
}

// early shows the engine rows of ends that are not committed yet.
type early struct {
	mu   sync.Mutex
	rows map[string]ledger.Values // by turn
}

type earlyRows struct {
	engine.Rows
	early *early
}

func (r earlyRows) ReadToDecide(ctx context.Context, f func(ledger.Reader) error) error {
	return r.Rows.ReadToDecide(ctx, func(is ledger.Reader) error { return f(earlyReader{is, r.early}) })
}

type earlyReader struct {
	ledger.Reader
	early *early
}

// of is the row as it will be.
func (r earlyReader) of(ix *ledger.Index, v ledger.Values) ledger.Values {
	if ix.Table != turns.Table || len(v) < 2 {
		return v
	}
	r.early.mu.Lock()
	defer r.early.mu.Unlock()
	if row := r.early.rows[v.Text(1)]; row != nil {
		return row[:len(v)]
	}
	return v
}

func (r earlyReader) Get(ix *ledger.Index, key ...any) (ledger.Values, error) {
	v, err := r.Reader.Get(ix, key...)
	return r.of(ix, v), err
}

func (r earlyReader) Scan(rg ledger.Range, f func(ledger.Values) error) error {
	return r.Reader.Scan(rg, func(v ledger.Values) error { return f(r.of(rg.Index, v)) })
}

// tellsEarly tells owners of ends while the commits of these are under way, which takes a
// moment.
func tellsEarly() *variant {
	x := &early{rows: map[string]ledger.Values{}}
	return &variant{
		rows: func(r engine.Rows) engine.Rows { return earlyRows{r, x} },
		arm: func(w *forest) {
			e, head := w.h.engine, w.h.store.Tail().Head
			w.h.faults.without(func(u *ledger.Unit) { dropFence[turns.EndsLive](u) })
			w.h.faults.holdBack(func(u *ledger.Unit) <-chan struct{} {
				t := endedChild(u)
				if t == nil {
					return nil
				}
				v, err := t.Values(head() + 1)
				if err != nil {
					w.h.t.Errorf("values of %s: %v", t.TurnID, err)
					return nil
				}
				x.mu.Lock()
				x.rows[t.TurnID] = v
				x.mu.Unlock()
				e.LookEarly(t.Parent.ThreadID, t.TurnID)
				committed := make(chan struct{})
				time.AfterFunc(20*time.Millisecond, func() {
					x.mu.Lock()
					delete(x.rows, t.TurnID)
					x.mu.Unlock()
					close(committed)
				})
				return committed
			})
		},
	}
}

// endedChild is the child turn that a unit ends; nil = none.
func endedChild(u *ledger.Unit) *turns.Turn {
	for i := range u.Drafts {
		if _, ends := u.Drafts[i].Body.(*turns.EndedEvent); !ends {
			continue
		}
		for _, row := range u.Rows {
			if t, ok := row.(*turns.Turn); ok && t.TurnID == u.Drafts[i].Header.TurnID && t.IsChild() {
				return t
			}
		}
	}
	return nil
}

func dropFence[F ledger.Fence](u *ledger.Unit) {
	u.Fences = slices.DeleteFunc(u.Fences, func(f ledger.Fence) bool { _, is := f.(F); return is })
}

// staleRows show every other look for unended child turns of a turn as it was before
// they were started.
type staleRows struct {
	engine.Rows
	mu    *sync.Mutex
	looks map[string]int // by turn
}

func (r staleRows) ReadToDecide(ctx context.Context, f func(ledger.Reader) error) error {
	return r.Rows.ReadToDecide(ctx, func(is ledger.Reader) error { return f(staleReader{is, r}) })
}

type staleReader struct {
	ledger.Reader
	r staleRows
}

func (r staleReader) Scan(rg ledger.Range, f func(ledger.Values) error) error {
	if rg.Index == turns.Unsettled && len(rg.Prefix) == 2 {
		turnID := rg.Prefix[1].(string)
		r.r.mu.Lock()
		n := r.r.looks[turnID]
		r.r.looks[turnID]++
		r.r.mu.Unlock()
		if n%2 == 0 {
			return nil
		}
	}
	return r.Reader.Scan(rg, f)
}

func staleLooks() *variant {
	return &variant{rows: func(r engine.Rows) engine.Rows { return staleRows{r, &sync.Mutex{}, map[string]int{}} }}
}

// unbounded is a build that forgets what the bounds of wakes count.
func unbounded() *variant {
	return &variant{arm: func(w *forest) {
		w.h.faults.without(func(u *ledger.Unit) {
			for _, row := range u.Rows {
				switch r := row.(type) {
				case *inbox.Inbox:
					r.Silent, r.WakeAt, r.Stalled, r.Wakes = 0, 0, "", nil
				case *inbox.Raw:
					r.Chain = 0
				}
			}
		})
	}}
}

// unreviewed is a build that takes ends which wait for a review for accepted ones.
func unreviewed() *variant {
	return &variant{arm: func(w *forest) {
		w.h.faults.without(func(u *ledger.Unit) {
			for _, row := range u.Rows {
				if t, ok := row.(*turns.Turn); ok && t.InReview() {
					t.AcceptedSeq, t.Review = t.Review.EndSeq, &turns.Review{Policy: t.Review.Policy}
				}
			}
		})
	}}
}

// forgetsEarlier is a build in which the end of a turn whose agent was silent at last decides
// only about what it was told last.
func forgetsEarlier() *variant {
	return &variant{arm: func(w *forest) {
		w.h.faults.without(func(u *ledger.Unit) {
			untold := slices.ContainsFunc(u.Drafts, func(d notify.Draft) bool { return d.Method == notify.InboxUntold })
			for i := range u.Drafts {
				d := &u.Drafts[i]
				b, is := d.Body.(*inbox.Acked)
				if !untold || !is {
					continue
				}
				d.Body = &inbox.Acked{EntryIDs: []notify.ID{}, By: b.By, TurnID: b.TurnID}
				if err := d.Encode(); err != nil {
					w.h.t.Errorf("encode %+v: %v", d.Body, err)
				}
			}
		})
	}}
}

// listTells is a build in which the list of child turns for a new attempt tells nothing.
func listTells() *variant {
	return inLists(notify.InboxTold, func(e *inbox.Entry, box *inbox.Inbox) {
		e.Fresh, e.ToldByTurnID, e.ToldSeq = true, "", 0
		box.NewEntries++
	})
}

// listForgets is a build in which stays told what such a list has no room for, and the list for an
// attempt before had.
func listForgets() *variant {
	return inLists(notify.InboxUntold, func(e *inbox.Entry, box *inbox.Inbox) {
		e.Fresh = false
		box.NewEntries--
	})
}

// inLists is a build that undoes what such a list does to entries by an event with this name.
func inLists(method string, undo func(e *inbox.Entry, box *inbox.Inbox)) *variant {
	return &variant{arm: func(w *forest) {
		w.h.faults.without(func(u *ledger.Unit) {
			ids := map[notify.ID]bool{}
			listed := false
			for i := range u.Drafts {
				d := &u.Drafts[i]
				if listed && d.Method == method {
					switch b := d.Body.(type) {
					case *inbox.Told:
						for _, id := range b.EntryIDs {
							ids[id] = true
						}
						d.Body = &inbox.Told{EntryIDs: []notify.ID{}, TurnID: b.TurnID}
					case *inbox.Untold:
						for _, id := range b.EntryIDs {
							ids[id] = true
						}
						d.Body = &inbox.Untold{EntryIDs: []notify.ID{}, TurnID: b.TurnID, Silent: b.Silent}
					}
					if err := d.Encode(); err != nil {
						w.h.t.Errorf("encode %+v: %v", d.Body, err)
					}
				}
				c, is := d.Body.(*items.Created)
				listed = listed || is && strings.Contains(string(c.Content), "Your turn is being tried again.")
			}
			if len(ids) == 0 {
				return
			}
			var box *inbox.Inbox
			for _, row := range u.Rows {
				if b, is := row.(*inbox.Inbox); is {
					box = b
				}
			}
			for _, row := range u.Rows {
				if e, is := row.(*inbox.Entry); is && ids[e.EntryID] {
					undo(e, box)
				}
			}
		})
	}}
}

// The model has to see what it is for: each of these builds breaks one rule, and is
// caught by the properties that need it.
func TestRandomTreesCatchBrokenBuilds(t *testing.T) {
	hosttest.Long(t)
	for name, c := range map[string]struct {
		profile string
		build   func() *variant
		breaks  []string // one of these properties
	}{
		"a wake comes before the queue": {"queues", func() *variant {
			return &variant{rows: func(r engine.Rows) engine.Rows { return wakesFirst{r} }}
		}, []string{"P4"}},
		"the policy is in memory only":             {"detaches", func() *variant { return &variant{between: forgetDetached} }, []string{"P5"}},
		"an end is told before it is durable":      {"ends", tellsEarly, []string{"P1"}},
		"an answer is marked before it is written": {"awaits", func() *variant { return &variant{marksFirst: true} }, []string{"P1"}},
		"the end of an owner has no fence": {"ends", func() *variant {
			v := staleLooks()
			v.arm = func(w *forest) {
				w.h.faults.without(func(u *ledger.Unit) { dropFence[*turns.Settled](u) })
			}
			return v
		}, []string{"P6"}},
		"an end in review counts as accepted":               {"reviews", unreviewed, []string{"P1"}},
		"a cut loses what was not read":                     {"cuts", func() *variant { return &variant{losesCut: true} }, []string{"P1"}},
		"an end forgets what was told before":               {"murmur", forgetsEarlier, []string{"P2"}},
		"a list for a new attempt tells nothing":            {"retries", listTells, []string{"P1"}},
		"a list for a new attempt forgets what is left out": {"retold", listForgets, []string{"P1"}},
		"ends wake their owner one by one":                  {"siblings", func() *variant { return &variant{rows: func(r engine.Rows) engine.Rows { return eachEnd{r} }} }, []string{"P12"}},
		"wakes without a word have no bound":                {"silent", unbounded, []string{"P11"}},
		"chains of wakes have no bound":                     {"restless", unbounded, []string{"P11"}},
		"a turn waits for outside work": {"outside", func() *variant {
			return &variant{rows: func(r engine.Rows) engine.Rows { return waitsOutside{r} }}
		}, []string{"O1"}},
		"nothing that is new waits for more":   {"windows", noWindow, []string{"W1"}},
		"what is new waits too long":           {"windows", longWindow, []string{"W2"}},
		"leases have no bound":                 {"windows", uncounted, []string{"L1"}},
		"chains of outside work have no bound": {"circle", unchained, []string{"P11"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const most = 200 // the build that is hardest to catch is caught by one in fifteen
			for seed := range uint64(most) {
				v := c.build()
				v.broken = true
				failures, _ := grow(t, newTreeProgram(seed, c.profile), v, nil)
				for _, f := range failures {
					if slices.Contains(c.breaks, kindOfFailure(f)) {
						t.Logf("caught in run %d: %s", seed+1, strings.ReplaceAll(fmt.Sprintf("%.200s", f), "\n", " "))
						return
					}
				}
			}
			t.Errorf("not caught in %d runs", most)
		})
	}
}

// The fence of the end of an owner's turn is what keeps looks that are too old from
// doing harm.
func TestRandomTreesHoldWithStaleLooks(t *testing.T) {
	for seed := range uint64(6) {
		p := newTreeProgram(seed, "ends")
		v := staleLooks()
		v.broken = true // only the properties
		if failures, log := grow(t, p, v, nil); len(failures) > 0 {
			t.Errorf("%s\n%s\nprogram: %s", strings.Join(failures, "\n"), log, p)
		}
	}
}
