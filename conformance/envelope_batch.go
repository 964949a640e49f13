package conformance

import (
	"slices"
	"strconv"
	"strings"
)

// batchOf returns a batch of n plain requests with the ids 1 to n.
func batchOf(n int) string {
	var members []string
	for i := range n {
		members = append(members, request(strconv.Itoa(i+1), plain, nil))
	}
	return "[" + strings.Join(members, ",") + "]"
}

// byID finds the response with the id in a batch.
func byID(all []*message, id string) *message {
	i := slices.IndexFunc(all, func(m *message) bool { return string(m.id) == id })
	if i < 0 {
		return &message{}
	}
	return all[i]
}

func batchChecks() []check {
	return []check{
		{id: "batch.hundred", sentence: "A batch of 100 is answered whole.", source: srcFrames, run: func(p *probe) {
			all := p.batch(batchOf(100))
			p.must(len(all) == 100, "got %d responses, want 100", len(all))
			for i := range 100 {
				m := byID(all, strconv.Itoa(i+1))
				p.must(m.isResponse(), "no response with id %d", i+1)
			}
		}},
		{id: "batch.hundred_one", sentence: "A batch of 101 gets -32600.", source: srcFrames, run: func(p *probe) {
			p.mustError(p.rpc(batchOf(101)), -32600, "invalid_request", "a batch of 101")
		}},
		{id: "batch.duplicate_id", sentence: "An id twice in one batch is a duplicate.", source: srcFrames, run: func(p *probe) {
			all := p.batch(`[` + request("1", plain, nil) + `,` + request("1", plain, nil) + `]`)
			p.must(len(all) == 2, "got %d responses, want 2", len(all))
			dup := 0
			for _, m := range all {
				if m.failure != nil && m.kind() == "duplicate_id" {
					p.mustError(m, -32600, "duplicate_id", "a member")
					dup++
				}
			}
			p.must(dup == 1, "%d of the two members got duplicate_id, want 1", dup)
		}},
		{id: "batch.on_stream", sentence: "A batch on a two-way stream is answered as one line with an array.", source: srcFrames, run: func(p *probe) {
			d := p.duplex("")
			d.send(batchOf(3))
			line := d.await("an array", 0, func(m *message) bool { return m.raw[0] == '[' })
			all, err := parseBatch(line.raw)
			p.must(err == nil && len(all) == 3, "got %d responses (%v), want 3", len(all), err)
		}},
		{id: "batch.fits_frame", sentence: "A member whose response no longer fits the frame gets frame_too_large in its place.", source: srcFrames, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			limit := p.facts.limit("max_frame_bytes", 4<<20)
			from := int64(d.opened().num("latest_seq"))
			turn := p.turn(d, p.echoThread(d), "/items 20 60000").str("turn_id")
			d.completed(turn)
			var members []string
			for i := range limit/(900<<10) + 3 {
				members = append(members, request(strconv.Itoa(i+1), "event/list", obj{"after_seq": from, "limit": 1000}))
			}
			r := p.post("[" + strings.Join(members, ",") + "]")
			p.must(len(r.body) <= limit+1, "the answer has %d bytes, more than a frame (%d)", len(r.body), limit)
			all, err := parseBatch(r.body)
			p.must(err == nil, "no batch of responses: %v", err)
			p.must(len(all) == len(members), "got %d responses, want %d", len(all), len(members))
			p.must(byID(all, "1").result != nil, "the first member was refused: %s", clip(byID(all, "1").failure, 200))
			cut := 0
			for _, m := range all {
				if m.failure != nil {
					p.mustError(m, -32600, "frame_too_large", "a member")
					cut++
				}
			}
			p.must(cut > 0, "every member was answered in %d bytes", len(r.body))
		}},
	}
}
