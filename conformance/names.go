package conformance

import (
	"regexp"
	"slices"
	"strings"
)

// slashName is the form of every name of ours: a noun, a slash, a word; a
// method may have a second slash as in holon/logStream/stop.
var slashName = regexp.MustCompile(`^[a-z]+(/[a-z][a-zA-Z]*)+$`)

// foreignNames are named by other specifications.
var foreignNames = []string{"initialize", "rpc.discover"}

// allMethods is every method of protocol.md §3 and §2.
var allMethods = []string{
	"initialize", "rpc.discover",
	"holon/status", "holon/pause", "holon/resume", "holon/logStream", "holon/logStream/stop",
	"thread/start", "thread/pause", "thread/resume", "thread/close", "thread/list", "thread/read",
	"thread/configure", "thread/fork", "agent/list",
	"turn/start", "turn/steer", "turn/interrupt", "turn/retry", "turn/read", "turn/list",
	"turn/claim", "turn/renew", "turn/complete", "turn/fail", "step/start", "step/end",
	"item/list", "item/read", "item/respond", "event/list",
	"item/create", "item/append", "item/update", "item/delete", "item/batch",
	"stream/subscribe", "stream/unsubscribe",
}

// allNotifications is every notification of protocol.md §2 to §4.
var allNotifications = []string{
	"stream/opened", "stream/heartbeat", "stream/closing", "holon/log", "holon/paused", "holon/resumed",
	"thread/started", "thread/resumed", "thread/paused", "thread/closed", "thread/updated",
	"turn/queued", "turn/started", "turn/progress", "turn/completed", "turn/interrupted", "turn/failed",
	"item/created", "item/updated", "item/deleted", "item/delta",
	"step/started", "step/ended", "stream/rewind", "turn/late",
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
			for _, name := range allMethods {
				p.must(doc.method(name) != nil, "rpc.discover does not list %s", name)
			}
			for _, m := range doc.methods {
				// A wrong parameter tells whether the method is there, and does nothing.
				got := p.http().try(m.name, obj{"no_such_parameter": 1})
				p.must(got.code() != -32601, "rpc.discover lists %s, but it is not served", m.name)
			}
		}},
		{id: "name.all_notifications", sentence: "rpc.discover lists every notification of the protocol.", source: srcEvents, run: func(p *probe) {
			doc := p.discover()
			for _, name := range allNotifications {
				p.must(doc.notification(name) != nil, "rpc.discover does not list %s", name)
			}
		}},
		{id: "name.seen", sentence: "Every notification that was seen is named with slashes and listed in rpc.discover.", source: srcEvents, needs: last, run: func(p *probe) {
			p.sample()
			doc := p.discover()
			for name := range p.seen.look().notifications {
				p.must(slashName.MatchString(name), "the notification %q was seen, which is not slash style", name)
				p.must(doc.notification(name) != nil, "the notification %q was seen, which rpc.discover does not list", name)
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
				if strings.HasPrefix(name, "stream/") || name == "holon/log" {
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

// sample makes sure that something was seen when a judge runs alone.
func (p *probe) sample() {
	d := p.duplex("")
	d.opened()
	t := p.thread(d, nil).str("thread_id")
	d.event("thread/started", "thread_id", t)
	if p.facts.echo == "" {
		p.burst(d)
	}
}
