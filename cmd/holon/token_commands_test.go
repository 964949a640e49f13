package main

import (
	"strings"
	"testing"

	"github.com/seed82539d15/holon/rpc/client"
)

// holding is somebody on the server's machine with a named token.
func (s *server) holding(args ...string) *user {
	s.t.Helper()
	token := s.newToken(args...)
	return &user{t: s.t, environ: []string{"HOLON_DATA=" + s.data, "HOLON_TOKEN=" + token, "XDG_CONFIG_HOME=" + s.t.TempDir()}}
}

func TestWhatARoleDoesNotAllowIsSaidWithTheOneThatDoes(t *testing.T) {
	s := startServer(t)
	_, turn := s.startSleeper("one", "日本語 work")
	s.want("run", "-q", "--thread=over", "--title=over", "/say done")
	s.want("close", "over")
	s.want("run", "-d", "--thread=asks", "/ask Delete it?")
	var question string
	eventually(t, "it asks", func() bool {
		question = itemIDs.FindString(s.want("respond", "--long"))
		return question != ""
	})
	read, respond, work := s.holding("reader", "--role=read"), s.holding("answerer", "--role=respond"), s.holding("worker", "--role=work")
	for _, args := range [][]string{
		{"threads"}, {"turns"}, {"items"}, {"respond"}, {"status"}, {"tree"}, {"agents"}, {"profiles"},
		{"attach", "over", "--after=0"}, {"watch", "--after=0", "--limit=2"}, {"watch", "--thread=over", "--after=0", "--limit=1"},
	} {
		read.must("", args...)
	}
	for _, c := range []struct {
		who  *user
		role string // that is needed
		args []string
	}{
		{read, "respond", []string{"respond", question, "--allow"}},
		{read, "work", []string{"interrupt", "日本語 work"}},
		{read, "work", []string{"interrupt", turn}},
		{respond, "work", []string{"steer", "日本語 work", "hello"}},
		{respond, "work", []string{"close", "one"}},
		{respond, "work", []string{"run", "--detach", "hello"}},
		{respond, "work", []string{"run", "--thread=one", "hello"}},
		{work, "operate", []string{"pause"}},
		{work, "operate", []string{"pause", "日本語 work"}},
		{work, "operate", []string{"resume"}},
		{work, "operate", []string{"resume", "one"}},
	} {
		c.who.fails(exitFailed, "", c.args, "needs "+c.role+" [forbidden]",
			"That takes more than HOLON_TOKEN. Whoever runs the server makes another token: holon token create NAME --role "+c.role+"\n")
	}
	for _, args := range [][]string{{"token", "list"}, {"token", "create", "x", "--role=read"}, {"token", "revoke", "worker"}} {
		work.fails(exitFailed, "", args, "[forbidden]", "Only the owner does that: run it as the server's user, on its machine, without HOLON_TOKEN.")
	}
	if s.stateOf(turn) != "active" || s.stateOf("one") != "running" {
		t.Error("something has changed")
	}
	respond.must("", "respond", question, "--allow")
	work.must("", "steer", "日本語 work", "hello")
	contains(t, work.must("", "interrupt", "日本語 work").out, short(turn)+` of one "日本語 work": interrupted`)
	contains(t, work.must("", "run", "--detach", "hello").err, "holon attach ")
	work.must("", "close", "one")
	s.holding("operator", "--role=operate").must("", "pause", "asks")
}

func TestATokenForThreadsFindsThemByTheirNames(t *testing.T) {
	s := startServer(t)
	s.startThreads([2]string{"mine", "日本語 work"}, [2]string{"other", "other work"})
	s.want("run", "-q", "--thread=mine", "/say before")
	who := s.holding("colleague", "--role=work", "--thread=mine")
	list := who.must("", "threads").out
	if !strings.Contains(list, "日本語 work") || strings.Contains(list, "other") {
		t.Errorf("its threads:\n%s", list)
	}
	contains(t, who.must("", "run", "--thread=日本語 work", "/say again").out, "again", "turn: completed")
	contains(t, who.must("", "run", "--detach", "--thread=latest", "/sleep 600000").out, `in thread mine "日本語 work"`)
	who.must("", "steer", "日本語 work", "hello")
	contains(t, who.must("", "turns", "--thread=日本語 work").out, "active")
	contains(t, who.must("", "interrupt", "--yes").out, `of mine "日本語 work": interrupted`)
	contains(t, who.must("", "run", "-q", "--parent=日本語 work", "--thread=kid", "/say below").out, "below")
	for _, args := range [][]string{
		{"attach", "other"}, {"attach", "other work"}, {"close", "other"}, {"turns", "--thread=other"}, {"watch", "--thread=other"},
		{"run", "hello"}, {"run", "--thread=new", "hello"}, {"run", "--thread=other", "hello"}, {"status"},
	} {
		who.fails(exitFailed, "", args, "colleague is limited to", "holon threads lists the threads that HOLON_TOKEN is for", "holon token create NAME --role ROLE --thread THREAD")
	}
	who.fails(exitFailed, "", []string{"interrupt", "other"}, `"other": no such thread or turn`)
	contains(t, who.must("", "close", "日本語 work", "--yes").out, "closed")
	contains(t, who.must("", "attach", "mine", "--after=0").out, "before", "again")
	contains(t, who.must("", "attach", "日本語 work").out, "hello")
	if s.stateOf("other") != "running" {
		t.Error("another thread has changed")
	}
}

// A login keeps a named token like that of the server, and says whose it is.
func TestALoginSaysWhoseTokenItIs(t *testing.T) {
	s := startServer(t)
	found, err := client.ReadServerFile(s.data)
	if err != nil {
		t.Fatal(err)
	}
	url := found.URLs[0]
	token := s.newToken("phone", "--role=respond")
	p := newUser(t)
	contains(t, p.must(token+"\n", "login", url).out, "logged in to "+url+" as phone (respond), with the token that ends in "+token[len(token)-4:])
	p.must("", "threads", "--url", url)
	p.fails(exitFailed, "", []string{"run", "--url", url, "hello"}, "the token phone has the role respond", "That takes more than the token in the profile. Whoever", "--role work")
	p.fails(exitFailed, "", []string{"token", "list", "--url", url}, "without the token in the profile (holon logout "+url+").")
	s.want("token", "revoke", "phone")
	p.fails(exitFailed, "", []string{"threads", "--url", url}, "the profile of "+url+" is not valid there any more: holon login "+url)
	contains(t, p.must("", "logout", url).out, url)
}
