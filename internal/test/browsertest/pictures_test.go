package browsertest

import (
	"os"
	"path/filepath"
	"testing"
)

// Every page on a phone and on a desktop, light and dark, for people to look at:
// `make pictures-console`.
func TestPictures(t *testing.T) {
	dir := os.Getenv("PICTURES")
	if dir == "" {
		t.Skip("NOT TESTED: pictures are drawn by make pictures-console")
	}
	needsBrowser(t)
	c := newShowcase(t)
	inForms(t, func(t *testing.T, f form) {
		p := open(t, c.server, f, "#/")
		for _, s := range c.scenes() {
			p.show(s)
			name := filepath.Join(dir, "console-"+s.name+"-"+f.name+".png")
			if err := os.WriteFile(name, p.picture(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}, allForms...)
}
