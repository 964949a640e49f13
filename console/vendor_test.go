package console

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// vendored is a row of static/vendor/manifest.json.
type vendored struct {
	File, Package, Version, Licence, Upstream string
	UpstreamSHA256                            string `json:"upstream_sha256"`
	SHA256                                    string
}

const vendorDir = "static/vendor/"

func vendorManifest(t *testing.T) []vendored {
	t.Helper()
	raw, err := os.ReadFile(vendorDir + "manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	var rows []vendored
	if err := json.Unmarshal(raw, &rows); err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestVendoredFilesAreThoseOfTheManifest(t *testing.T) {
	licences := readText(t, vendorDir+"licences.txt")
	known := map[string]bool{}
	for _, row := range vendorManifest(t) {
		known[row.File] = true
		text := readText(t, vendorDir+row.File)
		sum := sha256.Sum256([]byte(text))
		if got := hex.EncodeToString(sum[:]); got != row.SHA256 {
			t.Errorf("%s has the SHA-256 %s, its row says %s: was it edited by hand?", row.File, got, row.SHA256)
		}
		if row.UpstreamSHA256 == "" || row.UpstreamSHA256 == row.SHA256 || row.Upstream == "" {
			t.Errorf("%s: the row does not say what it was made of: %+v", row.File, row)
		}
		title := row.Package + " " + row.Version
		if !strings.HasPrefix(text, "/*! "+title+", licence "+row.Licence) {
			t.Errorf("%s does not begin with its package, version and licence", row.File)
		}
		if !strings.Contains(licences, "==== "+title+" ("+row.Licence+") ====\n") {
			t.Errorf("licences.txt lacks the licence of %s", title)
		}
	}
	files, err := filepath.Glob(vendorDir + "*.js")
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	for _, file := range files {
		if !known[filepath.Base(file)] {
			t.Errorf("%s has no row in the manifest", file)
		}
	}
}

// sinks are what turns text into code or markup. The policy of the page forbids code, Trusted
// Types forbid markup.
var sinks = regexp.MustCompile(`\beval\b|\bFunction\s*\(|set(?:Timeout|Interval)\s*\(\s*["'\x60]` +
	`|\w*(?:inner|outer|Inner)HTML|insertAdjacentHTML|document\.write|createContextualFragment|DOMParser|setHTML\w*|srcdoc|javascript:|\bimport\s*\(|importScripts|\bWorker\s*\(`)

// sinksLeft are the sinks in files of others, and who calls them.
var sinksLeft = map[string]string{
	// For the property dangerouslySetInnerHTML preact reads innerHTML, to compare, and
	// sets it. Nothing of the console uses the property, and the browser would refuse the
	// text: the page has no policy of Trusted Types.
	"preact.js": "dangerouslySetInnerHTML dangerouslySetInnerHTML innerHTML innerHTML",
}

func TestVendoredFilesMakeNoCodeOfText(t *testing.T) {
	for _, row := range vendorManifest(t) {
		found := sinks.FindAllString(readText(t, vendorDir+row.File), -1)
		slices.Sort(found)
		if got := strings.Join(found, " "); got != sinksLeft[row.File] {
			t.Errorf("%s has %q, and %q is known", row.File, got, sinksLeft[row.File])
		}
	}
}
