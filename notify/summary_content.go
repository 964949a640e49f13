package notify

// cutContent leaves the type of a content and its title: that of a question or of the
// use of a tool, else the command, the message, the path of the first changed file, or
// the entry of a plan that is in progress. What people and agents say has none.
func cutContent(s *summary, name []byte) error {
	if s.d.PeekKind() != '{' {
		return s.d.SkipValue()
	}
	var kind []byte
	var titles [5][]byte // in the order of preference
	if err := s.each(func(member []byte) (err error) {
		switch string(member) {
		case `"type"`:
			kind, err = s.value()
		case `"title"`:
			titles[0], err = s.value()
		case `"command"`:
			titles[1], err = s.value()
		case `"message"`:
			titles[2], err = s.value()
		case `"changes"`:
			titles[3], err = s.firstOf(`"path"`, "")
		case `"entries"`:
			titles[4], err = s.firstOf(`"content"`, `"in_progress"`)
		default:
			err = s.d.SkipValue()
		}
		return err
	}); err != nil {
		return err
	}
	s.name(name)
	s.out = append(s.out, '{')
	if kind != nil {
		s.member([]byte(`"type"`), kind)
	}
	for _, title := range titles {
		if len(title) <= len(`""`) || title[0] != '"' {
			continue
		}
		s.name([]byte(`"title"`))
		if endOfText(title, SummaryText) < 0 {
			s.out = append(s.out, title...)
		} else {
			s.out = append(append(s.out, title[:endOfText(title, SummaryText-1)]...), `…"`...)
		}
		break
	}
	s.out = append(s.out, '}')
	return nil
}

// firstOf reads an array of objects and returns a member of the first one, or of the
// first one with this status, if there is one.
func (s *summary) firstOf(member, status string) (found []byte, err error) {
	if s.d.PeekKind() != '[' {
		return nil, s.d.SkipValue()
	}
	if _, err := s.d.ReadToken(); err != nil {
		return nil, err
	}
	exact := false
	for kind := s.d.PeekKind(); kind != ']' && kind != 0; kind = s.d.PeekKind() {
		var text []byte
		matches := status == ""
		if err := s.each(func(name []byte) (err error) {
			var v []byte
			switch string(name) {
			case member:
				text, err = s.value()
			case `"status"`:
				v, err = s.value()
				matches = matches || string(v) == status
			default:
				err = s.d.SkipValue()
			}
			return err
		}); err != nil {
			return nil, err
		}
		if found == nil || matches && !exact {
			found, exact = text, matches
		}
	}
	_, err = s.d.ReadToken()
	return found, err
}
