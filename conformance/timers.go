package conformance

import (
	"strings"
	"time"
)

func timerChecks() []check {
	return []check{
		{id: "timer.fires", sentence: "A timer with a time fires once, is an item of the source timer, and is gone.", source: srcInbox, needs: needEcho | background, run: func(p *probe) {
			d := p.duplex("")
			t := p.thread(d, obj{"agent": "echo"})
			thread := t.str("thread_id")
			// The time of the server, whose clock may differ from ours.
			now, err := time.Parse(time.RFC3339Nano, t.str("started_at"))
			p.must(err == nil, "started_at: %v", err)
			at := now.Add(2 * time.Second).UTC().Format("2006-01-02T15:04:05.000Z")
			timer := p.call(d, "timer/create", obj{"thread_id": thread, "at": at, "text": "look at the build"})
			id := timer.str("timer.timer_id")
			p.must(id != "" && timer.str("timer.next_at") == at, "the next time of the timer is %q, want %q", timer.str("timer.next_at"), at)
			fired := d.event("timer/fired", "timer_id", id).args()
			p.must(fired.str("planned_at") == at && !fired.has("next_at") && !fired.has("missed"), "timer/fired is %s", marshal(map[string]any(fired)))
			p.must(fired.str("timestamp") >= at, "it fired at %s, before %s", fired.str("timestamp"), at)
			item := d.event("inbox/received", "thread_id", thread).args()
			p.must(item.str("source") == "timer" && strings.HasPrefix(item.str("native_id"), id+":") && !item.has("digest_id"), "the item is %s", marshal(map[string]any(item)))
			d.event("inbox/posted", "thread_id", thread, "reason", "item")
			entries := p.call(d, "inbox/read", obj{"thread_id": thread}).objs("entries")
			p.must(len(entries) == 1 && entries[0].str("source") == "timer" && strings.Contains(entries[0].str("summary"), "look at the build"), "inbox/read returns %v", entries)
			left := p.call(d, "timer/list", obj{"thread_id": thread}).list("timers")
			p.must(len(left) == 0, "timer/list still has %v", left)
			p.refuse(d, -32002, "timer_not_found", "timer/delete", obj{"thread_id": thread, "timer_id": id})
		}},
		{id: "timer.deleted", sentence: "A timer that was deleted does not fire.", source: srcInbox, needs: needEcho | background, run: func(p *probe) {
			d := p.duplex("")
			t := p.thread(d, obj{"agent": "echo"})
			thread := t.str("thread_id")
			now, err := time.Parse(time.RFC3339Nano, t.str("started_at"))
			p.must(err == nil, "started_at: %v", err)
			create := func(after time.Duration) string {
				at := now.Add(after).UTC().Format("2006-01-02T15:04:05.000Z")
				return p.call(d, "timer/create", obj{"thread_id": thread, "at": at, "text": "x"}).str("timer.timer_id")
			}
			first, second := create(1500*time.Millisecond), create(2*time.Second)
			p.call(d, "timer/delete", obj{"thread_id": thread, "timer_id": first})
			d.event("timer/fired", "timer_id", second) // by then the first would have fired
			for _, m := range d.ofThread(thread) {
				p.must(m.method != "timer/fired" || m.args().str("timer_id") == second, "it fired: %s", clip(m.raw, 200))
			}
		}},
	}
}
