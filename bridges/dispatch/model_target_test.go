package dispatch

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"sync"
	"time"

	"github.com/seed82539d15/holon/bridges"
)

// receiver is what all bridges of a run deliver to. What it does at an attempt depends
// on the delivery and the number of the attempt only, so that a seed says it.
type receiver struct {
	a    *audit
	seed uint64
	bad  int // of a hundred attempts, how many go wrong

	mu       sync.Mutex
	healed   bool
	sends    int            // in all
	tries    map[string]int // by delivery
	got      []gotten
	times    map[string]int // how often a delivery was received
	posts    []*post
	killAt   int // the program dies at the answer with this number; 0 = it does not
	kill     func()
	answered map[string]int // by what the target did
	released chan struct{}  // closed when attempts that are stuck return
}

// gotten is a delivery that was received once.
type gotten struct {
	id       string // of the delivery
	envelope bridges.Envelope
}

// post is a message that the target shows, or has shown.
type post struct {
	id, card string // card is the key; "" = it is in none
	mark     string // what was posted
	seq      int64  // what it shows
	removed  bool
}

func newReceiver(seed uint64, bad int) *receiver {
	return &receiver{seed: seed, bad: bad, tries: map[string]int{}, times: map[string]int{}, answered: map[string]int{}, released: make(chan struct{})}
}

// release lets attempts return that are stuck: the program has ended, or all is well.
func (r *receiver) release() {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.released)
	r.released = make(chan struct{})
}

// channel is a bridge's way to the receiver.
type channel struct {
	*target
	r      *receiver
	bridge string
	edits  bool
}

// Edits implements bridges.Channel.
func (c channel) Edits() bool { return c.edits }

// Send implements bridges.Channel.
func (c channel) Send(ctx context.Context, o *bridges.Outgoing) bridges.Result {
	return c.r.send(ctx, c, o)
}

// conduct is how the target behaves at an attempt.
type conduct struct {
	name   string
	reads  bool // it receives the delivery
	takes  time.Duration
	result bridges.Result
	stuck  bool // it does not return
}

var (
	conductGood = conduct{name: "delivered", reads: true, result: bridges.Result{Outcome: bridges.Delivered, Status: 200}}
	// conductsBad are the others. What was not answered may have arrived.
	conductsBad = []conduct{
		{"slow bytes", true, 14 * time.Second, bridges.Result{Outcome: bridges.Delivered, Status: 200}, false},
		{"a body without end", true, time.Second, bridges.Result{Outcome: bridges.Delivered, Status: 200}, false},
		{"connection refused", false, 0, bridges.Result{Outcome: bridges.Failed, Error: "connection_refused", Unhealthy: true}, false},
		{"reset before reading", false, 0, bridges.Result{Outcome: bridges.Failed, Error: "connection_reset", Unhealthy: true, Arrived: true}, false},
		{"reset after reading", true, 0, bridges.Result{Outcome: bridges.Failed, Error: "connection_reset", Unhealthy: true, Arrived: true}, false},
		{"lost answer", true, 0, bridges.Result{Outcome: bridges.Failed, Error: "connection_reset", Unhealthy: true, Arrived: true}, false},
		{"timeout", false, 20 * time.Second, bridges.Result{Outcome: bridges.Failed, Error: "timeout", Unhealthy: true, Arrived: true}, false},
		{"timeout after reading", true, 20 * time.Second, bridges.Result{Outcome: bridges.Failed, Error: "timeout", Unhealthy: true, Arrived: true}, false},
		{"500", false, 0, bridges.Result{Outcome: bridges.Failed, Status: 500, Error: "status 500", Unhealthy: true, Arrived: true}, false},
		{"500 after reading", true, 0, bridges.Result{Outcome: bridges.Failed, Status: 500, Error: "status 500", Unhealthy: true, Arrived: true}, false},
		{"301", false, 0, bridges.Result{Outcome: bridges.Failed, Status: 301, Error: "status 301"}, false},
		{"404", false, 0, bridges.Result{Outcome: bridges.Refused, Status: 404, Error: "status 404"}, false},
		{"429", false, 0, bridges.Result{Outcome: bridges.Wait, Status: 429, Error: "status 429", RetryAfter: 11 * time.Second}, false},
		{"not now", false, 0, bridges.Result{Outcome: bridges.Wait, Status: 75, Error: "exit 75"}, false},
		{"panic", true, 0, bridges.Result{}, false},
		{"stuck", false, 0, bridges.Result{Outcome: bridges.Failed, Error: "connection_refused", Unhealthy: true}, true},
		{"stuck after reading", true, 0, bridges.Result{Outcome: bridges.Delivered, Status: 200}, true},
	}
	conductPoison = conduct{name: "422", result: bridges.Result{Outcome: bridges.Refused, Status: 422, Error: "status 422"}}
	conductGone   = conduct{name: "410", result: bridges.Result{Outcome: bridges.Gone, Status: 410, Error: "status 410"}}
)

// conductOf draws what happens at the n-th attempt of a delivery.
func (r *receiver) conductOf(id string, n int) conduct {
	h := fnv.New64a()
	fmt.Fprint(h, r.seed, id, n)
	x := h.Sum64()
	x ^= x >> 29
	x *= 0x9e3779b97f4a7c15
	x ^= x >> 32
	poison := fnv.New64a()
	fmt.Fprint(poison, id, r.seed)
	switch draw := int(x % 100); {
	case !r.healed && r.bad > 0 && poison.Sum64()>>7%12 == 0: // it is never accepted
		return conductPoison
	case r.healed || draw >= r.bad:
		return conductGood
	case x/100%120 == 0:
		return conductGone
	default:
		return conductsBad[x/12000%uint64(len(conductsBad))]
	}
}

func (r *receiver) send(ctx context.Context, to channel, o *bridges.Outgoing) bridges.Result {
	notWaitedFor, ended := r.a.sent(to, o)
	defer ended()
	id := o.Envelope().DeliveryID
	r.mu.Lock()
	r.sends++
	r.tries[id]++
	how := r.conductOf(id, r.tries[id])
	r.answered[how.name]++
	dies := r.sends == r.killAt
	released := r.released
	r.mu.Unlock()
	if dies && o.Arrived {
		r.die() // before it is read
	}
	if how.takes > 0 {
		select {
		case <-time.After(how.takes):
		case <-ctx.Done(): // it was cut: it may have arrived
			how.result = bridges.Result{Outcome: bridges.Failed, Error: "canceled", Arrived: true}
		}
	}
	if how.reads {
		r.receive(to, o, &how.result)
	}
	if dies {
		r.die()
	}
	if how.name == "panic" {
		panic("a kind is broken")
	}
	if how.stuck {
		select {
		case <-released:
		case <-ctx.Done():
			select {
			case <-released:
			case <-time.After(lateness - time.Nanosecond):
				notWaitedFor()
				<-released
			}
			return how.result
		case <-time.After(to.Timeout() + lateness - time.Nanosecond):
			notWaitedFor()
			<-released
			return how.result
		}
	}
	r.a.answered(o, how.result.Outcome)
	return how.result
}

// die ends the program, unless all is well by now.
func (r *receiver) die() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.healed {
		r.kill()
	}
}

// receive takes a delivery in, and changes what is visible as kinds do.
func (r *receiver) receive(to channel, o *bridges.Outgoing, result *bridges.Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got = append(r.got, gotten{o.Envelope().DeliveryID, *o.Envelope()})
	r.times[o.Envelope().DeliveryID]++
	if !to.edits {
		return
	}
	if len(o.Cards) == 0 {
		r.posts = append(r.posts, &post{id: fmt.Sprint("m", len(r.posts)), mark: o.ID, seq: o.Envelope().Seq})
		return
	}
	for _, s := range o.Cards {
		if s.Remove {
			if shown := r.visible(func(p *post) bool { return p.id == s.RemoteID }); shown != nil {
				shown.removed = true
			}
			result.RemoteIDs = append(result.RemoteIDs, "")
			continue
		}
		result.RemoteIDs = append(result.RemoteIDs, r.show(&s, o))
	}
}

// show shows a delivery in a card. A post that may have been made before is looked for
// by its mark.
func (r *receiver) show(s *bridges.Card, o *bridges.Outgoing) string {
	seq := o.Envelope().Seq
	if shown := r.visible(func(p *post) bool { return p.id == s.RemoteID && s.RemoteID != "" }); shown != nil && !s.Post {
		if shown.seq > seq {
			r.a.fail("P7: the message of %s showed %d and was changed to the older %d", o.Envelope().DeliveryID, shown.seq, seq)
		}
		shown.seq = seq
		return shown.id
	}
	mine := r.visible(func(p *post) bool { return o.Arrived && p.card == s.Key && p.mark == o.ID })
	if mine == nil {
		mine = &post{id: fmt.Sprint("m", len(r.posts)), card: s.Key, mark: o.ID}
		r.posts = append(r.posts, mine)
	}
	mine.seq = seq
	for _, p := range r.posts {
		if p.id == s.RemoteID && p != mine {
			p.removed = true
		}
	}
	return mine.id
}

func (r *receiver) visible(is func(*post) bool) *post {
	i := slices.IndexFunc(r.posts, func(p *post) bool { return !p.removed && is(p) })
	if i < 0 {
		return nil
	}
	return r.posts[i]
}
