package main

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	fence    = regexp.MustCompile("(?ms)^[ >]*```.*?^[ >]*```[ ]*$")
	codeSpan = regexp.MustCompile("`[^`\n]*`")
	link     = regexp.MustCompile(`\]\(([^()\s]+)\)|<img [^>]*src="([^"]+)"`)
	external = regexp.MustCompile(`^[a-z]+:`)
	heading  = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	noAnchor = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// documentsOf are the documents of a tree for those who use the program.
func documentsOf(t *testing.T, tree string) (names []string) {
	t.Helper()
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/stories/*.md"} {
		found, err := fs.Glob(os.DirFS(tree), pattern)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, found...)
	}
	return names
}

// checkLinks checks that what the documents of a tree link to is in it: files, folders,
// headings and pictures. It returns the documents.
func checkLinks(t *testing.T, tree string) (documents []string) {
	t.Helper()
	documents = documentsOf(t, tree)
	root, err := os.OpenRoot(tree) // a link that leaves the tree is broken
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	text := func(name string) string {
		data, err := root.ReadFile(name)
		if err != nil {
			t.Error(err)
		}
		return fence.ReplaceAllString(string(data), "")
	}
	for _, document := range documents {
		for _, m := range link.FindAllStringSubmatch(codeSpan.ReplaceAllString(text(document), ""), -1) {
			target := m[1] + m[2]
			if external.MatchString(target) {
				continue
			}
			file, anchor, _ := strings.Cut(target, "#")
			name := document
			if file != "" {
				name = path.Join(path.Dir(document), file)
			}
			if _, err := root.Stat(name); err != nil {
				t.Errorf("%s links to %s: %v", document, target, err)
			} else if anchor != "" && !slices.Contains(anchors(text(name)), anchor) {
				t.Errorf("%s links to %s: there is no such heading", document, target)
			}
		}
	}
	return documents
}

// anchors are the names of the headings of a document, as GitHub makes them.
func anchors(text string) (names []string) {
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		names = append(names, strings.ReplaceAll(noAnchor.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return names
}

func TestDocumentsLinkToWhatIsThere(t *testing.T) {
	if documents := checkLinks(t, "../.."); !slices.Contains(documents, "README.md") || !slices.Contains(documents, "docs/agents.md") {
		t.Errorf("the documents are %q", documents)
	}
}

// The index has every document.
func TestTheIndexOfTheDocumentsIsWhole(t *testing.T) {
	index, err := os.ReadFile("../../docs/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, document := range documentsOf(t, "../..") {
		if name, in := strings.CutPrefix(document, "docs/"); in && name != "README.md" && !strings.Contains(string(index), "]("+name+")") {
			t.Errorf("docs/README.md does not name %s", document)
		}
	}
}
