package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	// maxRecord is larger than any record: a larger file is no record.
	maxRecord = 64 << 10
	// maxShown is how much of a command is kept for people.
	maxShown = 4 << 10
	// tempSuffix is the suffix of a record that is being written.
	tempSuffix = ".tmp"
)

// Records is a folder with a file for each running group. With it the next
// start of the server finds processes that a killed server has left. One server
// uses a folder at a time. Its methods may be called from many goroutines; a
// nil *Records records nothing.
type Records struct {
	dir string

	mu    sync.Mutex
	marks map[int]string // of the groups whose records this server removes
}

// record is a file of the folder, named by Group. Group, Start with Boot, and
// CommandLine or Mark identify the group.
type record struct {
	Group int `json:"group"`
	// Boot and Start are when the leader was started: the boot of the system
	// and clock ticks in it. "" and 0 where the system does not report them.
	Boot  string `json:"boot_id,omitzero"`
	Start uint64 `json:"start_ticks,omitzero"`
	// Command is for people to read, cut. CommandLine is the digest of the
	// leader's command line as the system reports it; "" if it does not.
	Command     []string `json:"command"`
	CommandLine string   `json:"command_line_sha256,omitzero"`
	// Mark is the word that Start put into the environment of the group.
	Mark    string    `json:"mark"`
	Orphans bool      `json:"orphans,omitzero"` // as of Group, like Daemons
	Daemons bool      `json:"daemons,omitzero"`
	Time    time.Time `json:"recorded_at"`
}

// OpenRecords returns the records in dir. It makes dir if it does not exist.
func OpenRecords(dir string) (*Records, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open process records: %w", err)
	}
	return &Records{dir: dir, marks: map[int]string{}}, nil
}

// Add records a running group. Once Add returns, the record outlives the
// server, also after kill -9. It is not synced: a power cut that removes it
// ends the processes too. Call it before the group gets any work, and before
// End. remove removes the record, after End; it may be called twice.
func (r *Records) Add(g *Group, command []string) (remove func(), err error) {
	if r == nil {
		return func() {}, nil
	}
	rec, err := identify(g)
	if err != nil {
		return nil, fmt.Errorf("record process %d: %w", g.PID(), err)
	}
	rec.Command = shown(command)
	temp, err := r.write(rec)
	if err == nil {
		err = r.publish(rec, temp)
	}
	if err != nil {
		return nil, fmt.Errorf("record process %d: %w", g.PID(), err)
	}
	return func() { r.remove(rec) }, nil
}

// identify reads what identifies a group that has not ended.
func identify(g *Group) (record, error) {
	rec := record{Group: g.PID(), Mark: g.mark, Orphans: g.Orphans, Daemons: g.Daemons, Time: time.Now().UTC().Truncate(time.Millisecond)}
	g.mu.Lock() // so that the leader is not reaped meanwhile
	defer g.mu.Unlock()
	if g.ended {
		return record{}, errors.New("it has ended")
	}
	return rec, readIdentity(&rec)
}

// write writes the record under a temporary name.
func (r *Records) write(rec record) (temp string, err error) {
	b, err := json.Marshal(rec, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return "", err
	}
	// One name per group is enough: only one server holds the folder, and the
	// number of a group is not reused while the group is being recorded.
	temp = filepath.Join(r.dir, "."+strconv.Itoa(rec.Group)+tempSuffix)
	f, err := os.OpenFile(temp, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return "", err
	}
	_, err = f.Write(append(b, '\n'))
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(temp))
	}
	return temp, nil
}

// publish gives the record its name.
func (r *Records) publish(rec record, temp string) error {
	r.mu.Lock()
	err := os.Rename(temp, r.path(rec))
	if err == nil {
		r.marks[rec.Group] = rec.Mark
	}
	r.mu.Unlock()
	if err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	return nil
}

func (r *Records) path(rec record) string { return filepath.Join(r.dir, strconv.Itoa(rec.Group)) }

// remove removes the record if it is still this group's: once the leader is
// reaped, another group of this server may have its number and its file.
func (r *Records) remove(rec record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.marks[rec.Group] != rec.Mark {
		return
	}
	delete(r.marks, rec.Group)
	_ = os.Remove(r.path(rec)) // a file that stays matches no group, and the next start removes it
}

// shown returns the command for people, cut to maxShown.
func shown(command []string) []string {
	left := maxShown
	var all []string
	for _, arg := range command {
		if left == 0 {
			break
		}
		cut := arg[:min(len(arg), left)]
		left -= len(cut)
		all = append(all, strings.ToValidUTF8(cut, "\uFFFD"))
	}
	return all
}

// read returns the record in the file of this name. The error says what is
// wrong with it; errNotRecord means that no record has such a name.
func (r *Records) read(e fs.DirEntry) (record, error) {
	group, err := strconv.Atoi(e.Name())
	// kill(2) gives 1 and below other meanings.
	if err != nil || strconv.Itoa(group) != e.Name() || group <= 1 || !e.Type().IsRegular() {
		return record{}, errNotRecord
	}
	b, err := readAtMost(filepath.Join(r.dir, e.Name()), maxRecord)
	if err != nil {
		return record{}, err
	}
	var rec record
	if err := json.Unmarshal(b, &rec); err != nil {
		return record{}, fmt.Errorf("no record: %w", err)
	}
	if rec.Group != group || rec.Mark == "" {
		return record{}, errors.New("no record: it is of another group, or without a mark")
	}
	return rec, nil
}

var errNotRecord = errors.New("not a process record")
