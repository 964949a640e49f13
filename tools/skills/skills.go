// Package skills has pages for agents: how to have work done by others, one page for each way.
package skills

import (
	"embed"
	"slices"
	"strings"
)

//go:embed pages/*.md
var pages embed.FS

// Skill is a page. All members are text of this program.
type Skill struct {
	Name string // one word
	Says string // what it is about, in a few words
	Page string // Markdown, with its heading
}

// List lists all skills, in the order in which one reads them.
func List() []Skill {
	list := make([]Skill, 0, len(names))
	for _, name := range names {
		page, err := pages.ReadFile("pages/" + name + ".md")
		if err != nil {
			panic("skills: " + err.Error()) // they are part of the program
		}
		heading, _, _ := strings.Cut(string(page), "\n")
		_, says, _ := strings.Cut(heading, ": ")
		list = append(list, Skill{name, says, string(page)})
	}
	return list
}

// names are those of the pages.
var names = []string{"background", "monitor", "loop", "workflow"}

// Names lists the names of all skills.
func Names() []string { return slices.Clone(names) }

// Of returns a skill by its name.
func Of(name string) (Skill, bool) {
	list := List()
	i := slices.IndexFunc(list, func(s Skill) bool { return s.Name == name })
	if i < 0 {
		return Skill{}, false
	}
	return list[i], true
}
