//go:build linux

package faults

import (
	"encoding/json"
	"errors"
	"fmt"
)

// inboxEntry is what tests look at in an entry.
type inboxEntry struct {
	EntryID      string `json:"entry_id"`
	DigestID     string `json:"digest_id"`
	Count        int    `json:"count"`
	AckedAt      string `json:"acked_at"`
	SupersededBy string `json:"superseded_by"`
}

// inboxPage is the result of inbox/read, of all pages.
type inboxPage struct {
	Entries []inboxEntry `json:"entries"`
	Next    string       `json:"next_after_entry_id"`
	Unacked int          `json:"unacked_entries"`
	Pending int          `json:"pending_items"`
}

// inbox reads all entries that the params select, in small pages.
func (s *server) inbox(params object) (all inboxPage, err error) {
	for params = params.with("limit", 5); ; params = params.with("after_entry_id", all.Next) {
		r, err := s.call("inbox/read", params)
		if err != nil {
			return all, err
		}
		page := inboxPage{}
		if err := r.into(&page); err != nil {
			return all, err
		}
		page.Entries = append(all.Entries, page.Entries...)
		if all = page; all.Next == "" {
			return all, nil
		}
	}
}

// inboxItem is what tests look at in a raw item.
type inboxItem struct {
	RawID    string `json:"raw_id"`
	Source   string `json:"source"`
	NativeID string `json:"native_id"`
	AckedAt  string `json:"acked_at"`
	Payload  struct {
		Native string `json:"native"`
	} `json:"payload"`
}

// expand reads all raw items of an entry, in small pages.
func (s *server) expand(thread, entry string) (all []inboxItem, err error) {
	for params := (object{"thread_id": thread, "entry_id": entry, "limit": 2}); ; {
		r, err := s.call("inbox/expand", params)
		if err != nil {
			return nil, err
		}
		var page struct {
			Items []inboxItem `json:"items"`
			Next  string      `json:"next_after_raw_id"`
		}
		if err := r.into(&page); err != nil {
			return nil, err
		}
		all = append(all, page.Items...)
		if page.Next == "" {
			return all, nil
		}
		params = params.with("after_raw_id", page.Next)
	}
}

// inLogOfInbox is what the events of inboxes say.
type inLogOfInbox struct {
	raw     map[origin]string // raw_id of each item
	posted  map[string]int    // how often a raw_id was new in an entry
	pending map[string]int    // of each thread
}

func foldInboxes(log []string) (*inLogOfInbox, error) {
	f := &inLogOfInbox{raw: map[origin]string{}, posted: map[string]int{}, pending: map[string]int{}}
	for _, line := range log {
		var e struct {
			Method string `json:"method"`
			Params struct {
				ThreadID  string   `json:"thread_id"`
				RawID     string   `json:"raw_id"`
				Source    string   `json:"source"`
				NativeID  string   `json:"native_id"`
				DigestID  string   `json:"digest_id"`
				NewRawIDs []string `json:"new_raw_ids"`
				Entry     struct {
					DigestID string `json:"digest_id"`
				} `json:"entry"`
			} `json:"params"`
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			return nil, err
		}
		switch p := &e.Params; e.Method {
		case "inbox/received":
			id := origin{p.ThreadID, p.Source, p.NativeID}
			if f.raw[id] != "" {
				return nil, fmt.Errorf("%v was received twice: %s and %s", id, f.raw[id], p.RawID)
			}
			f.raw[id] = p.RawID
			if p.DigestID != "" {
				f.pending[p.ThreadID]++
			}
		case "inbox/posted":
			for _, id := range p.NewRawIDs {
				if f.posted[id]++; f.posted[id] > 1 {
					return nil, fmt.Errorf("%s was new in two entries", id)
				}
			}
			if p.Entry.DigestID != "" {
				f.pending[p.ThreadID] -= len(p.NewRawIDs)
			}
		}
	}
	return f, nil
}

// itemsKept checks that everything that was acknowledged to the sender is there
// exactly once, and that what a client has acknowledged stays so. Before the
// script has ended again, windows may end meanwhile.
func (c *inboxLoad) itemsKept(s *server, log []string, ended bool) error {
	f, err := foldInboxes(log)
	if err != nil {
		return err
	}
	for id, rawID := range c.sent {
		switch got := f.raw[id]; {
		case got == "":
			return fmt.Errorf("%v was acknowledged and is not in the log", id)
		case rawID != "" && got != rawID:
			return fmt.Errorf("%v was acknowledged as %s and is %s in the log", id, rawID, got)
		}
	}
	for _, thread := range []string{wokenInbox, readInbox, heldInbox} {
		if _, started := c.raws[thread]; !started {
			continue
		}
		if err := c.inboxKept(s, thread, f, ended); err != nil {
			return fmt.Errorf("inbox %s: %w", thread, err)
		}
	}
	if !ended {
		return nil
	}
	timers := 0
	for id := range f.raw {
		if id.source == "timer" {
			timers++
		}
	}
	if timers != 1 {
		return fmt.Errorf("the timer has fired %d times, want once", timers)
	}
	return nil
}

// inboxKept compares one inbox, as the wire shows it, with the log before it. The
// inbox that waits for a flush by hand has not changed since.
func (c *inboxLoad) inboxKept(s *server, thread string, f *inLogOfInbox, ended bool) error {
	all, err := s.inbox(object{"thread_id": thread, "include_acked": true, "include_superseded": true})
	if err != nil {
		return err
	}
	if still := ended || thread == heldInbox; still && all.Pending != f.pending[thread] || ended && all.Pending != 0 {
		return fmt.Errorf("%d items are pending, %d in the log", all.Pending, f.pending[thread])
	}
	var errs []error
	failed := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	in, visible, acked, natives := map[string]int{}, map[string]int{}, map[string]bool{}, map[string]string{}
	digests := map[string]int{}
	for _, e := range all.Entries {
		items, err := s.expand(thread, e.EntryID)
		if err != nil {
			return fmt.Errorf("expand %s: %w", e.EntryID, err)
		}
		if len(items) != e.Count {
			failed("%s has %d items, and shows %d", e.EntryID, e.Count, len(items))
		}
		shown := e.AckedAt == "" && e.SupersededBy == ""
		if shown && e.DigestID != "" {
			if digests[e.DigestID]++; digests[e.DigestID] > 1 {
				failed("%s has two visible snapshots", e.DigestID)
			}
		}
		for _, it := range items {
			in[it.RawID]++
			acked[it.RawID] = it.AckedAt != ""
			if it.AckedAt == "" && e.AckedAt != "" {
				failed("%s is acknowledged, and its %s is not", e.EntryID, it.RawID)
			}
			if it.AckedAt == "" && shown {
				visible[it.RawID]++
			}
			if was := natives[it.NativeID]; was != "" && was != it.RawID {
				failed("%s is stored as %s and %s", it.NativeID, was, it.RawID)
			}
			natives[it.NativeID] = it.RawID
			if it.Source != "timer" && it.Payload.Native != it.NativeID {
				failed("%s has another payload: %+v", it.RawID, it)
			}
		}
	}
	unposted := 0
	for id, raw := range f.raw {
		switch {
		case id.thread != thread:
		case in[raw] == 0 && f.posted[raw] == 0:
			unposted++ // pending, or posted since the log was read
		case in[raw] == 0:
			failed("%v was in an entry, and is in none", id)
		case f.posted[raw] > 0 && !acked[raw] && visible[raw] != 1:
			failed("%v is not acknowledged, and visible %d times", id, visible[raw])
		case c.acked[raw] && !acked[raw]:
			failed("%v was acknowledged, and is not any more", id)
		}
	}
	if ended && unposted > 0 || unposted > f.pending[thread] {
		failed("%d items are in no entry, %d are pending", unposted, f.pending[thread])
	}
	return errors.Join(errs...)
}
