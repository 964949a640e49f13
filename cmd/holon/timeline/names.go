package timeline

// maxTitles bounds the titles that are remembered: more threads than a person watches.
const maxTitles = 10_000

// titleWidth is the width of a title in a heading.
const titleWidth = 40

// id returns an id as people are shown it.
func (o Options) id(id string) string {
	if o.Short != nil {
		id = o.Short(id)
	}
	return OneLine(id)
}

// threadName returns the name of a thread in headings: its short id and its title.
func (r *Renderer) threadName(id string) string {
	name := r.options.id(id)
	title, known := r.titles[id]
	if !known && r.options.Title != nil {
		title = r.options.Title(id)
		r.titled(id, title)
	}
	if title = OneLine(title); title != "" && title != name {
		name += " " + Fit(title, titleWidth)
	}
	return name
}

// titled remembers the title of a thread.
func (r *Renderer) titled(id, title string) {
	if len(r.titles) >= maxTitles {
		clear(r.titles)
	}
	r.titles[id] = title
}
