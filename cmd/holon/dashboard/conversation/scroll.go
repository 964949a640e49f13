package conversation

import (
	"slices"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
)

// toEnd follows the end again.
func (v *view) toEnd() { v.follow, v.below, v.top, v.offset = true, 0, "", 0 }

// scroll moves the window by some rows, upwards if they are negative.
func (h keyboard) scroll(by int) []screen.Action {
	v := &h.m.view
	h.m.loader.jumps = false
	if v.width == 0 || len(h.m.history.entries) == 0 {
		return nil
	}
	if v.follow && by > 0 {
		return nil
	}
	i := max(0, h.m.history.index(v.top))
	offset := v.offset + by
	for offset < 0 && i > 0 {
		i--
		offset += len(drawing(h).rowsOf(h.m.history.entries[i]))
	}
	var out []screen.Action
	if offset < 0 {
		offset, out = 0, intake(h).askOlder()
	}
	for {
		n := len(drawing(h).rowsOf(h.m.history.entries[i]))
		if offset < n || i == len(h.m.history.entries)-1 {
			break
		}
		offset -= n
		i++
	}
	v.follow, v.top, v.offset = false, h.m.history.entries[i].key, offset
	if by <= 0 || !h.m.atEnd(i, offset) {
		return out
	}
	if h.m.history.newer == "" {
		return h.toNewest()
	}
	v.top, v.offset = h.m.lastWindow()
	return intake(h).askNewer()
}

// atEnd reports whether a window that begins there shows the end.
func (m *Model) atEnd(i, offset int) bool {
	n := -offset
	for _, e := range m.history.entries[i:] {
		if n += len(drawing{m}.rowsOf(e)); n > m.view.area {
			return false
		}
	}
	return true
}

// toNewest follows the end; what was dropped there is read again.
func (h keyboard) toNewest() []screen.Action {
	h.m.view.toEnd()
	h.m.loader.jumps = false
	if h.m.history.newer != "" {
		return intake(h).reload()
	}
	h.m.history.trim(true)
	return nil
}

// toBegin goes to the first block of the thread. If it is not held, the thread is read
// from its beginning.
func (h keyboard) toBegin() []screen.Action {
	switch {
	case len(h.m.history.entries) == 0:
		return nil
	case h.m.history.older != "":
		return intake(h).askFirst()
	}
	h.m.view.toBegin(h.m.history)
	return nil
}

// toBegin shows the oldest block that is held.
func (v *view) toBegin(h *history) {
	if v.follow, v.top, v.offset = false, "", 0; len(h.entries) > 0 {
		v.top = h.entries[0].key
	}
}

// lastWindow returns where a window begins that ends with the newest block that is held.
func (m *Model) lastWindow() (top string, offset int) {
	n := 0
	for i := len(m.history.entries) - 1; i >= 0; i-- {
		e := m.history.entries[i]
		if n += len(drawing{m}.rowsOf(e)); n >= m.view.area || i == 0 {
			return e.key, max(0, n-m.view.area)
		}
	}
	return "", 0
}

// selectNext selects the next block that can be expanded or opened, or the one before.
func (h keyboard) selectNext(down bool) []screen.Action {
	v := &h.m.view
	var list []*entry
	for _, e := range h.m.history.entries {
		if e.selectable() {
			list = append(list, e)
		}
	}
	if len(list) == 0 {
		h.m.status = "There is nothing to select."
		return nil
	}
	at := slices.IndexFunc(list, func(e *entry) bool { return e.key == v.selected })
	switch {
	case at < 0:
		// None is selected: begin with what is on the screen.
		on := func(e *entry) bool { return slices.Contains(v.visible, e.key) }
		if at = slices.IndexFunc(list, on); at < 0 {
			at = len(list) - 1
		}
		for !down && at+1 < len(list) && on(list[at+1]) {
			at++
		}
	case down:
		at = min(at+1, len(list)-1)
	case at == 0:
		v.selected = list[0].key
		return intake(h).askOlder()
	default:
		at--
	}
	v.selected = list[at].key
	if !slices.Contains(v.visible, v.selected) {
		v.follow, v.top, v.offset = false, v.selected, 0
		if i := h.m.history.index(v.selected); h.m.atEnd(i, 0) {
			v.toEnd()
		}
	}
	return nil
}

// lastExpandable returns the newest block on the screen that can be expanded or opened.
func (h keyboard) lastExpandable() *entry {
	for _, key := range slices.Backward(h.m.view.visible) {
		if e := h.m.history.byKey[key]; e != nil && e.selectable() {
			return e
		}
	}
	return nil
}
