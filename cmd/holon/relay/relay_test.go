package relay

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/rpc/client"
)

const logL = `,"log_id":"L"`

// Cut in the middle of a line: the line comes whole, once, and nothing that the second
// connection begins with.
func TestACutStreamGoesOnAfterTheLastEvent(t *testing.T) {
	g := start(t)
	c := g.accept()
	c.passes(opened(5), event(6), event(7))
	c.cut(event(8)[:40])
	c = g.resumes(7, logL)
	c.passes(event(8), event(9))
	c.w.Close() // an end without a word is a cut too
	c = g.resumes(9, logL)
	c.passes(event(10))
	g.stdin.Close()
	g.ends("")
	g.silent()
}

func TestHeartbeatsMoveWhereAStreamGoesOn(t *testing.T) {
	g := start(t)
	c := g.accept()
	c.passes(opened(5), `{"jsonrpc":"2.0","method":"stream/heartbeat","params":{"seq":40}}`)
	c.cut("")
	g.resumes(40, logL)
}

// A connection that ends before it says where it begins leaves nothing to go on with.
func TestACutBeforeTheStreamHasBegun(t *testing.T) {
	g := start(t)
	g.write(request("1", "holon/status", "{}"))
	c := g.accept()
	c.gets(request("1", "holon/status", "{}"))
	c.cut(opened(5)[:10])
	c = g.accept()
	c.gets(request("1", "holon/status", "{}"))
	c.passes(opened(6), result("1", "{}"))
	c.cut("")
	g.resumes(6, logL)
}

func TestTheFilterOfASubscriptionIsKept(t *testing.T) {
	g := start(t)
	c := g.accept()
	c.passes(opened(5))
	asked := request("1", subscribe, `{"consumer":"me","methods":["turn/*"],"later":{"a":1e400},"log_id":"L"}`)
	g.write(asked)
	c.gets(asked)
	c.passes(event(6), result("1", `{"after_seq":2,"latest_seq":6,"log_id":"L"}`))
	c.cut("") // before the first event
	c = g.resumes(2, `,"later":{"a":1e400},"log_id":"L","methods":["turn/*"]`)
	c.passes(event(3))
	c.cut("")
	c = g.resumes(3, `,"later":{"a":1e400},"log_id":"L","methods":["turn/*"]`)

	// The second subscription of a connection counts once it is answered, and not if it
	// is refused.
	second, third := request("2", subscribe, `{"after_seq":1}`), request("3", subscribe, `{"after_seq":-1}`)
	g.write(second, third)
	c.gets(second, third)
	c.passes(result("2", `{"after_seq":1,"log_id":"L"}`), `{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"no","data":{"kind":"invalid_cursor"}}}`)
	c.cut("")
	c = g.resumes(1, logL)

	// One that is not answered is sent again after the other goes on.
	fourth := request("4", subscribe, `{"after_seq":0}`)
	g.write(fourth)
	c.gets(fourth)
	c.cut("")
	c = g.resumes(1, logL)
	c.gets(fourth)
	c.passes(event(2), result("4", `{"after_seq":0,"log_id":"L"}`), event(1))
	c.cut("")
	g.resumes(1, logL)
}

func TestAClientWithoutASubscriptionGetsNone(t *testing.T) {
	g := start(t)
	c := g.accept()
	c.passes(opened(5))
	asked := request(`"u"`, unsubscribe, "{}")
	g.write(asked)
	c.gets(asked)
	c.cut("")
	// It unsubscribes while there is no connection: the events up to then come.
	c = g.resumes(5, logL)
	c.gets(asked)
	c.passes(event(6), result(`"u"`, `{"after_seq":6}`))
	c.cut("")
	c = g.accept()
	c.sends(opened(99), event(100))
	c.sends(result(c.getsOwn(request("ID", unsubscribe, "{}")), `{"after_seq":100}`))
	again := request("7", subscribe, `{}`)
	g.write(again)
	c.gets(again)
	c.passes(result("7", `{"after_seq":100,"log_id":"L"}`), event(101))
	c.cut("")
	g.resumes(101, logL)
}

func TestWhatIsNotAnsweredIsSentAgainOrUnknown(t *testing.T) {
	g := start(t)
	c := g.accept()
	c.passes(opened(5))
	read := request("1", "thread/list", "{}")
	keyed := request(`"k"`, "turn/start", `{"thread_id":"t","idempotency_key":"x"}`)
	change := request("2", "turn/start", `{"thread_id":"t"}`)
	wrong := `{"jsonrpc":"2.0"`
	notified := `{"jsonrpc":"2.0","method":"turn/interrupt","params":{"turn_id":"a"}}`
	reads := "[" + request("3", "holon/status", "{}") + "," + request("4", "agent/list", "{}") + "]"
	mixed := "[" + request("5", "holon/status", "{}") + "," + request("6", "holon/pause", "{}") + "," + notified + "]"
	done := request("8", "holon/pause", "{}")
	response := `{"jsonrpc":"2.0","id":9,"result":{}}`
	g.write(read, keyed, change, wrong, notified, reads, mixed, done, response)
	c.gets(read, keyed, change, wrong, notified, reads, mixed, done, response)
	c.passes(result("8", `{}`))
	c.cut("")
	g.reads(unknown("2", "turn/start"), "["+unknown("5", "holon/status")+","+unknown("6", "holon/pause")+"]")
	// A client that uses an id again means another request.
	g.write(request("2", "holon/status", "{}"))
	c = g.resumes(5, logL)
	c.gets(read, keyed, wrong, reads, request("2", "holon/status", "{}"))
	c.passes(result(`"k"`, `{"seq":6}`), "["+result("4", "{}")+","+result("3", "{}")+"]", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700}}`)
	c.cut("")
	c = g.resumes(5, logL)
	c.gets(read, request("2", "holon/status", "{}"))
	c.passes(result("2", "{}"), result("1", "{}"))
	g.stdin.Close()
	g.ends("")
	g.silent()
}

// What no connection has taken is sent by the next one, whatever it is.
func TestWhatWasNotSentIsSent(t *testing.T) {
	g := start(t)
	c := g.accept()
	c.passes(opened(5))
	change, notified := request("2", "holon/pause", "{}"), `{"jsonrpc":"2.0","method":"holon/resume"}`
	c.cut("")
	next := await(t, g.conns, "a connection")
	g.write(change, notified)
	next.refuse <- errCut
	c = g.resumes(5, logL)
	c.gets(change, notified)
	c.passes(result("2", "{}"))
	g.stdin.Close()
	id := c.getsOwn(request("ID", "initialize", "{}"))
	c.inputEnds()
	c.sends(result(id, "{}"))
	g.ends("")
}

func TestTheEndOfInputWhileThereIsNoConnection(t *testing.T) {
	g := start(t)
	c := g.accept()
	c.passes(opened(5))
	read := request("1", "thread/list", "{}")
	g.write(read)
	c.gets(read)
	c.cut("")
	next := await(t, g.conns, "a connection")
	g.stdin.Close()
	next.refuse <- errCut
	c = g.resumes(5, logL)
	c.gets(read)
	c.inputEnds()
	c.cut("") // after the end of the input, too
	c = g.resumes(5, logL)
	c.gets(read)
	c.inputEnds()
	c.passes(result("1", "{}"))
	g.ends("")

	g = start(t)
	c = g.accept()
	c.passes(opened(5))
	c.cut("")
	await(t, g.conns, "a connection")
	g.stdin.Close() // all is answered
	g.ends("")
}

// A request that cuts every connection is not sent for ever.
func TestARequestThatCutsEveryConnectionIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := start(t)
		c := g.accept()
		c.passes(opened(5))
		read, other := request("1", "thread/list", "{}"), request("2", "thread/list", "{}")
		g.write(read, other)
		for n := range maxCuts {
			c.gets(read, other)
			c.passes(event(6 + n)) // an event is no answer
			c.cut("")
			if n == maxCuts-1 {
				g.reads(unknown("1", "thread/list"))
			}
			c = g.resumes(6+n, logL)
		}
		c.gets(other)
		c.passes(event(20), result("2", "{}"))
	})
}

// Connections that are cut quickly, but not before they have brought an answer, carry all
// requests in the end.
func TestARequestIsNotGivenUpWhileOthersAreAnswered(t *testing.T) {
	g := start(t)
	c := g.accept()
	c.passes(opened(5))
	var reads []string
	for n := range 2 * maxCuts {
		reads = append(reads, request(strconv.Itoa(n), "thread/list", "{}"))
	}
	g.write(reads...)
	for n := range reads {
		c.gets(reads[n:]...)
		c.passes(result(strconv.Itoa(n), "{}"))
		c.cut("")
		c = g.resumes(5, logL)
	}
	g.stdin.Close()
	g.ends("")
	g.silent()
}

// One that waits for hours outlives connections that last, however many.
func TestARequestIsNotGivenUpWhenConnectionsLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := start(t)
		c := g.accept()
		c.passes(opened(5))
		read := request("1", "turn/await", `{"turn_ids":["a"],"wait_seconds":3600}`)
		g.write(read)
		for range 2 * maxCuts {
			c.gets(read)
			time.Sleep(steadyAfter)
			c.cut("")
			c = g.resumes(5, logL)
		}
		c.gets(read)
		c.passes(result("1", "{}"))
		g.stdin.Close()
		g.ends("")
	})
}

func TestWhatEndsTheCommand(t *testing.T) {
	refused := `{"jsonrpc":"2.0","id":ID,"error":{"code":-32005,"message":"pruned","data":{"kind":"cursor_expired","retryable":false}}}`
	for name, c := range map[string]struct {
		after func(g *rig, c *conn)
		want  string
	}{
		"the server stops": {func(_ *rig, c *conn) {
			c.passes(`{"jsonrpc":"2.0","method":"stream/closing","params":{"code":"server_stopping","reason":"it stops","reconnect":true}}`)
		}, "it stops [server_stopping]"},
		"nobody answers": {func(g *rig, c *conn) {
			c.cut("")
			for range maxAttempts {
				g.refuse(errCut)
			}
		}, errCut.Error()},
		"connections that say nothing": {func(g *rig, c *conn) {
			c.cut("")
			for range maxAttempts {
				g.accept().cut("")
			}
		}, errCut.Error()},
		"the token has ended": {func(g *rig, c *conn) {
			c.cut("")
			g.refuse(&client.Error{Kind: client.KindUnauthorized, Message: "the token is wrong", HTTPStatus: 401})
		}, "the token is wrong [unauthorized]"},
		"the events are gone": {func(g *rig, c *conn) {
			c.cut("")
			c = g.accept()
			id := c.getsOwn(request("ID", subscribe, `{"after_seq":5,"log_id":"L"}`))
			c.sends(strings.Replace(refused, "ID", id, 1))
		}, "pruned [cursor_expired]"},
		"it follows the server's log": {func(g *rig, c *conn) {
			ask := request("1", followLog, `{"follow":true}`)
			g.write(ask)
			c.gets(ask)
			c.passes(result("1", `{"stream_id":"log_1","logs":[]}`))
			c.cut("")
		}, errCut.Error()},
		"a notification has subscribed": {func(g *rig, c *conn) {
			ask := `{"jsonrpc":"2.0","method":"stream/subscribe"}`
			g.write(ask)
			c.gets(ask)
			c.cut("")
		}, errCut.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			g := start(t)
			g.gone = func(_ int, err error) error {
				var refused *client.Error
				if errors.As(err, &refused) {
					return err
				}
				return nil
			}
			first := g.accept()
			first.passes(opened(5))
			c.after(g, first)
			g.ends("the connection to the server is lost: ")
		})
	}
}

func TestALogThatIsNoLongerFollowedHoldsNothingUp(t *testing.T) {
	g := start(t)
	c := g.accept()
	c.passes(opened(5))
	follow, stop := request("1", followLog, `{"follow":true}`), request("2", unfollowLog, `{"stream_id":"log_1"}`)
	g.write(follow, stop)
	c.gets(follow, stop)
	c.passes(result("1", `{"stream_id":"log_1"}`), result("2", `{"stopped":true}`))
	c.cut("")
	g.resumes(5, logL)
}

func TestTheFirstConnectionIsTriedOnce(t *testing.T) {
	g := start(t)
	g.refuse(errCut)
	if err := await(t, g.ended, "the end"); !errors.Is(err, errCut) || err.Error() != errCut.Error() {
		t.Errorf("%v", err)
	}
}

func TestASignalEndsIt(t *testing.T) {
	g := start(t)
	c := g.accept()
	c.passes(opened(5))
	c.cut("")
	await(t, g.conns, "a connection")
	g.stop()
	g.ends("context canceled")
}

const heartbeats = `{"jsonrpc":"2.0","method":"stream/opened","params":{"log_id":"L","after_seq":5,"heartbeat_seconds":2}}`

// A connection that is only silent, as after a sleep of the machine, is cut after as many
// missed heartbeats as every client waits for.
func TestASilentConnectionIsCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := start(t)
		c := g.accept()
		c.passes(heartbeats)
		read := request("1", "turn/await", "{}")
		g.write(read)
		c.gets(read)
		for seq := 6; seq < 9; seq++ {
			time.Sleep(4900 * time.Millisecond)
			c.passes(event(seq))
		}
		began := time.Now()
		c = g.accept()
		if silence := time.Since(began); silence != 5*time.Second {
			t.Errorf("it was taken for dead after %v", silence)
		}
		c.sends(heartbeats)
		id := c.getsOwn(request("ID", subscribe, `{"after_seq":8`+logL+`}`))
		c.sends(result(id, `{"after_seq":8}`))
		c.gets(read)
		began = time.Now()
		g.accept() // a further one has heartbeats, too
		if silence := time.Since(began); silence != 5*time.Second {
			t.Errorf("the second was taken for dead after %v", silence)
		}
		g.stop()
		g.ends("context canceled")
	})
}

// A server that accepts and says nothing is given up.
func TestAFirstConnectionThatSaysNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := start(t)
		await(t, g.conns, "a connection")
		g.ends("nothing came for 30s")
	})
}

// A stream that was cut before it has said where it begins goes on from where the log was
// before it, so that all events of what was asked for come.
func TestACutBeforeTheStreamHasBegunLosesNothing(t *testing.T) {
	g := start(t)
	keyed := request("1", "turn/start", `{"idempotency_key":"k"}`)
	g.write(keyed)
	c := g.accept()
	if c.after != "" {
		t.Errorf("the first connection begins after %s", c.after)
	}
	c.gets(keyed)
	c.cut(opened(4)[:10])
	g.refuse(errCut)
	c = g.accept()
	if c.after != "L:4" {
		t.Errorf("the next connection begins after %q", c.after)
	}
	c.gets(keyed)
	c.passes(opened(4), event(5), result("1", "{}"))
	c.cut("")
	c = g.resumes(5, logL)
	if c.after != "" {
		t.Errorf("a further connection begins after %s", c.after)
	}
}

// A subscription whose answer was lost begins where it did: where its client says, or
// where it was when the connection was cut.
func TestASubscriptionWithoutAnAnswerBeginsWhereItDid(t *testing.T) {
	for asked, again := range map[string]string{
		`{"after_seq":2,"methods":["turn/*"]}`:    "",
		`{"consumer":"me"}`:                       "",
		`{"methods":["turn/*"],"after_seq":null}`: `{"after_seq":5,"log_id":"L","methods":["turn/*"]}`,
	} {
		for _, begun := range []bool{true, false} {
			g := start(t)
			sent, keyed := request(`"s"`, subscribe, asked), request("1", "turn/start", `{"idempotency_key":"k"}`)
			want := sent
			if again != "" {
				want = request(`"s"`, subscribe, again)
			}
			c := g.accept()
			if begun {
				c.passes(opened(4), event(5))
			}
			g.write(sent, keyed)
			c.gets(sent, keyed)
			c.cut("")
			if begun {
				c = g.resumes(5, logL)
			} else {
				c = g.accept()
				want = strings.Replace(want, `"after_seq":5`, `"after_seq":4`, 1)
			}
			c.gets(want, keyed)
			c.cut("") // it stays so
			if begun {
				c = g.resumes(5, logL)
			} else {
				c = g.accept()
			}
			c.gets(want, keyed)
		}
	}
}

// Where the client has no stream, or in a batch, nobody knows where to begin it.
func TestASubscriptionThatCannotBeginWhereItDid(t *testing.T) {
	g := start(t)
	c := g.accept()
	c.passes(opened(5))
	batch := "[" + request("1", subscribe, "{}") + "]"
	g.write(batch)
	c.gets(batch)
	c.cut("")
	g.reads("[" + unknown("1", subscribe) + "]")
	c = g.resumes(5, logL)
	off, on := request("2", unsubscribe, "{}"), request("3", subscribe, "{}")
	g.write(off, on)
	c.gets(off, on)
	c.passes(result("2", "{}"))
	c.cut("")
	g.reads(unknown("3", subscribe))
	c = g.accept()
	c.getsOwn(request("ID", unsubscribe, "{}"))
}

// What was sent before the end of the input is executed before the command ends, also if
// nobody gets an answer.
func TestANotificationBeforeTheEndOfInputIsExecuted(t *testing.T) {
	notified := `{"jsonrpc":"2.0","method":"holon/pause"}`
	for name, before := range map[string]string{"alone": "", "after a request": request("1", "holon/status", "{}")} {
		t.Run(name, func(t *testing.T) {
			g := start(t)
			c := g.accept()
			c.passes(opened(5))
			if before != "" {
				g.write(before)
				c.gets(before)
			}
			g.write(notified)
			c.gets(notified)
			g.stdin.Close()
			if before != "" {
				c.passes(result("1", "{}"))
			}
			id := c.getsOwn(request("ID", "initialize", "{}"))
			c.inputEnds()
			c.passes(event(6))
			c.sends(result(id, "{}"))
			g.ends("")
			g.silent()
		})
	}
	t.Run("before a request", func(t *testing.T) { // whose answer says it
		g := start(t)
		c := g.accept()
		c.passes(opened(5))
		after := request("1", "holon/status", "{}")
		g.write(notified, after)
		c.gets(notified, after)
		c.passes(result("1", "{}"))
		g.stdin.Close()
		c.inputEnds()
		g.ends("")
	})
	t.Run("cut", func(t *testing.T) {
		g := start(t)
		c := g.accept()
		c.passes(opened(5))
		g.write(notified)
		c.gets(notified)
		g.stdin.Close()
		c.getsOwn(request("ID", "initialize", "{}"))
		c.cut("")
		g.ends("may have taken effect or not")
	})
}
