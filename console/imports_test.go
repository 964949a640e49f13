package console

import (
	"net/http"
	"path"
	"regexp"
	"strings"
	"testing"
)

// maxLoaded bounds the compressed size of the page with all its files.
const maxLoaded = 150_000

// What a file loads, by the file's type.
var loads = map[string]*regexp.Regexp{
	".js":  regexp.MustCompile(`(?m)(?:^|[;}\s/])(?:import|export)\b(?:[\w$\s{},*]*\bfrom)?\s*(["'][^"'\n]*["'])` + `|\bimport\s*\(\s*([^)]*)\)`),
	"":     regexp.MustCompile(`<(?:script|link|img)\b[^>]*\b(?:src|href)=("[^"]*")`), // the page
	".css": regexp.MustCompile(`@import\s+(?:url\()?\s*(["'][^"']*["'])` + `|\burl\(\s*([^)]*)\)`),
}

// Comments at the beginning of lines, in which imports are examples and types.
var comments = regexp.MustCompile(`(?m)^\s*(?://.*|/\*[\s\S]*?\*/)`)

// loaded follows the page and all that it loads, and returns the files with their sizes.
func loaded(t *testing.T, c *Console) map[string]int {
	t.Helper()
	sizes := map[string]int{}
	for todo := []string{"/"}; len(todo) > 0; todo = todo[1:] {
		url := todo[0]
		if _, done := sizes[url]; done {
			continue
		}
		w := c.request("GET", url, "Accept-Encoding: gzip")
		status(t, w, http.StatusOK, url)
		sizes[url] = w.Body.Len()
		text := c.request("GET", url).Body.String()
		if !strings.Contains(url, "/vendor/") {
			text = comments.ReplaceAllString(text, "")
		}
		search := loads[path.Ext(url)]
		if search == nil {
			continue
		}
		for _, found := range search.FindAllStringSubmatch(text, -1) {
			quoted := strings.TrimSpace(strings.Join(found[1:], ""))
			target := strings.Trim(quoted, `"'`)
			switch {
			case strings.HasPrefix(target, "data:"):
			case quoted == target && path.Ext(url) == ".js":
				t.Errorf("%s imports what is not written out: %s", url, quoted)
			case strings.HasPrefix(target, "./"), strings.HasPrefix(target, "../"):
				todo = append(todo, path.Join(path.Dir(url), target))
			case url == "/" && strings.HasPrefix(target, Path):
				todo = append(todo, target)
			default:
				t.Errorf("%s loads %q, which is no path that begins with ./ or ../", url, target)
			}
		}
	}
	return sizes
}

func TestThePageLoadsOnlyFilesThatAreThere(t *testing.T) {
	c := newConsole(t)
	sizes := loaded(t, c)
	for _, name := range []string{"app/main.js", "vendor/preact.js"} {
		if sizes[c.pathOf(t, name)] == 0 {
			t.Errorf("the page does not load %s: %v", name, sizes)
		}
	}
}

func TestThePageIsSmall(t *testing.T) {
	total := 0
	for url, size := range loaded(t, newConsole(t)) {
		t.Logf("%6d %s", size, url)
		total += size
	}
	t.Logf("%6d bytes compressed", total)
	if total > maxLoaded {
		t.Errorf("the page loads %d bytes compressed, and may load %d", total, maxLoaded)
	}
}

func TestImportsAreFound(t *testing.T) {
	for text, want := range map[string]string{
		`import { a } from './x.js'`:                                    "./x.js",
		"import {\n  a,\n  b as c,\n} from \"./x.js\"":                  "./x.js",
		`import './x.js'`:                                               "./x.js",
		`import*as x from"./x.js";`:                                     "./x.js",
		`export * from './x.js'`:                                        "./x.js",
		`const a=1;export{a as b}from"./x.js";`:                         "./x.js",
		`/*! a */import{options as n}from"./x.js";var t,r="from"`:       "./x.js",
		`const m = await import('./x.js')`:                              "./x.js",
		`export const a = './x.js'`:                                     "",
		`export function a() { return "from './x.js'" }`:                "",
		`// import x from './x.js'`:                                     "",
		"/**\n * @type {import('./x.js').T}\n */\nexport const b = 'c'": "",
	} {
		got := ""
		for _, found := range loads[".js"].FindAllStringSubmatch(comments.ReplaceAllString(text, ""), -1) {
			got += strings.Trim(strings.Join(found[1:], ""), `"'`)
		}
		if got != want {
			t.Errorf("%s: found %q, want %q", text, got, want)
		}
	}
}

// unsafe is what our own files must not use, so that text stays text. The policy of the page
// and Trusted Types refuse it too, but only in the browser.
var unsafe = regexp.MustCompile(`\beval\s*\(|\bnew Function\b|\.(?:inner|outer)HTML|dangerouslySetInnerHTML\s*[:=]|\.insertAdjacentHTML|document\.write|\.srcdoc|javascript:|new EventSource`)

func TestOurOwnFilesMakeNoMarkupOfText(t *testing.T) {
	c := newConsole(t)
	seen := 0
	for url := range c.files {
		if strings.Contains(url, "/vendor/") {
			continue
		}
		seen++
		text := comments.ReplaceAllString(c.request("GET", url).Body.String(), "")
		if found := unsafe.FindAllString(text, -1); found != nil {
			t.Errorf("%s has %q", url, found)
		}
		if url == "/" && regexp.MustCompile(`(?i)<style|<script>|\son[a-z]+=|\sstyle=`).MatchString(text) {
			t.Error("the page has scripts or styles of its own, which its policy refuses")
		}
	}
	if seen < 2 {
		t.Errorf("only %d files", seen)
	}
}
