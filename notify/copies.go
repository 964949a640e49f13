package notify

import (
	"container/list"
	"context"
	"sync"
)

// copyLoads is how many large events are read at once. It is below the number of
// connections that a store has for pages, so that those of usual events go on.
const copyLoads = 2

// Copies are the large events that a log has read whole for Log.Part: all readers of
// an event take their parts from one copy. What was not used for the longest time is
// dropped when there is more than the bound. Its methods may be called from many
// goroutines.
type Copies struct {
	max   int
	load  func(ctx context.Context, seq int64) (Event, error)
	loads chan struct{}

	mu      sync.Mutex
	held    map[copyKey]*list.Element
	used    list.List // of *copied, the last use first
	bytes   int
	reading map[copyKey]chan struct{} // closed when the reading has ended
}

type copyKey struct {
	seq     int64
	summary bool
}

type copied struct {
	key    copyKey
	params []byte
}

// NewCopies makes an empty set that holds at most max bytes, or one larger event.
// load reads the method and the params of an event.
func NewCopies(max int, load func(ctx context.Context, seq int64) (Event, error)) *Copies {
	return &Copies{
		max: max, load: load, loads: make(chan struct{}, copyLoads),
		held: make(map[copyKey]*list.Element), reading: make(map[copyKey]chan struct{}),
	}
}

// Bytes returns the memory of all copies.
func (c *Copies) Bytes() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bytes
}

// Part implements Log.Part. Nobody has a copy once it has returned, so one that is
// dropped is gone.
func (c *Copies) Part(ctx context.Context, seq int64, offset int, summary bool, b []byte) (n, size int, err error) {
	key := copyKey{seq, summary}
	for {
		c.mu.Lock()
		if e := c.held[key]; e != nil {
			defer c.mu.Unlock()
			c.used.MoveToFront(e)
			n, size = partOf(e.Value.(*copied).params, offset, b)
			return n, size, nil
		}
		read, others := c.reading[key]
		if !others {
			read = make(chan struct{})
			c.reading[key] = read
		}
		c.mu.Unlock()
		if !others {
			return c.read(ctx, key, offset, b)
		}
		select {
		case <-read: // it is held now, unless its reader has left
		case <-ctx.Done():
			return 0, 0, ctx.Err()
		}
	}
}

// read reads an event, keeps it and copies a part of it.
func (c *Copies) read(ctx context.Context, key copyKey, offset int, b []byte) (n, size int, err error) {
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		close(c.reading[key])
		delete(c.reading, key)
	}()
	select {
	case c.loads <- struct{}{}:
		defer func() { <-c.loads }()
	case <-ctx.Done():
		return 0, 0, ctx.Err()
	}
	e, err := c.load(ctx, key.seq)
	if err != nil {
		return 0, 0, err
	}
	if key.summary {
		e.Params = AppendSummary(nil, e.Method, e.Params)
	}
	c.keep(&copied{key, e.Params})
	n, size = partOf(e.Params, offset, b)
	return n, size, nil
}

// keep adds a copy and drops others.
func (c *Copies) keep(fresh *copied) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held[fresh.key] = c.used.PushFront(fresh)
	c.bytes += cap(fresh.params)
	for c.bytes > c.max && c.used.Len() > 1 {
		old := c.used.Remove(c.used.Back()).(*copied)
		delete(c.held, old.key)
		c.bytes -= cap(old.params)
	}
}

func partOf(params []byte, offset int, b []byte) (n, size int) {
	return copy(b, params[min(offset, len(params)):]), len(params)
}
