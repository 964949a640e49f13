package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// errNothingDone ends a command that a person has not confirmed.
var errNothingDone = &exitError{code: exitFailed, err: errors.New("nothing was changed")}

// person is the user at the terminal, who can be asked before something is stopped. One
// goroutine uses it.
type person struct {
	*questions
}

// control is a caller, and the person who can be asked, for commands that stop, pause or
// follow a thread. Call end when done.
type control struct {
	caller *caller
	asks   *person // nil: nobody was asked yet
}

// end ends the reading from the terminal.
func (k *control) end() {
	if k.asks != nil {
		k.asks.end()
	}
}

// person returns who can be asked at the terminal; nil if there is none, or if the
// command works for a program. It is always the same one: two would take each other's
// lines.
func (k *control) person() *person {
	c := k.caller
	if k.asks != nil || c.format != "text" {
		return k.asks
	}
	q := questionsAt(c.console, false)
	if q.from == nil || q.screen == nil {
		q.end()
		return nil
	}
	k.asks = &person{q}
	return k.asks
}

// line asks and returns what was typed; ended says that the input is over.
func (p *person) line(ctx context.Context, question string) (text string, ended bool, err error) {
	if _, err := io.WriteString(p.screen, question); err != nil {
		return "", false, err
	}
	p.read()
	select {
	case line, open := <-p.lines:
		if !open {
			fmt.Fprintln(p.screen)
		}
		return strings.TrimSpace(line), !open, nil
	case <-ctx.Done():
		fmt.Fprintln(p.screen)
		return "", true, errNothingDone
	}
}

// agrees asks for yes or no below a question of whole lines; everything that is not yes is
// no.
func (p *person) agrees(ctx context.Context, question string) (bool, error) {
	text, _, err := p.line(ctx, question+"[y/N] ")
	text = strings.ToLower(text)
	return text == "y" || text == "yes", err
}

// number asks for a number from 1 to most; 0 = none, which no says too.
func (p *person) number(ctx context.Context, question string, most int) (int, error) {
	for {
		text, ended, err := p.line(ctx, question)
		if err != nil || ended || text == "" || isNo(text) {
			return 0, err
		}
		if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= most {
			return n, nil
		}
		fmt.Fprintf(p.screen, "That is not a number from 1 to %d.\n", most)
	}
}

// confirm asks a person whether to do what the question says. Where nobody can be asked,
// or with yes, it is done.
func (k *control) confirm(yes bool, question string) error {
	c := k.caller
	if yes {
		return nil
	}
	p := k.person()
	if p == nil {
		return nil
	}
	agreed, err := p.agrees(c.ctx, question)
	if err == nil && !agreed {
		err = errNothingDone
	}
	return err
}
