package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/zap"

	"github.com/seed82539d15/holon/internal/nearest"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/tokens"
	"github.com/seed82539d15/holon/turns"
)

// RequestTimeout is how long a request may take: a commit under load takes
// milliseconds, a page of a cold log less than a second.
const RequestTimeout = 30 * time.Second

// askTimeout is how long a request that asks an agent may take: the engine
// gives the agent 60 s, and such requests of one thread wait for each other.
const askTimeout = 90 * time.Second

// pollTimeout is how long a request that waits for work may take: the longest
// wait, and the time that any request may take.
const pollTimeout = turns.MaxClaimWait + RequestTimeout

// InterruptWait is how long turn/interrupt and thread/close wait for the agent
// before they answer "interrupting" and "closing".
const InterruptWait = 2 * time.Second

// Method is one row of the table of methods. Dispatch, rpc.discover, the
// schemas, docs/protocol.md and the TypeScript types are made from it.
type Method struct {
	Name    string
	Summary string
	Params  reflect.Type
	Result  reflect.Type
	Bound   bool // belongs to a connection, so POST /rpc does not take it
	Change  bool // changes something: durable before it is answered
	Scope   Scope
	// ForAgents says that an agent may call it; agentChecks are the agent rules for its
	// params.
	ForAgents   bool
	agentChecks []agentCheck
	ForCodes    bool // a code opens it: see tokens.Code
	// Role is the least role of a named token that may call it, and Limit what it does
	// for one that is limited to threads.
	Role       tokens.Role
	Limit      Limit
	roleCheck  tokenCheck
	limitCheck tokenCheck

	quick    bool     // answers from memory, needs no deadline
	polls    bool     // waits for a result that only its answer delivers
	acts     bool     // is neither a read nor a Change: see the option acts
	actsWith []string // members with which it is not a read
	invoke   func(ctx context.Context, raw jsontext.Value) Reply
}

// Reply is the outcome of a handler: one of Result, Err and Later.
type Reply struct {
	Result []byte
	Seq    int64 // of the change: events up to it go first
	Err    *Error
	Later  func(ctx context.Context) Reply // blocks until the answer is there
	Undone bool                            // Later executes the request; otherwise it only waits
	// Sent is called after the answer: ok says that its bytes were written to
	// the client's connection, not that the client has read them. The transport
	// calls it once, also for an answer that is never written; nil = nothing to
	// call.
	Sent func(ok bool)
}

type option func(*Method)

func bound(m *Method) { m.Bound = true }
func quick(m *Method) { m.quick = true }
func polls(m *Method) { m.polls = true }

// define makes a row from a handler. Work that is the same for all methods
// happens here and in dispatch: decoding, required members, encoding.
func define[P, R any](name, summary string, handle func(context.Context, P) (R, error), options ...option) Method {
	m, shape, seq := describe[P, R](name, summary, options)
	m.invoke = func(ctx context.Context, raw jsontext.Value) Reply {
		p, refused := prepare[P](ctx, &m, shape, raw)
		if refused != nil {
			return *refused
		}
		r, err := handle(ctx, p)
		if err != nil {
			return shape.refused(ctx, name, err, reflect.ValueOf(p))
		}
		return encodeResult(ctx, name, r, seq)
	}
	return m
}

// defineWaiting works like define for a method whose change is durable before its
// result is final: the handler returns a first result and, if it is not final,
// a channel that delivers the final one. The final result is awaited for at
// most wait, outside of the read loop, so that it delays no other request.
func defineWaiting[P, R any](name, summary string, wait time.Duration, handle func(context.Context, P) (R, <-chan R, error), options ...option) Method {
	m, shape, seq := describe[P, R](name, summary, options)
	m.invoke = func(ctx context.Context, raw jsontext.Value) Reply {
		p, refused := prepare[P](ctx, &m, shape, raw)
		if refused != nil {
			return *refused
		}
		first, final, err := handle(ctx, p)
		if err != nil {
			return shape.refused(ctx, name, err, reflect.ValueOf(p))
		}
		if final == nil {
			return encodeResult(ctx, name, first, seq)
		}
		return Reply{Later: func(ctx context.Context) (rep Reply) {
			defer catch(ctx, name, &rep)
			timer := time.NewTimer(wait)
			defer timer.Stop()
			r := first
			select {
			case r = <-final:
			case <-timer.C:
			case <-ctx.Done():
			}
			out := encodeResult(ctx, name, r, seq)
			out.Seq = max(out.Seq, seqOf(&first, seq))
			return out
		}}
	}
	return m
}

// defineAsking works like define for a method that asks an agent before it changes
// anything. How long that takes is unknown, so it runs outside of the read
// loop: later requests on the connection do not wait for it. It does not end when its
// client disconnects, but when the token of the request does: nothing that the token
// has asked for may change something long after that.
func defineAsking[P, R any](name, summary string, handle func(context.Context, P) (R, error), options ...option) Method {
	return defineApart(name, summary, func(ctx context.Context) (context.Context, context.CancelFunc) {
		alive := AliveOf(ctx)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTimeout)
		if alive == nil {
			return ctx, cancel
		}
		stop := context.AfterFunc(alive, cancel)
		return ctx, func() { stop(); cancel() }
	}, handle, options)
}

// definePolling works like define for a method that waits, outside of the read loop,
// for something that may not come. It ends when its client disconnects, because
// that client might not receive the result. A notification does nothing, for
// the same reason.
func definePolling[P, R any](name, summary string, handle func(context.Context, P) (R, error), options ...option) Method {
	return defineApart(name, summary, func(ctx context.Context) (context.Context, context.CancelFunc) {
		ctx, stop := untilDisconnect(ctx)
		ctx, cancel := context.WithTimeout(ctx, pollTimeout)
		return ctx, func() { cancel(); stop() }
	}, handle, append(options, polls))
}

// defineAwaiting works like definePolling for a method whose params say how long it waits.
func defineAwaiting[P, R any](name, summary string, handle func(context.Context, P) (R, error), options ...option) Method {
	return defineApart(name, summary, untilDisconnect, handle, append(options, polls))
}

// defineThen works like define for a method that is done in its order on the connection, and
// may then wait for more: if the handler returns a function, that makes the result,
// outside of the read loop. It ends when its client disconnects.
func defineThen[P, R any](name, summary string, handle func(context.Context, P) (R, func(context.Context) (R, error), error), options ...option) Method {
	m, shape, seq := describe[P, R](name, summary, options)
	m.invoke = func(ctx context.Context, raw jsontext.Value) Reply {
		p, refused := prepare[P](ctx, &m, shape, raw)
		if refused != nil {
			return *refused
		}
		first, then, err := handle(ctx, p)
		if err != nil {
			return shape.refused(ctx, name, err, reflect.ValueOf(p))
		}
		if then == nil {
			return encodeResult(ctx, name, first, seq)
		}
		return Reply{Later: func(ctx context.Context) (rep Reply) {
			defer catch(ctx, name, &rep)
			ctx, cancel := untilDisconnect(ctx)
			defer cancel()
			r, err := then(ctx)
			if err != nil {
				return shape.refused(ctx, name, err, reflect.ValueOf(p))
			}
			out := encodeResult(ctx, name, r, seq)
			out.Seq = max(out.Seq, seqOf(&first, seq))
			return out
		}}
	}
	return m
}

type notificationKey struct{}

// isNotification reports whether the request gets no answer.
func isNotification(ctx context.Context) bool {
	is, _ := ctx.Value(notificationKey{}).(bool)
	return is
}

type callerKey struct{}

type batchKey struct{}

// inBatch reports whether the request is a member of a batch. What waits for something
// that may take minutes only looks there: meanwhile no other answer would be sent.
func inBatch(ctx context.Context) bool {
	is, _ := ctx.Value(batchKey{}).(bool)
	return is
}

// defineSteps works like define for a method that makes many small changes, outside of
// the read loop. It has no deadline. It ends between two changes when its
// client disconnects; the changes made by then stay.
func defineSteps[P, R any](name, summary string, handle func(context.Context, P) (R, error), options ...option) Method {
	return defineApart(name, summary, untilDisconnect, handle, options)
}

// defineApart works like define for a method that runs outside of the read loop, in the
// context that within makes.
func defineApart[P, R any](name, summary string, within func(context.Context) (context.Context, context.CancelFunc),
	handle func(context.Context, P) (R, error), options []option) Method {
	m, shape, seq := describe[P, R](name, summary, options)
	m.invoke = func(ctx context.Context, raw jsontext.Value) Reply {
		p, refused := prepare[P](ctx, &m, shape, raw)
		if refused != nil {
			return *refused
		}
		return Reply{Undone: true, Later: func(ctx context.Context) (rep Reply) {
			defer catch(ctx, name, &rep)
			ctx, cancel := within(ctx)
			defer cancel()
			r, err := handle(ctx, p)
			if err != nil {
				return shape.refused(ctx, name, err, reflect.ValueOf(p))
			}
			return encodeResult(ctx, name, r, seq)
		}}
	}
	return m
}

// prepare decodes the params, applies the rules for agents and named tokens, and says in
// the command who asks.
func prepare[P any](ctx context.Context, m *Method, s *shape, raw jsontext.Value) (p P, refused *Reply) {
	p, err := decodeParams[P](m.Name, raw, s)
	if err != nil {
		return p, &Reply{Err: mapError(loggerOf(ctx), m.Name, err)}
	}
	if err := m.checkAgent(ctx, s, reflect.ValueOf(&p).Elem()); err != nil {
		r := s.refused(ctx, m.Name, err, reflect.ValueOf(p))
		return p, &r
	}
	if err := m.checkToken(ctx, s, reflect.ValueOf(&p).Elem()); err != nil {
		r := s.refused(ctx, m.Name, err, reflect.ValueOf(p))
		return p, &r
	}
	if s.keyed {
		key, err := any(&p).(keyed).ofRequester(ctx)
		if err != nil {
			r := s.refused(ctx, m.Name, err, reflect.ValueOf(p))
			return p, &r
		}
		if s.key != nil {
			reflect.ValueOf(&p).Elem().FieldByIndex(s.key).Set(reflect.ValueOf(key))
		}
	}
	if s.by != nil {
		reflect.ValueOf(&p).Elem().FieldByIndex(s.by).SetString(string(clientOf(ctx)))
	}
	return p, nil
}

type sentKey struct{}

// AfterSent calls f after the answer of the request whose context this is: see
// Reply.Sent. Several functions are called in their order.
func AfterSent(ctx context.Context, f func(ok bool)) {
	if list, is := ctx.Value(sentKey{}).(*[]func(bool)); is {
		*list = append(*list, f)
	}
}

// collecting adds the functions of AfterSent to a reply.
func collecting(ctx context.Context, f func(context.Context) Reply) Reply {
	var list []func(bool)
	rep := f(context.WithValue(ctx, sentKey{}, &list))
	if len(list) == 0 {
		return rep
	}
	if before := rep.Sent; before != nil {
		list = append([]func(bool){before}, list...)
	}
	rep.Sent = func(ok bool) {
		for _, f := range list {
			callSent(ctx, f, ok)
		}
	}
	return rep
}

// callSent keeps a panic of what follows an answer from ending more than that:
// the writer of the answer may hold a lock.
func callSent(ctx context.Context, f func(ok bool), ok bool) {
	defer func() {
		if v := recover(); v != nil {
			loggerOf(ctx).Error("panic after an answer", zap.Any("panic", v), zap.ByteString("stack", debug.Stack()))
		}
	}()
	f(ok)
}

// refused returns the answer to a request whose handler has failed. The error may
// belong to a write that was kept as turn/late: its event goes first, as with
// any change.
func (s *shape) refused(ctx context.Context, name string, err error, p reflect.Value) Reply {
	if ended := endOf(ctx); ended != nil && errors.Is(err, context.Canceled) {
		err = ended // that is why it was given up
	}
	e := s.withIDs(mapError(loggerOf(ctx), name, err), p)
	return Reply{Err: e, Seq: e.Data.LateSeq}
}

// catch makes a panic end the request, not the server.
func catch(ctx context.Context, name string, rep *Reply) {
	if v := recover(); v != nil {
		*rep = Reply{Err: internalError(loggerOf(ctx), name, fmt.Errorf("panic: %v\n%s", v, debug.Stack()))}
	}
}

// seqOf reads the member Seq of a result, whose index is known; 0 for results
// without one.
func seqOf[R any](r *R, index int) int64 {
	if index < 0 {
		return 0
	}
	return reflect.ValueOf(r).Elem().Field(index).Int()
}

func describe[P, R any](name, summary string, options []option) (Method, *shape, int) {
	m := Method{Name: name, Summary: summary, Params: reflect.TypeFor[P](), Result: reflect.TypeFor[R]()}
	for _, o := range options {
		o(&m)
	}
	if m.Limit == "" {
		m.Limit = LimitNamed
		if m.Scope == ScopeServer {
			m.Limit = LimitRefused
		}
	}
	s := shapeOf(m.Params)
	m.Change = s.keyed
	seq := -1
	if m.Result.Kind() == reflect.Struct {
		if f, ok := m.Result.FieldByName("Seq"); ok && len(f.Index) == 1 {
			seq = f.Index[0]
		}
	}
	return m, s, seq
}

func encodeResult[R any](ctx context.Context, name string, r R, seq int) Reply {
	b, err := json.Marshal(r, WireOptions)
	if err != nil {
		return Reply{Err: internalError(loggerOf(ctx), name, fmt.Errorf("encode result: %w", err))}
	}
	return Reply{Result: b, Seq: seqOf(&r, seq)}
}

// Call says how a request came.
type Call struct {
	OnConnection bool // on the connection of WithConn
	Notification bool // no answer is sent
	Batch        bool // it is a member of a batch, whose answer waits for all members
	// Caller is told where the request's change is in the log; nil = nobody is. A method that
	// answers later tells it too.
	Caller ledger.Caller
}

// context passes to the method how the request came.
func (c Call) context(ctx context.Context) context.Context {
	if c.Notification {
		ctx = context.WithValue(ctx, notificationKey{}, true)
	}
	if c.Batch {
		ctx = context.WithValue(ctx, batchKey{}, true)
	}
	if c.Caller != nil {
		ctx = context.WithValue(ctx, callerKey{}, c.Caller)
	}
	return ctx
}

// names returns the names of all methods.
func (a *API) names() []string {
	names := make([]string, len(a.methods))
	for i := range a.methods {
		names[i] = a.methods[i].Name
	}
	return names
}

// Call executes one request. It returns the method for metrics, nil if no
// method has this name.
func (a *API) Call(ctx context.Context, name string, params jsontext.Value, c Call) (rep Reply, method *Method) {
	method, ok := a.byName[name]
	if !ok {
		if len(name) > 128 {
			name = name[:128]
		}
		e := Errorf(KindMethodNotFound, "there is no method %q%s", name, cmp.Or(nearest.Hint(name, a.names()), "; rpc.discover lists all"))
		e.Data.Method = name
		return Reply{Err: e}, nil
	}
	if method.Bound && !c.OnConnection {
		return Reply{Err: Errorf(KindInvalidRequest, "%s works only on a streaming connection: send it on POST /rpc/stream", method.Name)}, method
	}
	if method.polls && c.Notification {
		return Reply{}, method
	}
	if !method.Change {
		c.Caller = nil
	}
	ctx = c.context(ctx)
	rep = collecting(a.logging(ctx), func(ctx context.Context) Reply { return method.run(ctx, params) })
	if c.Notification && !rep.Undone {
		rep.Later = nil // the work is done, and no client waits for the result
	}
	if later := rep.Later; later != nil {
		first := rep.Sent
		rep.Sent = nil
		rep.Later = func(ctx context.Context) Reply {
			ctx = c.context(ctx)
			final := collecting(a.logging(ctx), later)
			if second := final.Sent; first != nil {
				final.Sent = func(ok bool) {
					first(ok)
					if second != nil {
						second(ok)
					}
				}
			}
			return final
		}
	}
	return rep, method
}

// run executes one call with a deadline; a panic ends the request, not the
// server. A change does not end when its client disconnects: a client that
// hangs up must not decide whether a commit happens.
func (m *Method) run(ctx context.Context, raw jsontext.Value) (rep Reply) {
	defer catch(ctx, m.Name, &rep)
	if m.quick {
		return m.invoke(ctx, raw)
	}
	deadline := ctx
	if m.Change {
		deadline = context.WithoutCancel(ctx)
	}
	deadline, cancel := context.WithTimeout(deadline, RequestTimeout)
	defer cancel()
	return m.invoke(deadline, raw)
}

type loggerKey struct{}

type apiKey struct{}

func (a *API) logging(ctx context.Context) context.Context {
	ctx = context.WithValue(ctx, apiKey{}, a) // for the rules
	return context.WithValue(ctx, loggerKey{}, a.Log)
}

// loggerOf returns the log of the server whose request this is.
func loggerOf(ctx context.Context) *zap.Logger {
	if log, ok := ctx.Value(loggerKey{}).(*zap.Logger); ok {
		return log
	}
	return zap.NewNop()
}
