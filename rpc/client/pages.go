package client

import "fmt"

// Pages follows a list from page to page. The zero value is ready; it belongs to one
// goroutine.
type Pages struct{ read map[string]struct{} }

// Follow reports whether another page follows the one that has named next as its
// position, "" for none. An error says that next was named before: a server, or
// something in front of it, repeats pages, and the list would never end.
func (p *Pages) Follow(next string) (bool, error) {
	if next == "" {
		return false, nil
	}
	if _, again := p.read[next]; again {
		return false, fmt.Errorf("the list does not end: the server names the position %.200q a second time", next)
	}
	if p.read == nil {
		p.read = map[string]struct{}{}
	}
	p.read[next] = struct{}{}
	return true, nil
}
