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
	// briskly lets every piece arrive by itself and costs a test nothing.
	briskly = 10 * time.Millisecond
	// slowly leaves time to interrupt: 120 words take half a minute.
	slowly    = 250 * time.Millisecond
	slowWords = 120
	// maxSlowWords bounds what a prompt can ask for: some forty minutes.
	maxSlowWords = 10_000
)

// question is what a request asks, whatever API it came by.
type question struct {
	said      string   // by the person: what chooses the answer
	images    int      // since the model spoke last
	besides   []string // what came with it: context, and what was said before, handed over
	earlier   []string // by the person, before that
	afterTool bool     // the newest message has the result of a tool
	tools     []tool
}

// tool is one that the agent offers. Freeform tools take a text, not JSON.
type tool struct {
	name      string
	namespace string
	freeform  bool
}

// reply is what the model answers.
type reply struct {
	thoughts []string
	text     []string
	pause    time.Duration // after each piece
	call     *call
}

// call is the use of a tool. input is set for freeform tools, args for others.
type call struct {
	tool  tool
	args  map[string]any
	input string
}

// whole is the text in one piece.
func (r reply) whole() string { return strings.Join(r.text, "") }

var (
	sayWord   = regexp.MustCompile(`\bSAY ([\p{L}\p{N}_-]+)`)
	slowCount = regexp.MustCompile(`\bSLOW(?: (\d+))?`)
	writePath = regexp.MustCompile(`\bWRITE ([^\s"'<>]+)`)
	toolWord  = regexp.MustCompile(`\bTOOL\b`)
	hangWord  = regexp.MustCompile(`\bHANG\b`)
	planWord  = regexp.MustCompile(`\bPLAN\b`)
	askWord   = regexp.MustCompile(`\bASK\b`)
	thinkWord = regexp.MustCompile(`\bTHINK\b`)
	lookWord  = regexp.MustCompile(`\bLOOK\b`)
	recall    = regexp.MustCompile(`\bRECALL\b`)

	words = []*regexp.Regexp{sayWord, lookWord, slowCount, writePath, toolWord, hangWord, planWord, askWord, thinkWord, recall}
)

// answer decides what the model says. It is a function of the question alone.
func (q question) answer() reply {
	if len(q.tools) == 0 {
		return reply{text: []string{"A short ", "answer."}, pause: briskly}
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

// slowText is a text of as many words as the prompt wants.
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

// recalled names what was said before, in earlier prompts of the conversation
// or as told with this one, which shows that the agent still has it.
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

// message is one of a conversation, as far as answers depend on it.
type message struct {
	by     string // person, model, tool; a tool's message may have text besides
	texts  []string
	images int
}

const (
	byPerson = "person"
	byModel  = "model"
	byTool   = "tool"
)

// ask makes the question of a conversation.
func ask(conversation []message, tools []tool) question {
	q := question{tools: tools}
	first := len(conversation) // of the messages since the model spoke last
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
	// A person may have gone on with or after the tool's result: that is a new
	// question then.
	var chosen bool
	q.said, chosen = newest(said)
	q.besides = said
	q.afterTool = q.afterTool && !chosen
	return q
}

// newest returns the last text that has one of the words, else the last one,
// and whether it has a word: agents add texts of their own, and a person may
// have gone on while the model was cut short.
func newest(texts []string) (text string, chosen bool) {
	for _, text := range slices.Backward(texts) {
		for _, word := range words {
			if word.MatchString(text) {
				return text, true
			}
		}
	}
	if len(texts) == 0 {
		return "", false
	}
	return texts[len(texts)-1], false
}
