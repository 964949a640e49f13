package mockmodel

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The pauses between the pieces of a text.
const (
	// briskly makes every piece arrive separately and costs a test little time.
	briskly = 10 * time.Millisecond
	// slowly leaves time for an interrupt: 120 words take half a minute.
	slowly    = 250 * time.Millisecond
	slowWords = 120
	// maxSlowWords bounds a prompt's SLOW: about forty minutes.
	maxSlowWords = 10_000
)

// question is what a request asks, in any API.
type question struct {
	said      string   // by the user; chooses the answer
	images    int      // since the model's last message
	besides   []string // sent with it: context, and the transcript of a lost conversation
	refused   bool     // said is told again after a restart, with the answer that it may not be done
	earlier   []string // by the user, before that
	quoted    []string // what said quotes, if it has no word
	afterTool bool     // the newest message has the result of a tool
	script    *performance
	tools     []tool
}

// tool is a tool that the agent offers. Freeform tools take text, not JSON.
type tool struct {
	name      string
	namespace string
	freeform  bool
}

// reply is the model's answer.
type reply struct {
	thoughts []string
	text     []string
	pause    time.Duration // after each piece
	call     *call

	overloaded bool // there is no answer
}

// call is the use of a tool. input is set for freeform tools, args for others.
type call struct {
	tool  tool
	args  map[string]any
	input string
}

// whole returns the text in one piece.
func (r reply) whole() string { return strings.Join(r.text, "") }

var (
	sayWord         = regexp.MustCompile(`\bSAY ([\p{L}\p{N}_-]+)`)
	slowCount       = regexp.MustCompile(`\bSLOW(?: (\d+))?`)
	writePath       = regexp.MustCompile(`\bWRITE ([^\s"'<>]+)`)
	toolWord        = regexp.MustCompile(`\bTOOL\b`)
	environmentWord = regexp.MustCompile(`\bENVIRONMENT\b`)
	hangWord        = regexp.MustCompile(`\bHANG\b`)
	planWord        = regexp.MustCompile(`\bPLAN\b`)
	askWord         = regexp.MustCompile(`\bASK\b`)
	thinkWord       = regexp.MustCompile(`\bTHINK\b`)
	lookWord        = regexp.MustCompile(`\bLOOK\b`)
	recall          = regexp.MustCompile(`\bRECALL\b`)
	tooMuch         = regexp.MustCompile(`\bOVERLOADED\b`)
	// refusedBefore finds a prompt after a restart that says no. Agents name their options
	// in words of their own.
	refusedBefore = regexp.MustCompile(`The server was restarted while you waited for: [\s\S]*\. The answer: (No|Reject|Deny|Decline|Cancel|Abort)`)

	words = []*regexp.Regexp{sayWord, lookWord, slowCount, writePath, toolWord, environmentWord, hangWord, planWord, askWord, thinkWord, recall, tooMuch, doWord}
)

// answer chooses the reply. It depends on the question alone.
func (q question) answer() reply {
	if len(q.tools) == 0 {
		return reply{text: []string{"A short ", "answer."}, pause: briskly}
	}
	if q.script != nil {
		return q.script.next(q.tools)
	}
	r := reply{pause: briskly}
	if q.afterTool {
		r.text = []string{"The tool ", "is done."}
		return r
	}
	if thinkWord.MatchString(q.said) {
		r.thoughts = []string{"Let me ", "think about ", "this."}
	}
	switch {
	case q.quoted == nil && tooMuch.MatchString(q.said):
		r.overloaded = true
		return r
	case q.refused:
		r.text = []string{"I leave ", "it undone."}
		return r
	case q.quoted != nil: // what others wrote chooses nothing
		r.text = append([]string{"I read: "}, pieces(strings.Join(q.quoted, "\n"))...)
		return r
	case slowCount.MatchString(q.said):
		r.text, r.pause = slowText(slowCount.FindStringSubmatch(q.said)[1]), slowly
	case lookWord.MatchString(q.said):
		r.text = []string{"I see ", fmt.Sprintf("%d images.", q.images)}
	case recall.MatchString(q.said):
		r.text = q.recalled()
	case sayWord.MatchString(q.said):
		r.text = []string{"I say ", sayWord.FindStringSubmatch(q.said)[1] + "."}
	default:
		r.text = []string{"Hello ", "from ", "the ", "mock ", "model."}
	}
	if c, before := q.use(); c != nil {
		r.call, r.text = c, before
	}
	return r
}

// slowText returns a text with the number of words that the prompt wants.
func slowText(count string) []string {
	n, err := strconv.Atoi(count)
	if err != nil || n > maxSlowWords {
		n = slowWords
	}
	words := make([]string, n)
	for i := range words {
		words[i] = fmt.Sprintf("word%d ", i)
	}
	return words
}

// recalled lists the words of SAY in earlier prompts of the conversation and in
// the context of this one. It shows whether the agent still has them.
func (q question) recalled() []string {
	var words []string
	for _, text := range slices.Concat(q.earlier, q.besides) {
		for _, m := range sayWord.FindAllStringSubmatch(text, -1) {
			words = append(words, m[1])
		}
	}
	if words == nil {
		return []string{"I remember ", "nothing."}
	}
	return []string{"I remember ", strings.Join(words, ", "), "."}
}

// message is one message of a conversation, with the members that answers
// depend on.
type message struct {
	by      string // person, model or tool; a tool's message may also have text
	texts   []string
	images  int
	results []string // of tools
}

const (
	byPerson = "person"
	byModel  = "model"
	byTool   = "tool"
)

// ask makes the question from a conversation.
func ask(conversation []message, tools []tool) question {
	q := question{tools: tools, script: performing(conversation)}
	first := len(conversation) // the first message after the model's last
	for first > 0 && conversation[first-1].by != byModel {
		first--
	}
	var said []string
	for _, m := range conversation[first:] {
		q.afterTool = m.by == byTool
		q.images += m.images
		said = append(said, m.texts...)
	}
	for _, m := range conversation[:first] {
		if m.by == byPerson {
			q.earlier = append(q.earlier, strings.Join(m.texts, "\n"))
		}
	}
	if len(said) == 0 && !q.afterTool && len(q.earlier) > 0 {
		said = q.earlier[len(q.earlier)-1:]
	}
	// If the user wrote with or after the tool's result, that is a new
	// question.
	var kind choice
	q.said, kind = newest(said)
	if kind == byQuotation {
		_, q.quoted = quotations(q.said)
	}
	q.besides = said
	q.refused = slices.ContainsFunc(said, refusedBefore.MatchString)
	q.afterTool = q.afterTool && kind == byNothing
	return q
}

// choice is what makes a text the one to answer.
type choice int

const (
	byNothing   choice = iota // it is the last
	byQuotation               // it is the last that quotes what others wrote
	byWord                    // it is the last with one of the words, outside of quotations
)

// newest returns the text to answer, and why. The last text alone is not enough:
// agents add their own texts, and the user may have written again after an
// interrupt.
func newest(texts []string) (text string, why choice) {
	for _, text := range slices.Backward(texts) {
		own, _ := quotations(text)
		for _, word := range words {
			if word.MatchString(own) {
				return own, byWord
			}
		}
	}
	for _, text := range slices.Backward(texts) {
		if _, quoted := quotations(text); quoted != nil {
			return text, byQuotation
		}
	}
	if len(texts) == 0 {
		return "", byNothing
	}
	return texts[len(texts)-1], byNothing
}
