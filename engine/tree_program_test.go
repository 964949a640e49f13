package engine_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// treeMove is one command of one client. Pick says which of the turns known so far,
// and how the command is made.
type treeMove struct {
	Kind   string
	Thread int
	Pick   int
	Wait   time.Duration // before it
}

// treeLife is what clients do at once while the server runs, and how it ends.
type treeLife struct {
	Clients [][]treeMove
	Crash   int    // it dies before its commit with this number; 0 = when the clients are done
	End     string // how it ends if it has not died: "kill", "drain" or "stop"
}

// treeProgram is a run of the model: everything that is random in it, except for the
// order of goroutines.
type treeProgram struct {
	Seed    uint64
	Profile string
	Slots   int
	Slow    int      // of a hundred commits, how many take a while
	Threads []string // parents come first; the parent of "a12" is "a1"
	Lives   []treeLife
}

func (p *treeProgram) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d, profile %s, %d slots, %d %% slow commits, threads %v\n", p.Seed, p.Profile, p.Slots, p.Slow, p.Threads)
	for i, l := range p.Lives {
		fmt.Fprintf(&b, "life %d, ends by %s, crash before commit %d\n", i, l.End, l.Crash)
		for j, c := range l.Clients {
			fmt.Fprintf(&b, "  client %d:", j)
			for _, m := range c {
				fmt.Fprintf(&b, " {%s %s %d +%v}", m.Kind, p.Threads[m.Thread], m.Pick, m.Wait)
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// treeProfile is what a program consists of.
type treeProfile struct {
	kinds    []string // of moves; as often as they occur
	clients  int      // at most
	moves    int      // of a client in a life, at most
	lives    int      // at most
	crashes  int      // of ten lives that are not the last, how many die at a commit
	children int      // of ten prompts, how many start a child turn
	atOnce   int      // child turns of one prompt, at most
	calls    int      // of ten of those, how many wait for it in a call
	outside  int      // of ten prompts, how many start outside work
	silent   int      // of ten prompts, how many end without a word
	long     int      // of ten results, how many are long
	brittle  int      // of ten prompts, how many crash
	more     int      // of ten wakes, how many start another background child
	reviews  int      // of ten turns, how many have a review policy
	jobs     int      // of ten turns, how many are those of programs that ask for jobs
	redo     int      // of ten attempts of a program, how many crash once they have asked for its jobs
	slots    []int
	threads  [][]string
}

var (
	deepTree = []string{"a", "a1", "a2", "a11", "a12"}
	pair     = []string{"a", "a1", "a2"}
)

// treeProfiles bias programs toward races of one kind.
var treeProfiles = map[string]treeProfile{
	"mixed": {
		kinds: []string{
			"start", "child", "child", "child", "background", "background", "wait", "named", "detach", "detach", "await", "await", "watch",
			"steer", "cut", "interrupt", "retry", "retry", "ack", "wake", "send", "report", "pause thread", "resume thread", "pause", "idle", "none", "close",
		},
		clients: 3, moves: 8, lives: 4, crashes: 7, children: 4, atOnce: 2, calls: 3, silent: 1, more: 1, slots: []int{1, 2, 8}, threads: [][]string{deepTree, pair},
	},
	"ends": { // what ends at once, and who waits for it
		kinds:   []string{"start", "child", "child", "child", "background", "detach", "wait", "interrupt", "retry", "start", "await", "steer"},
		clients: 3, moves: 6, lives: 3, crashes: 6, children: 5, atOnce: 2, calls: 3, slots: []int{2, 8}, threads: [][]string{deepTree, pair},
	},
	"awaits": {
		kinds:   []string{"start", "background", "background", "child", "await", "await", "await", "await", "wait", "watch", "retry"},
		clients: 3, moves: 7, lives: 3, crashes: 7, children: 4, atOnce: 2, calls: 3, slots: []int{1, 8}, threads: [][]string{pair, deepTree},
	},
	"queues": { // people and machines want the same thread
		kinds:   []string{"start", "start", "start", "background", "background", "child", "send", "pause", "pause thread", "resume thread", "retry", "cut"},
		clients: 3, moves: 7, lives: 3, crashes: 4, children: 3, atOnce: 2, calls: 3, slots: []int{1, 2}, threads: [][]string{pair},
	},
	"retries": {
		kinds:   []string{"start", "child", "background", "background", "interrupt", "interrupt", "retry", "retry", "retry", "await", "pause thread", "resume thread"},
		clients: 2, moves: 9, lives: 3, crashes: 6, children: 4, atOnce: 2, calls: 3, slots: []int{8}, threads: [][]string{pair, deepTree},
	},
	"wakes": { // agents that go on by themselves
		kinds:   []string{"start", "background", "background", "background", "send", "report", "ack", "wake", "idle"},
		clients: 2, moves: 3, lives: 2, crashes: 5, children: 3, atOnce: 2, calls: 3, silent: 4, more: 4, slots: []int{1, 8}, threads: [][]string{pair},
	},
	"siblings": { // many children of one turn, which end at different times
		kinds:   []string{"start", "start", "background", "report", "wake", "idle", "interrupt", "retry"},
		clients: 2, moves: 4, lives: 2, crashes: 3, children: 9, atOnce: 4, slots: []int{8}, threads: [][]string{{"a", "a1", "a2", "a3", "a4"}},
	},
	"retold": { // owners that are tried again, whose children say more than one list has room for
		kinds:   []string{"start", "start", "background", "interrupt", "retry", "retry", "retry", "idle"},
		clients: 2, moves: 8, lives: 2, crashes: 3, children: 9, atOnce: 4, long: 9, brittle: 5, more: 8, slots: []int{8}, threads: [][]string{{"a", "a1", "a2", "a3", "a4"}},
	},
	"windows": { // what comes in bursts, and what tells it
		kinds:   []string{"send", "send", "send", "report", "report", "urgent", "start", "background", "idle", "idle", "wake", "pause thread", "resume thread", "ack", "retry"},
		clients: 3, moves: 8, lives: 3, crashes: 5, children: 2, atOnce: 2, silent: 1, slots: []int{1, 2, 8}, threads: [][]string{pair},
	},
	"silent": { // agents that have nothing to say to what they are told
		kinds:   []string{"background", "background", "send", "start"},
		clients: 1, moves: 3, lives: 1, children: 2, atOnce: 2, silent: 10, slots: []int{8}, threads: [][]string{pair},
	},
	"murmur": { // agents that wait for children, and have nothing to say to some of what they are told
		kinds:   []string{"start", "child", "child", "child", "background", "send", "report", "retry", "interrupt"},
		clients: 2, moves: 7, lives: 3, crashes: 5, children: 6, atOnce: 2, silent: 5, slots: []int{1, 8}, threads: [][]string{pair, deepTree},
	},
	"cuts": { // prompts that are cut before their agent has read them
		kinds:   []string{"start", "child", "child", "background", "send", "report", "cut", "cut unread", "cut unread"},
		clients: 3, moves: 8, lives: 2, crashes: 3, children: 5, atOnce: 2, slots: []int{2, 8}, threads: [][]string{pair},
	},
	"restless": { // agents that start something whenever they are woken
		kinds:   []string{"background", "background"},
		clients: 1, moves: 2, lives: 2, crashes: 3, atOnce: 1, more: 10, slots: []int{8}, threads: [][]string{pair},
	},
	"detaches": {
		kinds:   []string{"child", "child", "child", "detach", "detach", "late detach", "late detach", "steer"},
		clients: 2, moves: 8, lives: 3, crashes: 5, children: 6, atOnce: 2, calls: 3, slots: []int{8}, threads: [][]string{pair},
	},
	"reviews": { // ends that wait for a verdict, and owners that may give it
		kinds: []string{
			"start", "child", "child", "background", "wait", "verdict", "verdict", "verdict", "verdict", "wrong verdict", "detach", "await", "await", "watch",
			"interrupt", "retry", "retry", "pause thread", "resume thread", "close",
		},
		clients: 3, moves: 9, lives: 4, crashes: 6, children: 4, atOnce: 2, calls: 3, reviews: 8, slots: []int{2, 8}, threads: [][]string{pair, deepTree},
	},
	"jobs": { // programs that are tried again, and ask for the same jobs each time
		kinds:   []string{"start", "start", "start", "child", "background", "job", "job", "interrupt", "retry", "retry", "detach", "await", "steer", "close"},
		clients: 3, moves: 7, lives: 4, crashes: 7, children: 2, atOnce: 1, calls: 3, jobs: 8, reviews: 1, slots: []int{1, 2, 8}, threads: [][]string{pair, deepTree},
	},
	"redone": { // programs that crash when some of their jobs are done
		kinds:   []string{"start", "start", "retry"},
		clients: 2, moves: 8, lives: 4, crashes: 3, jobs: 10, redo: 6, slots: []int{8}, threads: [][]string{pair},
	},
	"outside": { // threads that work for each other
		kinds:   []string{"start", "start", "outside", "outside", "outside", "child", "background", "await", "watch", "interrupt", "retry", "report", "close", "pause thread", "resume thread"},
		clients: 3, moves: 7, lives: 3, crashes: 5, children: 3, outside: 4, atOnce: 2, calls: 3, more: 1, reviews: 1, slots: []int{1, 8}, threads: [][]string{{"a", "a1", "b", "b1"}, deepTree},
	},
	"circle": { // agents that start work in each other whenever they have a prompt
		kinds:   []string{"start", "outside"},
		clients: 1, moves: 2, lives: 2, crashes: 3, outside: 10, slots: []int{8}, threads: [][]string{{"a", "a1", "b", "b1"}},
	},
	"long": {
		kinds: []string{
			"start", "child", "child", "child", "background", "background", "wait", "detach", "await", "await", "watch",
			"steer", "interrupt", "retry", "ack", "send", "report", "pause thread", "resume thread", "pause", "verdict", "verdict",
		},
		clients: 4, moves: 16, lives: 4, crashes: 7, children: 4, atOnce: 2, calls: 3, silent: 1, more: 1, reviews: 2, slots: []int{1, 2, 4}, threads: [][]string{{"a", "a1", "a2", "a11", "a12", "a21", "b", "b1"}},
	},
}

// profileOf is the profile of a seed: most runs are short.
func profileOf(seed uint64) string {
	return [...]string{
		"mixed", "ends", "awaits", "queues", "retries", "wakes", "mixed", "detaches", "ends", "awaits", "retries", "long",
		"mixed", "windows", "windows", "queues", "retries", "silent", "cuts", "restless", "ends", "reviews", "awaits", "detaches", "reviews", "reviews", "murmur", "murmur",
		"siblings", "siblings", "jobs", "redone", "outside", "outside", "circle", "outside", "retold", "retold",
	}[seed%38]
}

// waits are what moves and agents wait for: few different times, so that things happen
// at once.
var waits = []time.Duration{0, 0, 0, 0, time.Millisecond, 5 * time.Millisecond, 50 * time.Millisecond, 300 * time.Millisecond, time.Second}

func oneOf[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

func newTreeProgram(seed uint64, profile string) *treeProgram {
	r, f := rand.New(rand.NewPCG(seed, 1)), treeProfiles[profile]
	p := &treeProgram{Seed: seed, Profile: profile, Slots: oneOf(r, f.slots), Slow: oneOf(r, []int{0, 10, 40}), Threads: oneOf(r, f.threads)}
	for range 1 + min(r.IntN(f.lives+1), f.lives-1) {
		l := treeLife{End: oneOf(r, []string{"kill", "kill", "drain", "stop"})}
		if r.IntN(10) < f.crashes {
			l.Crash = 1 + r.IntN(30)
		}
		for range 1 + r.IntN(f.clients) {
			var c []treeMove
			for range 1 + r.IntN(f.moves) {
				m := treeMove{Kind: oneOf(r, f.kinds), Thread: r.IntN(len(p.Threads)), Pick: r.IntN(1000), Wait: oneOf(r, waits)}
				if r.IntN(3) == 0 {
					m.Thread = 0 // the more meets in one thread, the better
				}
				c = append(c, m)
			}
			l.Clients = append(l.Clients, c)
		}
		p.Lives = append(p.Lives, l)
	}
	// Something to work on.
	first := p.Lives[0].Clients
	first[0] = slices.Insert(first[0], 0, treeMove{Kind: "start", Pick: r.IntN(1000)})
	p.Lives[len(p.Lives)-1].Crash = 0
	return p
}

// smaller lists programs with less in them, those that leave out most first.
func (p *treeProgram) smaller() (list []*treeProgram) {
	with := func(change func(q *treeProgram)) {
		q := *p
		q.Lives = slices.Clone(p.Lives)
		for i := range q.Lives {
			q.Lives[i].Clients = slices.Clone(q.Lives[i].Clients)
		}
		change(&q)
		list = append(list, &q)
	}
	for i := range p.Lives {
		if len(p.Lives) > 1 {
			with(func(q *treeProgram) { q.Lives = slices.Delete(q.Lives, i, i+1) })
		}
	}
	for i, l := range p.Lives {
		for j := range l.Clients {
			if len(l.Clients) > 1 {
				with(func(q *treeProgram) { q.Lives[i].Clients = slices.Delete(q.Lives[i].Clients, j, j+1) })
			}
		}
	}
	for i, l := range p.Lives {
		for j, c := range l.Clients {
			for k := range c {
				with(func(q *treeProgram) { q.Lives[i].Clients[j] = slices.Delete(slices.Clone(c), k, k+1) })
			}
		}
	}
	return list
}
