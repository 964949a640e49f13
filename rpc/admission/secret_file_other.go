//go:build !unix

package admission

import "os"

// ReadSecretFile reads a file that holds a secret, at most limit bytes. Owner
// and permissions work differently on this system and are not checked.
func ReadSecretFile(path string, limit int) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return readAtMost(f, path, limit)
}

// syncDir does nothing where directories cannot be synced.
func syncDir(string) error { return nil }
