package notify

import "slices"

// fewThreads is how many threads are compared as quickly as one is looked up.
const fewThreads = 8

// threadSet are threads prepared for many events: a stream over a hundred threads
// looks up the thread of each event instead of comparing it with all.
type threadSet struct {
	few  []string
	many map[string]struct{} // nil: few enough to compare
}

func threadSetOf(ids []string) threadSet {
	if len(ids) <= fewThreads {
		return threadSet{few: ids}
	}
	s := threadSet{many: make(map[string]struct{}, len(ids))}
	for _, id := range ids {
		s.many[id] = struct{}{}
	}
	return s
}

func (s *threadSet) empty() bool { return len(s.few) == 0 && s.many == nil }

func (s *threadSet) has(id string) bool {
	if s.many != nil {
		_, ok := s.many[id]
		return ok
	}
	return slices.Contains(s.few, id)
}
