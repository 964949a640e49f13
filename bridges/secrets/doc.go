// Package secrets keeps the secrets of bridges: one file for each generation of
// each bridge, in the directory "secrets" of the data directory. They are not in
// the database, so that no event, no read and no backup has them.
//
//	func Open(dataDir string) (*Store, error)
//	func (s *Store) Write(bridge string, generation int64, secret []byte) error
//	func (s *Store) Read(bridge string, generation int64) ([]byte, error)
//	func (s *Store) Remove(bridge string, generation int64) error
//	func (s *Store) Keep(keep func(bridge string, generation int64) bool) (removed int, err error)
//	func (s *Store) Close() error
//	func OpenReadOnly(dataDir string) (*Store, error)
//	func (s *Store) Check(bridge string, generation int64) error
//
// The caller first writes a generation and then commits the row that names it. A
// crash between the two leaves a file that no row names. Keep removes such files
// at the next start. OpenReadOnly and Check are for a process beside the server.
package secrets
