package console

import (
	"path"
	"regexp"
	"testing"
)

var preloaded = regexp.MustCompile(`<link rel="modulepreload" href="([^"]*)">`)

// Browsers request all modules at once, each by the path that imports resolve to.
func TestThePageNamesAllItsModules(t *testing.T) {
	c := newConsole(t)
	page := c.request("GET", "/").Body.String()
	named := map[string]bool{}
	for _, m := range preloaded.FindAllStringSubmatch(page, -1) {
		named[m[1]] = true
		if c.files[m[1]] == nil {
			t.Errorf("%s is named, and not served", m[1])
		}
	}
	for url := range c.files {
		if path.Ext(url) == ".js" && !named[url] {
			t.Errorf("%s is not named", url)
		}
	}
}
