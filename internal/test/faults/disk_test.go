//go:build linux

package faults

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// sector is the unit that a disk writes whole.
const sector = 512

// disk is a model of what recorded writes have left on a disk: what syncs
// have made durable, and what a power cut may keep, lose, tear or reorder.
type disk struct {
	records int
	names   map[string]*inode // as the processes see them
	durable map[string]*inode // names that the directory keeps for sure
	sent    int64             // the newest seq that was sent to any client
}

// inode is a file beside its name.
type inode struct {
	synced  []byte // durable for sure
	pending []pendingWrite
}

type pendingWrite struct {
	index int
	record
}

func newDisk() *disk { return &disk{names: map[string]*inode{}, durable: map[string]*inode{}} }

var toldSeq = regexp.MustCompile(`"seq":(\d+)[,}]`)

// database reports whether a file counts. The shared memory of SQLite is
// rebuilt whenever no process has it open, as after a power cut.
func database(path string) bool {
	name := filepath.Base(path)
	return strings.HasPrefix(name, "holon.db") && !strings.HasSuffix(name, "-shm")
}

// apply moves the model on by one record.
func (d *disk) apply(r record) {
	index := d.records
	d.records++
	switch r.Kind {
	case recSent:
		for _, m := range toldSeq.FindAllSubmatch(r.Data, -1) {
			if seq, err := strconv.ParseInt(string(m[1]), 10, 64); err == nil {
				d.sent = max(d.sent, seq)
			}
		}
	case recWrite, recTruncate:
		if !database(r.Path) {
			return
		}
		f := d.names[r.Path]
		if f == nil {
			f = &inode{}
			d.names[r.Path] = f
		}
		f.pending = append(f.pending, pendingWrite{index, r})
	case recRemove:
		delete(d.names, r.Path)
	case recSync:
		if f := d.names[r.Path]; f != nil {
			f.sync(r.Begin)
			return
		}
		for name, f := range d.durable { // a directory: its names as they are now
			if filepath.Dir(name) == r.Path && d.names[name] != f {
				delete(d.durable, name)
			}
		}
		for name, f := range d.names {
			if filepath.Dir(name) == r.Path {
				d.durable[name] = f
			}
		}
	}
}

// sync makes what was recorded before begin durable.
func (f *inode) sync(begin int) {
	n := 0
	for n < len(f.pending) && f.pending[n].index < begin {
		f.synced = write(f.synced, f.pending[n].record)
		n++
	}
	f.pending = f.pending[n:]
}

// write applies one record to a file's bytes.
func write(b []byte, r record) []byte {
	if r.Kind == recTruncate {
		if int(r.Offset) <= len(b) {
			return b[:r.Offset]
		}
		return append(b, make([]byte, int(r.Offset)-len(b))...)
	}
	if end := int(r.Offset) + len(r.Data); end > len(b) {
		b = append(b, make([]byte, end-len(b))...)
	}
	copy(b[r.Offset:], r.Data)
	return b
}

// cut writes into dir what a power cut may leave at this moment.
func (d *disk) cut(dir string, rng *rand.Rand) error {
	all := map[string]bool{}
	for name := range d.names {
		all[name] = true
	}
	for name := range d.durable {
		all[name] = true
	}
	for name := range all {
		f := d.durable[name]
		if now := d.names[name]; now != f && rng.IntN(2) == 0 {
			f = now // the change of the name is on disk, though it was not synced
		}
		if f == nil {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), f.cut(rng), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// cut chooses what became of the writes that were not synced.
func (f *inode) cut(rng *rand.Rand) []byte {
	b := bytes.Clone(f.synced)
	switch rng.IntN(5) {
	case 0: // all lost
	case 1: // all kept
		for _, w := range f.pending {
			b = write(b, w.record)
		}
	case 2: // kept up to one that is torn
		if len(f.pending) == 0 {
			break
		}
		torn := rng.IntN(len(f.pending))
		for _, w := range f.pending[:torn] {
			b = write(b, w.record)
		}
		if w := f.pending[torn].record; w.Kind == recWrite {
			w.Data = w.Data[:rng.IntN(len(w.Data)/sector+1)*sector]
			b = write(b, w)
		}
	case 3: // any of them kept, the others lost
		for _, w := range f.pending {
			if rng.IntN(2) == 0 {
				b = write(b, w.record)
			}
		}
	case 4: // the same, sector by sector
		for _, w := range f.pending {
			if w.Kind == recTruncate {
				if rng.IntN(2) == 0 {
					b = write(b, w.record)
				}
				continue
			}
			for at := 0; at < len(w.Data); {
				// Sectors are those of the file, not of the write.
				n := min(len(w.Data)-at, sector-int(w.Offset+int64(at))%sector)
				if rng.IntN(2) == 0 {
					b = write(b, record{Kind: recWrite, Offset: w.Offset + int64(at), Data: w.Data[at : at+n]})
				}
				at += n
			}
		}
	}
	return b
}
