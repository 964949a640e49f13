package api

// CacheCounts say how well a cache does. Hits and Misses are since the start.
type CacheCounts struct {
	Hits, Misses int
	Entries      int // that it has now
}

func (c *CacheCounts) count(hit bool) {
	if hit {
		c.Hits++
	} else {
		c.Misses++
	}
}

// Caches returns the counts of what the API keeps in memory, by name: summaries of threads,
// the parents of threads, and their titles.
func (a *API) Caches() map[string]CacheCounts {
	return map[string]CacheCounts{"summaries": a.summaries.count(), "parents": a.parents.count(), "titles": a.titles.count()}
}

func (c *summaryCache) count() CacheCounts {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.counts
	n.Entries = len(c.of)
	return n
}

func (p *parents) count() CacheCounts {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.counts
	n.Entries = len(p.of)
	return n
}
