package browsertest

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/seed82539d15/holon/internal/test/acptest"
	"github.com/seed82539d15/holon/internal/test/hosttest"
)

// What all tests share: the program under test, the folder of everything that they write,
// and the browser. Without a browser, missing says why.
var (
	binary, scratch string
	browser         context.Context
	missing         string
)

func TestMain(m *testing.M) { os.Exit(testAll(m)) }

func testAll(m *testing.M) int {
	defer acptest.Clean()
	flag.Parse()
	// Tests wait for frames, processes and what people must be able to read first: more of
	// them fit on few cores.
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		_ = f.Value.Set("4")
	}
	path, err := findBrowser()
	if err != nil {
		missing = err.Error()
		fmt.Fprintln(os.Stderr, "NOT TESTED: the console in a browser:", missing)
		if os.Getenv("REQUIRE_BROWSER") != "" {
			return 1
		}
		return m.Run() // each test says that it is skipped
	}
	if scratch, err = os.MkdirTemp("", "browser"); err == nil {
		defer os.RemoveAll(scratch)
		err = build()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "browsertest:", err)
		return 1
	}
	stop, err := startBrowser(path)
	if err != nil {
		fmt.Fprintln(os.Stderr, "browsertest: start", path+":", err)
		return 1
	}
	defer stop()
	return m.Run()
}

func findBrowser() (string, error) {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("there is no chromium in PATH; install it")
}

func build() error {
	var err error
	binary, err = hosttest.Build(scratch, "./cmd/holon")
	return err
}

func startBrowser(path string) (stop func(), err error) {
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.UserDataDir(filepath.Join(scratch, "profile")),
		chromedp.Flag("disable-gpu", true), chromedp.Flag("force-color-profile", "srgb"),
		chromedp.Flag("host-resolver-rules", "MAP *.example 127.0.0.1")) // pages of others are on this machine too
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // Chromium's own sandbox does not work for root
	}
	allocator, end := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(allocator)
	browser = ctx
	stop = func() { cancel(); end() }
	if err = chromedp.Do(ctx); err != nil {
		stop()
		return nil, err
	}
	return stop, nil
}
