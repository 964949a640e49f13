package terminaltest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// built is where Binary has put what it built, "" if no test needed it.
var built string

var build = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "holon-terminal")
	if err != nil {
		return "", err
	}
	built = dir
	path := filepath.Join(dir, "holon")
	out, err := exec.Command("go", "build", "-o", path, "github.com/seed82539d15/holon/cmd/holon").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, err
})

// Binary returns the path of the command, which the first call builds. In short runs it skips
// the test: see Need. A TestMain of the package calls Remove at its end.
func Binary(t *testing.T) string {
	t.Helper()
	Need(t)
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Remove removes what Binary has built.
func Remove() {
	if built != "" {
		_ = os.RemoveAll(built) // what is left in the directory for temporary files does no harm
	}
}
