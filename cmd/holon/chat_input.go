package main

import "bufio"

// lineInput reads lines. Those of a terminal are taken as they come; of a pipe the next
// one is read when it is wanted, so that a line answers the result of the one before.
type lineInput struct {
	terminal bool
	lines    chan string
	next     chan struct{}
	over     chan struct{}
	wanted   bool
	closed   bool
}

// maxLine is the longest line that is read.
const maxLine = 1 << 20

func newLineInput(con *console) *lineInput {
	in := &lineInput{terminal: isTerminalFile(con.in), lines: make(chan string), next: make(chan struct{}), over: make(chan struct{})}
	lines := in.lines
	go func() {
		defer close(lines)
		scanner := bufio.NewScanner(con.in)
		scanner.Buffer(nil, maxLine)
		for {
			if !in.terminal {
				select {
				case <-in.next:
				case <-in.over:
					return
				}
			}
			if !scanner.Scan() {
				return
			}
			select {
			case lines <- scanner.Text():
			case <-in.over:
				return
			}
		}
	}()
	return in
}

// want lets the next line of a pipe be read.
func (in *lineInput) want(now bool) {
	if in.terminal || in.closed || in.wanted || !now {
		return
	}
	in.wanted = true
	go func() {
		select {
		case in.next <- struct{}{}:
		case <-in.over:
		}
	}()
}

// end stops the reading of lines. It is called once.
func (in *lineInput) end() { close(in.over) }
