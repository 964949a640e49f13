//go:build linux

package faults

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// traceMain is the tracer's process. It returns the child's exit code.
func traceMain(raw string, args []string) int {
	runtime.LockOSThread() // ptrace belongs to one thread
	tr := &tracer{started: map[int]bool{}, pending: map[int]func(rval int64){}}
	err := json.Unmarshal([]byte(raw), &tr.trace)
	if err == nil {
		err = tr.run(args)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "trace:", err)
		return 125
	}
	return tr.code
}

type tracer struct {
	trace
	pid     int
	code    int
	report  traceReport
	records int
	out     *gob.Encoder
	started map[int]bool             // threads that had their first stop
	pending map[int]func(rval int64) // what to do when a thread's call returns
}

func (tr *tracer) run(args []string) error {
	if tr.Record != "" {
		f, err := os.Create(tr.Record)
		if err != nil {
			return err
		}
		defer f.Close()
		tr.out = gob.NewEncoder(f)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), traceEnv+"=")
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	tr.pid = cmd.Process.Pid
	var ws syscall.WaitStatus
	if _, err := syscall.Wait4(tr.pid, &ws, syscall.WALL, nil); err != nil || !ws.Stopped() {
		return fmt.Errorf("wait for exec: %v, status %x", err, ws)
	}
	const options = unix.PTRACE_O_TRACESYSGOOD | unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_EXITKILL | unix.PTRACE_O_TRACEEXEC
	if err := syscall.PtraceSetOptions(tr.pid, options); err != nil {
		return fmt.Errorf("set options: %w", err)
	}
	if err := os.WriteFile(tr.PID, []byte(strconv.Itoa(tr.pid)), 0o600); err != nil {
		return err
	}
	tr.started[tr.pid] = true
	if err := syscall.PtraceSyscall(tr.pid, 0); err != nil {
		return err
	}
	if err := tr.loop(); err != nil {
		return err
	}
	raw, err := json.Marshal(tr.report)
	if err != nil {
		return err
	}
	return os.WriteFile(tr.Report, raw, 0o600)
}

// loop serves the stops of all threads until none is left.
func (tr *tracer) loop() error {
	for {
		var ws syscall.WaitStatus
		tid, err := syscall.Wait4(-1, &ws, syscall.WALL, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.ECHILD):
			return nil
		case err != nil:
			return err
		case ws.Exited() || ws.Signaled():
			if tid == tr.pid {
				tr.code = ws.ExitStatus()
				if ws.Signaled() {
					tr.code = 128 + int(ws.Signal())
				}
			}
			continue
		}
		deliver := 0
		switch sig := ws.StopSignal(); {
		case sig == syscall.SIGTRAP|0x80:
			tr.call(tid)
		case sig == syscall.SIGTRAP:
			// A clone or an exec; the new thread stops by itself.
		case sig == syscall.SIGSTOP && !tr.started[tid]:
			tr.started[tid] = true
		default:
			deliver = int(sig)
		}
		// ESRCH: killed meanwhile, which the next wait tells.
		if err := syscall.PtraceSyscall(tid, deliver); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
	}
}

// callInfo is struct ptrace_syscall_info: the same on every architecture.
type callInfo struct {
	op    uint8
	_     [3]uint8
	_     uint32
	_, _  uint64
	entry struct { // at exit the first is the result
		nr   uint64
		args [6]uint64
	}
	_ uint64
}

const (
	getCallInfo = 0x420e // PTRACE_GET_SYSCALL_INFO
	callEntry   = 1
	callExit    = 2
)

func (tr *tracer) call(tid int) {
	var info callInfo
	if _, _, errno := syscall.Syscall6(syscall.SYS_PTRACE, getCallInfo, uintptr(tid), unsafe.Sizeof(info), uintptr(unsafe.Pointer(&info)), 0, 0); errno != 0 {
		return // killed meanwhile
	}
	switch info.op {
	case callEntry:
		tr.enter(tid, info.entry.nr, info.entry.args)
	case callExit:
		if f := tr.pending[tid]; f != nil {
			delete(tr.pending, tid)
			f(int64(info.entry.nr))
		}
	}
}

func (tr *tracer) enter(tid int, nr uint64, args [6]uint64) {
	switch nr {
	case unix.SYS_WRITE, unix.SYS_PWRITE64:
		path := tr.fd(args[0])
		if strings.HasPrefix(path, "socket:") {
			tr.sent(func() []byte { return tr.bytes(args[1], args[2]) })
			return
		}
		if !tr.counts(path) {
			return
		}
		offset := int64(args[3])
		if nr == unix.SYS_WRITE {
			offset = tr.position(args[0])
		}
		tr.op("write", record{Kind: recWrite, Path: path, Offset: offset}, func() []byte { return tr.bytes(args[1], args[2]) })
	case unix.SYS_WRITEV:
		if path := tr.fd(args[0]); strings.HasPrefix(path, "socket:") {
			tr.sent(func() []byte { return tr.vector(args[1], args[2]) })
		}
	case unix.SYS_FTRUNCATE:
		if path := tr.fd(args[0]); tr.counts(path) {
			tr.op("truncate", record{Kind: recTruncate, Path: path, Offset: int64(args[1])}, nil)
		}
	case unix.SYS_FSYNC, unix.SYS_FDATASYNC:
		if path := tr.fd(args[0]); tr.counts(path) {
			tr.count("sync", path)
			begin := tr.records
			tr.pending[tid] = func(rval int64) {
				if rval == 0 {
					tr.record(record{Kind: recSync, Path: path, Begin: begin})
				}
			}
		}
	default:
		arg, ok := nameCalls[nr]
		if !ok {
			return
		}
		if path := tr.text(args[arg]); tr.counts(path) {
			tr.op("name", record{Kind: recRemove, Path: path}, nil)
		}
	}
}

// op counts an operation that is recorded as it begins.
func (tr *tracer) op(what string, r record, data func() []byte) {
	tr.count(what, r.Path)
	if tr.out != nil && data != nil {
		r.Data = data()
	}
	tr.record(r)
}

func (tr *tracer) sent(data func() []byte) {
	if tr.out != nil {
		tr.record(record{Kind: recSent, Data: data()})
	}
}

func (tr *tracer) record(r record) {
	if tr.out == nil {
		return
	}
	tr.records++
	if err := tr.out.Encode(r); err != nil {
		fmt.Fprintln(os.Stderr, "trace: record:", err)
		os.Exit(125) // and the child with it (PTRACE_O_EXITKILL)
	}
}

func (tr *tracer) count(what, path string) {
	if tr.report.Killed != "" {
		return
	}
	op := what + " " + filepath.Base(path)
	tr.report.Ops = append(tr.report.Ops, op)
	if len(tr.report.Ops) == tr.KillAt {
		tr.report.Killed = op
		// The thread is stopped before the call: with a fatal signal pending the
		// kernel does not execute it.
		_ = syscall.Kill(tr.pid, syscall.SIGKILL) // fails only if it is dead already
	}
}

func (tr *tracer) counts(path string) bool {
	return path == tr.Dir || strings.HasPrefix(path, tr.Dir+"/")
}

func (tr *tracer) fd(fd uint64) string {
	path, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", tr.pid, int32(fd)))
	if err != nil {
		return ""
	}
	return path
}

// position is where a plain write goes.
func (tr *tracer) position(fd uint64) int64 {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/fdinfo/%d", tr.pid, int32(fd)))
	if err != nil {
		return 0
	}
	var pos int64
	_, _ = fmt.Sscanf(string(raw), "pos:\t%d", &pos) // 0 if there is none
	return pos
}

func (tr *tracer) bytes(addr, n uint64) []byte {
	b := make([]byte, n)
	if n == 0 {
		return b
	}
	local := []unix.Iovec{{Base: &b[0]}}
	local[0].SetLen(len(b))
	got, err := unix.ProcessVMReadv(tr.pid, local, []unix.RemoteIovec{{Base: uintptr(addr), Len: len(b)}}, 0)
	if err != nil {
		return nil
	}
	return b[:got]
}

func (tr *tracer) vector(addr, n uint64) (data []byte) {
	raw := tr.bytes(addr, n*16)
	for ; len(raw) >= 16; raw = raw[16:] {
		base := *(*uint64)(unsafe.Pointer(&raw[0]))
		size := *(*uint64)(unsafe.Pointer(&raw[8]))
		data = append(data, tr.bytes(base, size)...)
	}
	return data
}

// text reads a string that ends with a zero, in pieces that cross no page.
func (tr *tracer) text(addr uint64) string {
	var b []byte
	for len(b) < 4096 {
		piece := tr.bytes(addr, 256-addr%256)
		if i := bytes.IndexByte(piece, 0); i >= 0 {
			return string(append(b, piece[:i]...))
		}
		if len(piece) == 0 {
			return ""
		}
		b = append(b, piece...)
		addr += uint64(len(piece))
	}
	return ""
}
