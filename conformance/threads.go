package conformance

import (
	"slices"
)

func threadChecks() []check {
	return []check{
		{id: "thread.list", sentence: "thread/list filters by state and agent.", source: srcMethods, needs: needEcho, run: func(p *probe) {
			open := p.echoThread(p.http())
			closed := p.echoThread(p.http())
			p.call(p.http(), "thread/close", obj{"thread_id": closed})
			running := p.everyThread(obj{"state": "running", "agent": "echo"})
			p.must(slices.Contains(running, open) && !slices.Contains(running, closed), "state running lists the closed thread or lacks the open one")
			p.must(slices.Contains(p.everyThread(obj{"state": "closed"}), closed), "state closed lacks the closed thread")
		}},
	}
}

// everyThread pages through thread/list and returns the ids.
func (p *probe) everyThread(params obj) []string {
	var ids []string
	for _, t := range p.pages("thread/list", "threads", params, 1000) {
		ids = append(ids, t.str("thread_id"))
	}
	return ids
}

// pages collects every page of a list.
func (p *probe) pages(method, key string, params obj, limit int) []object {
	var all []object
	cursor := ""
	for range 200 {
		ask := obj{"limit": limit}
		for k, v := range params {
			ask[k] = v
		}
		if cursor != "" {
			ask["cursor"] = cursor
		}
		r := p.call(p.http(), method, ask)
		p.must(r.has(key), "%s lacks %q", method, key)
		p.must(len(r.list(key)) <= limit, "%s gave %d entries, the limit was %d", method, len(r.list(key)), limit)
		all = append(all, r.objs(key)...)
		cursor = r.str("next_cursor")
		if cursor == "" {
			return all
		}
	}
	p.failf("%s did not end after 200 pages", method)
	return nil
}
