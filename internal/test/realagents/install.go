package realagents

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

// Installed reports whether everything that the agent needs is in the cache.
func (a Agent) Installed(cache string) bool {
	if a.Node != "" && !exists(filepath.Join(bin(nodeDir(cache, a.Node)), "node")) {
		return false
	}
	return exists(filepath.Join(bin(a.dir(cache)), a.Program))
}

// Install installs what is missing into the cache with this machine's npm. The
// output of npm goes to log. An installation that was cut off is repeated: only
// a complete one gets the name that Installed looks for.
func (a Agent) Install(ctx context.Context, cache string, log io.Writer) error {
	if a.Node != "" && !exists(filepath.Join(bin(nodeDir(cache, a.Node)), "node")) {
		if err := install(ctx, nodeDir(cache, a.Node), "node@"+a.Node, log); err != nil {
			return err
		}
	}
	if exists(filepath.Join(bin(a.dir(cache)), a.Program)) {
		return nil
	}
	return install(ctx, a.dir(cache), a.Package+"@"+a.Version, log)
}

func install(ctx context.Context, dir, what string, log io.Writer) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return fmt.Errorf("install %s: %w", what, err)
	}
	part, err := os.MkdirTemp(filepath.Dir(dir), ".installing-")
	if err != nil {
		return fmt.Errorf("install %s: %w", what, err)
	}
	defer os.RemoveAll(part) // renamed, hence gone, after success
	// With its own package.json, npm does not look for one in a parent
	// directory.
	if err := os.WriteFile(filepath.Join(part, "package.json"), []byte("{\"private\": true}\n"), 0o644); err != nil {
		return fmt.Errorf("install %s: %w", what, err)
	}
	cmd := exec.CommandContext(ctx, "npm", "install", "--no-audit", "--no-fund", "--no-progress", "--no-package-lock", what)
	cmd.Dir, cmd.Stdout, cmd.Stderr = part, log, log
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("npm install %s: %w", what, err)
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("install %s: %w", what, err)
	}
	if err := os.Rename(part, dir); err != nil {
		return fmt.Errorf("install %s: %w", what, err)
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
