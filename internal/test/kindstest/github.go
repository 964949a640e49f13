package kindstest

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
)

// The account of a GitHub's token, and that of somebody else.
const (
	Account  int64 = 1001
	Stranger int64 = 2002
)

// Comment is a comment on an issue.
type Comment struct {
	ID         int64  `json:"id"`
	Repository string `json:"-"`
	Number     int64  `json:"-"`
	User       struct {
		ID int64 `json:"id"`
	} `json:"user"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	Body      string    `json:"body"`
	Edits     int       `json:"-"`
}

// GitHub has the methods for comments on issues, below /api/v3 as GitHub Enterprise
// does (https://docs.github.com/rest/issues/comments).
type GitHub struct {
	*Listener
	Token string
	// App says that the token is that of an app, which has no account of its own.
	App bool

	mu       sync.Mutex
	issues   map[string]int // what is wrong with an issue: a status; 0 = nothing
	comments []Comment
	last     int64
	limits   []http.Header
}

// NewGitHub starts a GitHub with the issues octo/parser#1 and #2.
func NewGitHub(t testing.TB, token string) *GitHub {
	g := &GitHub{Token: token, issues: map[string]int{"octo/parser#1": 0, "octo/parser#2": 0}, last: 5000}
	g.Listener = Listen(t, g.Handler())
	return g
}

// APIURL returns the api_url of the server.
func (g *GitHub) APIURL() string { return g.URL + "/api/v3" }

// Limit lets the next request be answered with 403 and these headers.
func (g *GitHub) Limit(h http.Header) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.limits = append(g.limits, h)
}

// Break lets all new comments on octo/parser#NUMBER fail with a status.
func (g *GitHub) Break(number int64, status int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.issues[fmt.Sprintf("octo/parser#%d", number)] = status
}

// Comments returns the comments that can be seen on octo/parser#NUMBER.
func (g *GitHub) Comments(number int64) (all []Comment) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range g.comments {
		if c.Repository == "octo/parser" && c.Number == number {
			all = append(all, c)
		}
	}
	return all
}

// Shown returns the texts of the account's comments on octo/parser#1.
func (g *GitHub) Shown() (all []string) {
	for _, c := range g.Comments(1) {
		if c.User.ID == Account {
			all = append(all, c.Body)
		}
	}
	return all
}

// Add adds a comment on octo/parser#1.
func (g *GitHub) Add(user int64, body string) Comment {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.add("octo/parser", 1, user, body)
}

func (g *GitHub) add(repository string, number, user int64, body string) Comment {
	g.last++
	c := Comment{ID: g.last, Repository: repository, Number: number, CreatedAt: time.Now().UTC(), UpdatedAt: time.Now().UTC(), Body: body}
	c.User.ID = user
	g.comments = append(g.comments, c)
	return c
}

// Delete removes a comment as a person does.
func (g *GitHub) Delete(id int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.comments = slices.DeleteFunc(g.comments, func(c Comment) bool { return c.ID == id })
}

// Handler serves the methods.
func (g *GitHub) Handler() http.Handler {
	mux := http.NewServeMux()
	const issues = "/api/v3/repos/{owner}/{name}/issues/"
	mux.HandleFunc("GET /api/v3/user", g.user)
	mux.HandleFunc("GET "+issues+"{number}/comments", g.list)
	mux.HandleFunc("POST "+issues+"{number}/comments", g.create)
	mux.HandleFunc("PATCH "+issues+"comments/{id}", g.change)
	mux.HandleFunc("DELETE "+issues+"comments/{id}", g.change)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		defer g.mu.Unlock()
		if len(g.limits) > 0 {
			for name, values := range g.limits[0] {
				w.Header()[name] = values
			}
			g.limits = g.limits[1:]
			problem(w, http.StatusForbidden, "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.")
			return
		}
		if token(r) != g.Token {
			problem(w, http.StatusUnauthorized, "Bad credentials")
			return
		}
		if r.Header.Get("User-Agent") == "" {
			problem(w, http.StatusForbidden, "Request forbidden by administrative rules.")
			return
		}
		mux.ServeHTTP(w, r)
	})
}

func problem(w http.ResponseWriter, status int, text string) {
	answer(w, status, map[string]any{"message": text, "documentation_url": "https://docs.github.com/rest", "status": fmt.Sprint(status)})
}

func (g *GitHub) user(w http.ResponseWriter, _ *http.Request) {
	if g.App {
		problem(w, http.StatusForbidden, "Resource not accessible by integration")
		return
	}
	answer(w, http.StatusOK, map[string]any{"login": "holon-bot", "id": Account, "type": "User"})
}

// issue returns the issue of a request.
func (g *GitHub) issue(w http.ResponseWriter, r *http.Request) (repository string, number int64, ok bool) {
	repository = r.PathValue("owner") + "/" + r.PathValue("name")
	number, _ = strconv.ParseInt(r.PathValue("number"), 10, 64)
	if _, ok = g.issues[fmt.Sprintf("%s#%d", repository, number)]; !ok {
		problem(w, http.StatusNotFound, "Not Found")
	}
	return repository, number, ok
}

func (g *GitHub) create(w http.ResponseWriter, r *http.Request) {
	repository, number, ok := g.issue(w, r)
	if !ok {
		return
	}
	if status := g.issues[fmt.Sprintf("%s#%d", repository, number)]; status != 0 {
		problem(w, status, "It cannot be commented on")
		return
	}
	var p Comment
	if json.Unmarshal(readAll(r), &p) != nil || p.Body == "" || len(p.Body) > 65536 {
		problem(w, http.StatusUnprocessableEntity, "Validation Failed")
		return
	}
	answer(w, http.StatusCreated, g.add(repository, number, Account, p.Body))
}

// list lists comments from the oldest, in pages.
func (g *GitHub) list(w http.ResponseWriter, r *http.Request) {
	repository, number, ok := g.issue(w, r)
	if !ok {
		return
	}
	query := r.URL.Query()
	size, page := intOr(query.Get("per_page"), 30), intOr(query.Get("page"), 1)
	since, _ := time.Parse(time.RFC3339, query.Get("since"))
	all := []Comment{}
	for _, c := range g.comments {
		if c.Repository == repository && c.Number == number && !c.UpdatedAt.Before(since) {
			all = append(all, c)
		}
	}
	if last := (len(all) + size - 1) / size; page < last {
		link := func(n int, rel string) string {
			query.Set("page", strconv.Itoa(n))
			return fmt.Sprintf(`<%s%s?%s>; rel="%s"`, g.URL, r.URL.Path, query.Encode(), rel)
		}
		w.Header().Set("Link", strings.Join([]string{link(page+1, "next"), link(last, "last")}, ", "))
	}
	from := min((page-1)*size, len(all))
	answer(w, http.StatusOK, all[from:min(from+size, len(all))])
}

func intOr(s string, otherwise int) int {
	if n, err := strconv.Atoi(s); err == nil && n > 0 {
		return n
	}
	return otherwise
}

// change edits or deletes a comment.
func (g *GitHub) change(w http.ResponseWriter, r *http.Request) {
	id, _ := strconv.ParseInt(r.PathValue("id"), 10, 64)
	at := slices.IndexFunc(g.comments, func(c Comment) bool {
		return c.ID == id && c.Repository == r.PathValue("owner")+"/"+r.PathValue("name")
	})
	switch {
	case at < 0:
		problem(w, http.StatusNotFound, "Not Found")
	case g.comments[at].User.ID != Account:
		problem(w, http.StatusForbidden, "Must have admin rights to Repository.")
	case r.Method == http.MethodDelete:
		g.comments = slices.Delete(g.comments, at, at+1)
		w.WriteHeader(http.StatusNoContent)
	default:
		var p Comment
		if json.Unmarshal(readAll(r), &p) != nil || p.Body == "" {
			problem(w, http.StatusUnprocessableEntity, "Validation Failed")
			return
		}
		g.comments[at].Body, g.comments[at].UpdatedAt = p.Body, time.Now().UTC()
		g.comments[at].Edits++
		answer(w, http.StatusOK, g.comments[at])
	}
}
