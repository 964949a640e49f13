package conformance

import (
	"regexp"
	"slices"
	"strings"
)

// slashName is the form of the protocol's names: a noun, a slash, a word; a
// method may have a second slash as in holon/logStream/stop, or two words as in
// bridge/rotate_secret.
var slashName = regexp.MustCompile(`^[a-z]+(/[a-z][a-zA-Z]*(_[a-z]+)*)+$`)

// foreignNames come from other specifications.
var foreignNames = []string{"initialize", "rpc.discover"}

// methods is every method of protocol.md §3.
var methods = []string{
	"initialize", "rpc.discover",
	"holon/status", "holon/pause", "holon/resume", "holon/prune", "holon/logStream", "holon/logStream/stop",
	"thread/start", "thread/pause", "thread/resume", "thread/close", "thread/list", "thread/read",
	"thread/configure", "thread/rename", "thread/fork", "agent/list",
	"turn/start", "turn/steer", "turn/interrupt", "turn/detach", "turn/await", "turn/review", "turn/retry", "turn/read", "turn/list",
	"turn/claim", "turn/renew", "turn/complete", "turn/fail", "step/start", "step/end",
	"item/list", "item/read", "item/respond", "event/list",
	"item/create", "item/append", "item/update", "item/delete", "item/batch",
	"inbox/ingest", "inbox/send", "inbox/configure", "inbox/read", "inbox/expand", "inbox/items", "inbox/ack", "inbox/flush", "inbox/wake",
	"inbox/subscribe", "inbox/unsubscribe", "timer/create", "timer/list", "timer/delete",
	"cursor/advance", "cursor/error", "cursor/reset", "cursor/delete", "cursor/read", "cursor/list",
	"bridge/create", "bridge/list", "bridge/read", "bridge/update", "bridge/pause", "bridge/resume", "bridge/test", "bridge/rotate_secret", "bridge/delete",
	"subscription/create", "subscription/update", "subscription/list", "subscription/read", "subscription/delete",
	"subscription/pause", "subscription/resume", "subscription/reset", "subscription/skip",
	"delivery/list", "delivery/read", "delivery/redeliver",
	"token/create", "token/list", "token/revoke",
	"signin/code", "signin/create", "signin/list", "signin/delete",
	"stream/subscribe", "stream/unsubscribe",
}

// trait says whether a notification is an event of the log.
type trait int

const (
	logged  trait = iota // it is an event of the log
	passing              // it is not, and a seq in it is not its own
	ending               // it is one, and ends a turn
)

// notifications is every notification of protocol.md §4. An unknown one is
// treated as an event.
var notifications = map[string]trait{
	"stream/opened": passing, "stream/heartbeat": passing, "stream/closing": passing, "holon/log": passing,
	"holon/paused": logged, "holon/resumed": logged,
	"thread/started": logged, "thread/resumed": logged, "thread/paused": logged, "thread/closed": logged, "thread/updated": logged,
	"turn/queued": logged, "turn/started": logged, "turn/progress": logged, "turn/detached": logged, "turn/reviewed": logged,
	"turn/completed": ending, "turn/interrupted": ending, "turn/failed": ending,
	"item/created": logged, "item/updated": logged, "item/deleted": logged, "item/delta": logged,
	"inbox/received": logged, "inbox/posted": logged, "inbox/acked": logged, "inbox/told": logged, "inbox/untold": logged, "inbox/withdrawn": logged,
	"inbox/woken": logged, "inbox/stalled": logged, "inbox/configured": logged, "inbox/subscribed": logged, "inbox/unsubscribed": logged,
	"inbox/expired": logged, "timer/created": logged, "timer/fired": logged, "timer/deleted": logged,
	"cursor/reset": logged, "cursor/deleted": logged,
	"bridge/created": logged, "bridge/updated": logged, "bridge/paused": logged, "bridge/resumed": logged, "bridge/rotated": logged,
	"bridge/disabled": logged, "bridge/deleted": logged,
	"subscription/created": logged, "subscription/updated": logged, "subscription/paused": logged, "subscription/resumed": logged,
	"subscription/held": logged, "subscription/reset": logged, "subscription/skipped": logged, "subscription/disabled": logged,
	"subscription/ended": logged, "subscription/deleted": logged, "delivery/mismatch": logged, "delivery/dead": logged, "delivery/lost": logged,
	"token/created": logged, "token/revoked": logged,
	"step/started": logged, "step/ended": logged, "stream/rewind": logged, "turn/late": logged,
}

func nameChecks() []check {
	return []check{
		{id: "name.methods", sentence: "Every method that rpc.discover lists is named with slashes, initialize and rpc.discover excepted.", source: srcMethods, run: func(p *probe) {
			doc := p.discover()
			p.must(len(doc.methods) > 0, "rpc.discover lists no method")
			for _, m := range doc.methods {
				p.must(slashName.MatchString(m.name) || slices.Contains(foreignNames, m.name), "the method %q is not slash style", m.name)
			}
		}},
		{id: "name.notifications", sentence: "Every notification that rpc.discover lists is named with slashes.", source: srcEvents, run: func(p *probe) {
			doc := p.discover()
			p.must(len(doc.notifications) > 0, "rpc.discover lists no notification (x-notifications)")
			for _, m := range doc.notifications {
				p.must(slashName.MatchString(m.name), "the notification %q is not slash style", m.name)
			}
		}},
		{id: "name.all_methods", sentence: "rpc.discover lists every method of the protocol, and each is served.", source: srcMethods, run: func(p *probe) {
			doc := p.discover()
			for _, name := range methods {
				p.must(named(doc.methods, name).name == name, "rpc.discover does not list %s", name)
			}
			for _, m := range doc.methods {
				// A wrong parameter shows whether the method exists, and
				// changes nothing.
				got := p.http().try(m.name, obj{"no_such_parameter": 1})
				p.must(got.code() != -32601, "rpc.discover lists %s, but it is not served", m.name)
			}
		}},
		{id: "name.all_notifications", sentence: "rpc.discover lists every notification of the protocol.", source: srcEvents, run: func(p *probe) {
			doc := p.discover()
			for name := range notifications {
				p.must(named(doc.notifications, name).name == name, "rpc.discover does not list %s", name)
			}
		}},
		{id: "name.seen", sentence: "Every notification that was seen is named with slashes and listed in rpc.discover.", source: srcEvents, needs: last, run: func(p *probe) {
			p.sample()
			doc := p.discover()
			for name := range p.seen.look().notifications {
				p.must(slashName.MatchString(name), "the notification %q was seen, which is not slash style", name)
				p.must(named(doc.notifications, name).name == name, "the notification %q was seen, which rpc.discover does not list", name)
			}
		}},
		{id: "name.type", sentence: "The type of an event is the last word of its method.", source: srcEvents, needs: last, run: func(p *probe) {
			p.sample()
			for name, all := range p.seen.look().notifications {
				for _, raw := range all {
					kind, there := decode(raw).get("type")
					last := name[strings.LastIndexByte(name, '/')+1:]
					p.must(!there || kind == last, "%s has type %v, want %s", name, kind, last)
				}
			}
		}},
		{id: "name.times", sentence: "Every event that was seen has seq, timestamp and, with a thread, thread_seq.", source: srcEvents, needs: last, run: func(p *probe) {
			p.sample()
			for name, all := range p.seen.look().notifications {
				if notifications[name] == passing {
					continue
				}
				for _, raw := range all {
					a := decode(raw)
					p.must(a.isInt("seq"), "%s has no seq: %s", name, clip(raw, 200))
					p.mustTime(a, name, "timestamp")
					p.must(a.has("thread_id") == a.has("thread_seq"), "%s has only one of thread_id and thread_seq: %s", name, clip(raw, 200))
				}
			}
		}},
	}
}

// sample ensures that some messages were seen when a check of kind last runs
// alone.
func (p *probe) sample() {
	d := p.duplex("")
	d.opened()
	t := p.thread(d, nil).str("thread_id")
	d.event("thread/started", "thread_id", t)
	if p.facts.echo == "" {
		p.burst(d)
	}
}
