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
	// maxRecord is more than any record has: one that is larger is not ours.
	maxRecord = 64 << 10
	// maxShown is how much of a command is kept for people to read.
	maxShown = 4 << 10
	// tempSuffix is that of a record that is being written.
	tempSuffix = ".tmp"
)

// Records is a folder with a file for each group that runs, by which the next
// start of the server finds what a killed one has left. One server uses a
// folder at a time. Its methods may be called from many goroutines; a nil
// *Records records nothing.
type Records struct {
	dir string

	mu    sync.Mutex
	marks map[int]string // of the groups whose records are ours to remove
}

// record is a file of the folder, named by Group. What tells the group from
// any other are Group, Start with Boot, and Command or Mark.
type record struct {
	Group int `json:"group"`
	// Boot and Start are when the leader was started: the boot of the system
	// and clock ticks in it. "" and 0 where the system does not tell.
	Boot  string `json:"boot_id,omitzero"`
	Start uint64 `json:"start_ticks,omitzero"`
	// Command is for people to read, cut. CommandLine is the digest of what
	// the system says the leader is; "" if it does not.
	Command     []string `json:"command"`
	CommandLine string   `json:"command_line_sha256,omitzero"`
	// Mark is the word that Start put into the environment of the group.
	Mark    string    `json:"mark"`
	Orphans bool      `json:"orphans,omitzero"` // as of Group
	Time    time.Time `json:"recorded_at"`
}

// OpenRecords returns the records in dir, which it makes if it is missing.
func OpenRecords(dir string) (*Records, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open process records: %w", err)
	}
	return &Records{dir: dir, marks: map[int]string{}}, nil
}

// Add records a group that runs. The record outlives the server, kill -9
// included, once Add returns. It is not synced: what a power cut takes away
// with it, it takes the processes with too. It is called before the group is given anything to do, and before End. remove
// takes the record away again, after End; it may be called twice.
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

// identify reads what tells a group that has not ended from any other.
func identify(g *Group) (record, error) {
	rec := record{Group: g.PID(), Mark: g.mark, Orphans: g.Orphans, Time: time.Now().UTC().Truncate(time.Millisecond)}
	g.mu.Lock() // so that the leader is not reaped meanwhile
	defer g.mu.Unlock()
	if g.ended {
		return record{}, errors.New("it has ended")
	}
	return rec, readIdentity(&rec)
}

// write writes the record under a name that is none.
func (r *Records) write(rec record) (temp string, err error) {
	b, err := json.Marshal(rec, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return "", err
	}
	// One name per group: two servers cannot hold the folder, and one group's
	// number is not another's while it is being recorded.
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

// remove takes the record away, if it is still this one: once the leader is
// reaped, another group of ours may have got its number and its file.
func (r *Records) remove(rec record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.marks[rec.Group] != rec.Mark {
		return
	}
	delete(r.marks, rec.Group)
	_ = os.Remove(r.path(rec)) // one that stays matches nothing, and the next start removes it
}

// shown is the command as people read it, cut to what a record may hold.
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
// wrong with it; errNotOurs, that no record has such a name.
func (r *Records) read(e fs.DirEntry) (record, error) {
	group, err := strconv.Atoi(e.Name())
	// 1 and below mean other things than a group of ours to kill(2).
	if err != nil || strconv.Itoa(group) != e.Name() || group <= 1 || !e.Type().IsRegular() {
		return record{}, errNotOurs
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

var errNotOurs = errors.New("not a process record")
