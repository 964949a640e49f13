package kinds

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/bridges"
)

// The bounds of the search for a comment. One answer is at most maxAnswer, and a
// comment of somebody else can be that large alone. So pages are short, and what
// was cut off a page is read comment by comment.
const (
	findPage     = 10
	findPages    = 3
	findRequests = 20
	// findSkew is how far the clocks may differ.
	findSkew = time.Hour
)

// markOf returns the hidden end of a comment: it names the card and the delivery.
func markOf(card bridges.Card, o *bridges.Outgoing) string {
	sum := sha256.Sum256([]byte(card.Key + "\x00" + o.ID))
	return "<!-- holon:" + hex.EncodeToString(sum[:16]) + " -->"
}

// find looks for the comment with a mark among the newest of the issue. found is
// also true if it cannot be looked for now. Only comments of the token's own
// account count: anybody can copy a mark. An app's token cannot say which account
// it has; then nothing is found.
func (c *gitHubCall) find(mark string) (id string, r bridges.Result, found bool) {
	me, r := c.whoAmI()
	if r.Outcome != bridges.Delivered {
		return "", r, r.Outcome == bridges.Wait || r.Outcome == bridges.Failed && r.Error != unreadable
	}
	s := search{c: c, me: me, mark: mark}
	if at := c.o.Envelope().Timestamp; !at.IsZero() {
		s.since = at.Add(-findSkew).UTC().Format(time.RFC3339)
	}
	return s.run()
}

// whoAmI asks for the account of the token, once for a channel.
func (c *gitHubCall) whoAmI() (int64, bridges.Result) {
	if me := c.g.account.Load(); me != 0 {
		return me, bridges.Result{Outcome: bridges.Delivered}
	}
	got, r := c.call(http.MethodGet, c.g.api.JoinPath("user"), nil)
	if r.Outcome != bridges.Delivered {
		return 0, r
	}
	var user struct {
		ID int64 `json:"id"`
	}
	if json.Unmarshal(got.body, &user) != nil || user.ID <= 0 {
		return 0, unread(r)
	}
	c.g.account.Store(user.ID)
	return user.ID, r
}

// search is one search through the newest comments of an issue. GitHub lists them
// from the oldest.
type search struct {
	c        *gitHubCall
	me       int64
	mark     string
	since    string
	requests int
}

func (s *search) run() (string, bridges.Result, bool) {
	first, last, r := s.page(findPage, 1)
	if r.Outcome != bridges.Delivered {
		return "", r, true
	}
	if last <= 1 {
		return s.look(1, first, r)
	}
	for page := last; page > max(last-findPages, 0); page-- {
		list, _, r := s.page(findPage, page)
		if r.Outcome != bridges.Delivered {
			return "", r, true
		}
		if id, r, found := s.look(page, list, r); found {
			return id, r, true
		}
	}
	return "", r, false
}

// look looks at the comments of a page, and reads those one by one that were cut
// off.
func (s *search) look(page int, list comments, r bridges.Result) (string, bridges.Result, bool) {
	for _, each := range list.whole {
		if s.isMine(each) {
			return strconv.FormatInt(each.ID, 10), r, true
		}
	}
	for i := len(list.whole); list.cut && i < findPage && s.requests < findRequests; i++ {
		one, _, r := s.page(1, (page-1)*findPage+i+1)
		if r.Outcome != bridges.Delivered {
			return "", r, true
		}
		if len(one.whole) == 0 && !one.cut {
			break // there are no more
		}
		for _, each := range one.whole {
			if s.isMine(each) {
				return strconv.FormatInt(each.ID, 10), r, true
			}
		}
	}
	return "", r, false
}

func (s *search) isMine(each gitHubComment) bool {
	return each.User.ID == s.me && strings.HasSuffix(strings.TrimRight(each.Body, " \r\n"), s.mark)
}

// comments are those of a page. cut says that there are more than whole.
type comments struct {
	whole []gitHubComment
	cut   bool
}

// page reads a page; last is the number of the last one, as far as GitHub says.
func (s *search) page(size, number int) (list comments, last int, r bridges.Result) {
	s.requests++
	to := s.c.comments()
	query := url.Values{"per_page": {strconv.Itoa(size)}, "page": {strconv.Itoa(number)}}
	if s.since != "" {
		query.Set("since", s.since)
	}
	to.RawQuery = query.Encode()
	got, r := s.c.call(http.MethodGet, to, nil)
	if r.Outcome != bridges.Delivered {
		return comments{}, 0, r
	}
	dec := jsontext.NewDecoder(bytes.NewReader(got.body))
	if start, err := dec.ReadToken(); err != nil || start.Kind() != '[' {
		return comments{cut: true}, 0, r
	}
	for dec.PeekKind() == '{' {
		var one gitHubComment
		if json.UnmarshalDecode(dec, &one) != nil {
			list.cut = true
			break
		}
		list.whole = append(list.whole, one)
	}
	if !list.cut {
		end, err := dec.ReadToken()
		list.cut = err != nil || end.Kind() != ']'
	}
	return list, lastPage(got.header), r
}

// lastPage reads the number of the last page of a Link header (RFC 8288). Its
// address is not used: only ours are called.
func lastPage(h http.Header) int {
	for _, link := range strings.Split(strings.Join(h.Values("Link"), ","), ",") {
		to, rel, _ := strings.Cut(link, ";")
		if !strings.Contains(rel, `rel="last"`) {
			continue
		}
		u, err := url.Parse(strings.Trim(strings.TrimSpace(to), "<>"))
		if err != nil {
			continue
		}
		if n, err := strconv.Atoi(u.Query().Get("page")); err == nil && n > 0 {
			return n
		}
	}
	return 1
}

// firstID reads the member id at the beginning of an object. The object may be cut
// off behind it.
func firstID(body []byte) int64 {
	dec := jsontext.NewDecoder(bytes.NewReader(body))
	if t, err := dec.ReadToken(); err != nil || t.Kind() != '{' {
		return 0
	}
	for {
		name, err := dec.ReadToken()
		if err != nil || name.Kind() != '"' {
			return 0
		}
		if name.String() != "id" {
			if dec.SkipValue() != nil {
				return 0
			}
			continue
		}
		value, err := dec.ReadToken()
		if err != nil || value.Kind() != '0' {
			return 0
		}
		if id, err := strconv.ParseInt(value.String(), 10, 64); err == nil {
			return id
		}
		return 0
	}
}
