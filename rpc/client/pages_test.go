package client

import "testing"

func TestPagesEndOrFail(t *testing.T) {
	for _, c := range []struct {
		name  string
		next  []string
		more  bool // after the last of them
		fails bool
	}{
		{"no page follows", []string{""}, false, false},
		{"pages follow", []string{"3", "2", "1"}, true, false},
		{"the last page", []string{"3", "2", ""}, false, false},
		{"the same page", []string{"3", "3"}, false, true},
		{"a circle", []string{"3", "2", "1", "2"}, false, true},
	} {
		var p Pages
		for i, next := range c.next {
			more, err := p.Follow(next)
			last := i == len(c.next)-1
			if last && (more != c.more || (err != nil) != c.fails) || !last && (!more || err != nil) {
				t.Errorf("%s: after %q: %v, %v", c.name, next, more, err)
			}
		}
	}
}
