package inbox

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed82539d15/holon/notify"
)

// naive is what an inbox should be, written from its description and not from
// the rules under test: every entry is a list of raw items, every digest is a
// list of raw items, and nothing is counted until somebody asks.
//
// It learns from the events of a unit only the seqs that things got; what these
// events must be, and that there are no others, it says itself.
type naive struct {
	items    []*naiveItem
	digests  []*naiveDigest
	entries  []*naiveEntry
	timers   map[string]*naiveTimer
	lagged   map[string]int64
	toldTurn string
	toldSeq  int64 // of the event that told last
	untold   bool
	silent   int
	lifted   int64 // seq of the newest inbox/woken
	wakeAt   time.Time
	stalled  bool
	since    time.Time // stalled

	settings Settings
	bounds   Bounds
	now      time.Time
	events   []logged // of the unit, those that no operation has claimed
}

type naiveItem struct {
	seq            int64
	source, native string
	sender         string
	size           int64
	occurred       time.Time
	received       time.Time
	deadline       time.Time // the latest time at which an entry shows it
	digest         *naiveDigest
	about, outcome string
	says, link     string
	passive        bool // it is no reason for a snapshot
	pending        bool
	acked, told    bool
	turn           string // that was told it last; "" = it is not told
	ackedAt        time.Time
	expired        bool
	ackedSeq       int64
}

type naiveDigest struct {
	seq                         int64
	source, resource, family    string
	open, removed               bool
	opened, firstPending, flush time.Time
	items                       []*naiveItem
	newest                      *naiveEntry
	revision                    int
	latest                      *naiveItem // that came last, and was then the newest about its subject
	failing                     bool       // a first item has come since a window was posted
}

// newestAbout is the item about the same that occurred last.
func (d *naiveDigest) newestAbout(about string) (newest *naiveItem) {
	for _, it := range d.items {
		if it.about == about && about != "" && (newest == nil || !it.occurred.Before(newest.occurred)) {
			newest = it
		}
	}
	return newest
}

// subjects are those of the items that are the newest about something.
func (d *naiveDigest) subjects(items []*naiveItem) (list []*naiveItem) {
	for _, it := range items {
		if it.about == "" || d.newestAbout(it.about) == it {
			list = append(list, it)
		}
	}
	return list
}

// reasons are those of the items that are a reason for a snapshot.
func reasons(items []*naiveItem) (list []*naiveItem) {
	for _, it := range items {
		if !it.passive {
			list = append(list, it)
		}
	}
	return list
}

// naiveGroup is the group of an item, nil if it has none.
func (m *naive) group(it *Item) *Grouping {
	g := it.Grouping
	switch {
	case !m.settings.Enabled:
		return nil
	case g != nil && g.ResourceRef != "" && g.EventFamily != "":
		return g
	case m.settings.Fallback && it.Variant != "":
		return &Grouping{EventFamily: it.Variant}
	}
	return nil
}

type naiveEntry struct {
	seq      int64
	kind     EntryKind
	digest   *naiveDigest
	items    []*naiveItem
	posted   Entry // as it was posted
	by       int64 // of the entry that superseded it
	ackedSeq int64
	ackedAt  time.Time
	toldBy   string
	toldSeq  int64
	removed  bool
}

type naiveTimer struct {
	created, at, next time.Time
	every             time.Duration
	text              string
}

func (d *naiveDigest) pending() (list []*naiveItem) {
	for _, it := range d.items {
		if it.pending {
			list = append(list, it)
		}
	}
	return list
}

func unacked(items []*naiveItem) (list []*naiveItem) {
	for _, it := range items {
		if !it.acked {
			list = append(list, it)
		}
	}
	return list
}

func (e *naiveEntry) visible() bool { return e.ackedSeq == 0 && e.by == 0 }

func (e *naiveEntry) fresh() bool {
	return e.visible() && slices.ContainsFunc(e.items, func(it *naiveItem) bool { return !it.acked && !it.told })
}

// visibleAt reports whether the entry could be read just after the event seq.
func (e *naiveEntry) visibleAt(seq int64) bool {
	return e.seq <= seq && (e.by == 0 || e.by > seq) && (e.ackedSeq == 0 || e.ackedSeq > seq)
}

// take claims the next event of the unit.
func (m *naive) take(method string) (logged, error) {
	if len(m.events) == 0 {
		return logged{}, fmt.Errorf("there is no %s", method)
	}
	e := m.events[0]
	if e.method != method {
		return e, fmt.Errorf("%s where %s belongs", e.method, method)
	}
	m.events = m.events[1:]
	return e, nil
}

func (m *naive) find(source, native string) *naiveItem {
	for _, it := range m.items {
		if it.source == source && it.native == native {
			return it
		}
	}
	return nil
}

// full reports whether the items do not fit. Items that wait are counted as if
// none of them were posted at once.
func (m *naive) full(items []Item) bool {
	pending, count, bytes := 0, 0, int64(0)
	for _, it := range m.items {
		if !it.acked {
			count++
			bytes += it.size
		}
		if it.pending {
			pending++
		}
	}
	batch := map[[2]string]bool{}
	for i := range items {
		it := &items[i]
		id := [2]string{it.Source, it.NativeID}
		if it.Source == SourceTurns || batch[id] || m.find(it.Source, it.NativeID) != nil {
			continue
		}
		batch[id] = true
		count++
		bytes += naiveSize(it)
		if m.group(it) != nil {
			pending++
		}
		if count > m.bounds.MaxUnackedItems || pending > m.bounds.MaxPendingItems || bytes > m.bounds.MaxUnackedBytes {
			return true
		}
	}
	return false
}

// naiveSender finds the sender in the payloads that tests use.
func naiveSender(it *Item) string {
	if it.Sender != "" {
		return it.Sender
	}
	_, rest, ok := strings.Cut(string(it.Payload), `"sender":{"login":"`)
	if !ok {
		return ""
	}
	name, _, _ := strings.Cut(rest, `"`)
	return name
}

func naiveSize(it *Item) int64 {
	return int64(256 + len(it.Payload) + len(it.Summary) + len(it.NativeID) + len(naiveSender(it)) + len(it.About) + len(it.Outcome) + len(it.Link))
}

// ingest is what follows from one item.
func (m *naive) ingest(it *Item) (Ingested, error) {
	if old := m.find(it.Source, it.NativeID); old != nil {
		out := Ingested{RawID: RawID(old.seq), Duplicate: true}
		if old.digest != nil {
			out.DigestID = DigestID(old.digest.seq)
		}
		return out, nil
	}
	next := &naiveItem{
		source: it.Source, native: it.NativeID, sender: naiveSender(it), size: naiveSize(it), occurred: it.OccurredAt.Time, received: m.now,
		deadline: m.now.Add(m.settings.MaxDelay), about: it.About, outcome: it.Outcome, says: it.Summary, link: it.Link,
	}
	if !it.OccurredAt.After(time.Unix(0, 0)) || it.OccurredAt.UTC().Year() > 9999 { // no time that a sender can mean
		next.occurred = m.now
	}
	g := m.group(it)
	grouped := g != nil
	var d *naiveDigest
	if grouped {
		for _, open := range m.digests {
			if open.open && open.source == it.Source && open.resource == g.ResourceRef && open.family == g.EventFamily {
				d = open
			}
		}
		if d != nil && (g.Breaks == BreaksBefore || m.now.Sub(d.opened) > m.settings.MaxDigestAge) {
			if len(d.pending()) > 0 {
				if _, err := m.post(d, ReasonRollover, true); err != nil {
					return Ingested{}, err
				}
			}
			d.open = false
			d = nil
		}
	}
	e, err := m.take(notify.InboxReceived)
	if err != nil {
		return Ingested{}, err
	}
	body := e.body.(*Received)
	next.seq = e.h.Seq
	out := Ingested{RawID: RawID(next.seq)}
	if grouped {
		if d == nil {
			d = &naiveDigest{seq: next.seq, source: it.Source, resource: g.ResourceRef, family: g.EventFamily, open: true, opened: m.now}
			m.digests = append(m.digests, d)
		}
		before := d.newestAbout(it.About)
		if before != nil && it.OccurredAt.IsZero() && before.occurred.After(next.occurred) {
			next.occurred = before.occurred
		}
		next.passive = g.Flush == FlushPassive
		window, delay := m.settings.Window, m.settings.MaxDelay
		if d.resource == "" {
			window, delay = m.settings.WakeWindow, 5*m.settings.WakeWindow
		}
		if len(reasons(d.pending())) == 0 {
			d.firstPending = m.now
		}
		switch {
		case g.Flush != FlushPassive:
			d.flush = d.firstPending.Add(delay)
			if w := m.now.Add(window); w.Before(d.flush) {
				d.flush = w
			}
		case len(d.pending()) == 0 || d.flush.After(m.now.Add(m.settings.MaxDigestAge)):
			d.flush = m.now.Add(m.settings.MaxDigestAge)
		}
		if before != nil && before.pending && !before.passive && !next.passive { // one of the two is enough
			if before.occurred.After(next.occurred) {
				next.passive = true
			} else {
				before.passive = true
			}
		}
		next.deadline = m.now.Add(delay)
		for _, p := range append(d.pending(), next) { // a policy with more delay holds for what waits, too
			if until := p.received.Add(delay); until.After(p.deadline) {
				p.deadline = until
			}
			if p.passive && d.flush.After(p.deadline) {
				p.deadline = d.flush
			}
		}
		next.digest, next.pending = d, true
		d.items = append(d.items, next)
		if it.About == "" || d.newestAbout(it.About) == next {
			d.latest = next
		}
		out.DigestID = DigestID(d.seq)
	}
	m.items = append(m.items, next)
	if body.RawID != out.RawID || body.Source != it.Source || body.NativeID != it.NativeID || string(body.Payload) != string(it.Payload) ||
		body.DigestID != out.DigestID || body.About != it.About || body.Outcome != it.Outcome || body.Link != it.Link || body.Fallback != (grouped && g.ResourceRef == "") || !body.OccurredAt.Equal(next.occurred) || body.Sender != next.sender {
		return out, fmt.Errorf("P1: %s is not the item %+v", body.RawID, it)
	}
	if !grouped {
		out.EntryID, err = m.postItem(next, it)
		return out, err
	}
	untold := !slices.ContainsFunc(d.items, func(it *naiveItem) bool { return !it.pending && !it.acked })
	first := g.Flush == FlushFirst && (!d.failing || untold)
	d.failing = d.failing || g.Flush == FlushFirst
	switch {
	case g.Breaks == BreaksAfter:
		out.EntryID, err = m.post(d, ReasonImmediate, true)
		d.open = false
	case g.Flush == FlushImmediate || first:
		out.EntryID, err = m.post(d, ReasonImmediate, false)
	case len(reasons(d.pending())) >= m.settings.MaxItems:
		out.EntryID, err = m.post(d, ReasonSize, false)
	case d.resource == "" && m.settings.WakeWindow == 0:
		out.EntryID, err = m.post(d, ReasonWindow, false)
	}
	return out, err
}

// postItem follows an entry of one item.
func (m *naive) postItem(it *naiveItem, of *Item) (notify.ID, error) {
	e, err := m.take(notify.InboxPosted)
	if err != nil {
		return "", fmt.Errorf("P1: raw_%d is in no entry: %w", it.seq, err)
	}
	body := e.body.(*Posted)
	want := Entry{
		EntryID: EntryID(e.h.Seq), Kind: KindItem, Source: it.source, Summary: of.Summary, Count: 1, LastRawID: RawID(it.seq),
		FirstAt: notify.Time{Time: it.occurred}, LastAt: notify.Time{Time: it.occurred}, PostedAt: notify.Time{Time: m.now}, Link: of.Link,
	}
	if of.Grouping != nil {
		want.ResourceRef, want.EventFamily = of.Grouping.ResourceRef, of.Grouping.EventFamily
	}
	if want.Summary == "" {
		want.Summary = it.source + " " + it.native
	}
	reason := ReasonItem
	if of.Grouping != nil && of.Grouping.Flush == FlushImmediate {
		reason = ReasonImmediate
	}
	if err := samePost(body, &want, reason, "", []*naiveItem{it}, false); err != nil {
		return "", err
	}
	m.entries = append(m.entries, &naiveEntry{seq: e.h.Seq, kind: KindItem, items: []*naiveItem{it}, posted: want})
	return want.EntryID, nil
}

// post follows a snapshot of a digest: of all its items that are not acknowledged,
// or, as a remainder, of those that were in one before.
func (m *naive) post(d *naiveDigest, reason Reason, closes bool) (notify.ID, error) {
	e, err := m.take(notify.InboxPosted)
	if err != nil {
		return "", fmt.Errorf("P1: %s of dig_%d: %w", reason, d.seq, err)
	}
	body := e.body.(*Posted)
	added := d.pending()
	if reason == ReasonRemainder {
		added = nil
	}
	for _, it := range added {
		it.pending = false
	}
	if len(added) > 0 && reason != ReasonImmediate {
		d.failing = false
	}
	var shown []*naiveItem
	people := map[string]bool{}
	want := Entry{
		EntryID: EntryID(e.h.Seq), Kind: KindSnapshot, DigestID: DigestID(d.seq), Revision: d.revision + 1, Source: d.source,
		ResourceRef: d.resource, EventFamily: d.family, PostedAt: notify.Time{Time: m.now}, Fallback: d.resource == "",
	}
	for _, it := range unacked(d.items) {
		if it.pending {
			continue
		}
		shown = append(shown, it)
		if it.sender != "" {
			people[it.sender] = true
		}
		if want.FirstAt.IsZero() || it.occurred.Before(want.FirstAt.Time) {
			want.FirstAt.Time = it.occurred
		}
		if it.occurred.After(want.LastAt.Time) {
			want.LastAt.Time = it.occurred
		}
		want.LastRawID = RawID(it.seq)
	}
	want.Count = len(shown)
	want.Summary, want.Link = naiveSummary(d, shown, people)
	superseded := notify.ID("")
	if d.newest != nil && d.newest.ackedSeq == 0 {
		superseded = EntryID(d.newest.seq)
		d.newest.by = e.h.Seq
	}
	if err := samePost(body, &want, reason, superseded, added, closes); err != nil {
		return "", err
	}
	d.revision++
	d.newest = &naiveEntry{seq: e.h.Seq, kind: KindSnapshot, digest: d, items: shown, posted: want}
	m.entries = append(m.entries, d.newest)
	return want.EntryID, nil
}

// naiveSummary is the sentence for the families that the model uses, and the link beside it.
func naiveSummary(d *naiveDigest, shown []*naiveItem, people map[string]bool) (s, link string) {
	latest := ""
	posted := &naiveDigest{items: slices.DeleteFunc(slices.Clone(d.items), func(it *naiveItem) bool { return it.pending })}
	subjects := posted.subjects(shown)
	outcomes := len(subjects) > 0
	if !outcomes { // what is newer about each was acknowledged before: one of each is counted, and what came of it has changed
		subjects = (&naiveDigest{items: shown}).subjects(shown)
	}
	leads := subjects[0]
	for _, it := range subjects {
		if !it.occurred.Before(leads.occurred) {
			leads = it
		}
	}
	if slices.Contains(shown, d.latest) && shown[len(shown)-1] == d.items[len(d.items)-1] && d.latest.says != "" {
		latest, leads = d.latest.says, d.latest
	}
	if newest := d.newestAbout(leads.about); newest == nil || newest.link != "" { // it was not deleted
		link = leads.link
	}
	n := len(subjects)
	if n == 1 && latest != "" {
		return latest, link
	}
	words := map[string][2]string{"comments": {"comment", "comments"}, "ci_updates": {"ci update", "ci updates"}}[d.family]
	s = fmt.Sprintf("%d %s on %s", n, words[min(n, 2)-1], d.resource)
	if d.resource == "" {
		s = fmt.Sprintf("%d %s of %s: %s", n, [2]string{"event", "events"}[min(n, 2)-1], d.source, d.family)
	}
	switch len(people) {
	case 0:
	case 1:
		for name := range people {
			s += " by " + name
		}
	default:
		s += fmt.Sprintf(" by %d people", len(people))
	}
	ends := map[string]int{}
	for _, it := range subjects {
		if outcomes {
			ends[it.outcome]++
		}
	}
	sep := ": "
	for n := len(subjects); n > 0; n-- { // the most frequent first, then in the order of the alphabet
		for _, end := range []string{"failure", "success", "timed_out"} {
			if ends[end] == n {
				s += fmt.Sprintf("%s%d %s", sep, n, strings.ReplaceAll(end, "_", " "))
				sep = ", "
			}
		}
	}
	if latest != "" {
		s += "; latest: " + latest
	}
	return s, link
}

func samePost(got *Posted, want *Entry, reason Reason, supersedes notify.ID, added []*naiveItem, closes bool) error {
	ids := []notify.ID{}
	for _, it := range added {
		ids = append(ids, RawID(it.seq))
	}
	if !sameEntry(&got.Entry, want) {
		return fmt.Errorf("P1: posted\n  %+v, want\n  %+v", got.Entry, *want)
	}
	if got.Reason != reason || got.SupersedesEntryID != supersedes || !slices.Equal(got.NewRawIDs, ids) || got.ClosesDigest != closes {
		return fmt.Errorf("P1: %s of %s supersedes %q, has new %v, closes %v; want %s, %q, %v, %v",
			got.Reason, want.EntryID, got.SupersedesEntryID, got.NewRawIDs, got.ClosesDigest, reason, supersedes, ids, closes)
	}
	return nil
}

// sameEntry compares the members that are in JSON.
func sameEntry(x, y *Entry) bool {
	return x.EntryID == y.EntryID && x.Kind == y.Kind && x.DigestID == y.DigestID && x.Revision == y.Revision && x.Source == y.Source &&
		x.ResourceRef == y.ResourceRef && x.Fallback == y.Fallback && x.EventFamily == y.EventFamily && x.Summary == y.Summary && x.Link == y.Link && x.Count == y.Count &&
		x.LastRawID == y.LastRawID && x.FirstAt.Equal(y.FirstAt.Time) && x.LastAt.Equal(y.LastAt.Time) && x.PostedAt.Equal(y.PostedAt.Time) &&
		x.ToldByTurnID == y.ToldByTurnID && x.AckedAt.Equal(y.AckedAt.Time) && x.SupersededBy == y.SupersededBy
}
