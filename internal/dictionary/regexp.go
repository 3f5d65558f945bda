package dictionary

import (
	"encoding/binary"
	"errors"
	"fmt"
	"regexp/syntax"
	"slices"
	"sync"
	"unicode/utf8"
)

// A Regexp is a regular expression in the syntax of package regexp, which matches a whole term, in
// time linear in the term. Terms have no lines, so ^ and $ stand for the ends of the term, as \A and
// \z do. Word boundaries (\b, \B) are refused, and it makes no difference whether a repetition is
// greedy.
//
// It becomes a deterministic automaton over characters, state by state as terms need it (Thompson
// 1968; Cox, Regular Expression Matching in the Wild, 2010). After maxStates the automaton is
// thrown away and begun anew, so that no expression makes it large.
type Regexp struct {
	prog   *syntax.Prog
	prefix []byte
	grams  *gramQuery
	free   sync.Pool // of *automaton
}

// maxStates bounds the states of an automaton. A state has a kilobyte, so this is 2 MB.
const maxStates = 2048

// maxProgram bounds the instructions of an expression: counted repetitions multiply.
const maxProgram = 10_000

// ErrWordBoundary is the error of an expression with \b or \B.
var ErrWordBoundary = errors.New(`word boundaries (\b, \B) are not supported: the expression matches whole terms`)

// ParseRegexp reads an expression. If replace is not nil, it replaces each literal, such as "Caf" in
// "Caf.*", but not the ranges of classes. Errors are those of regexp/syntax and ErrWordBoundary.
func ParseRegexp(expr string, replace func(literal string) string) (*Regexp, error) {
	tree, err := syntax.Parse(expr, syntax.Perl|syntax.DotNL)
	if err != nil {
		return nil, err
	}
	if replace != nil {
		replaceLiterals(tree, replace)
	}
	tree = tree.Simplify()
	prog, err := syntax.Compile(tree)
	if err != nil {
		return nil, err
	}
	if len(prog.Inst) > maxProgram {
		return nil, fmt.Errorf("the expression is too large: %d instructions, at most %d", len(prog.Inst), maxProgram)
	}
	for i := range prog.Inst {
		if in := &prog.Inst[i]; in.Op == syntax.InstEmptyWidth &&
			syntax.EmptyOp(in.Arg)&(syntax.EmptyWordBoundary|syntax.EmptyNoWordBoundary) != 0 {
			return nil, ErrWordBoundary
		}
	}
	return &Regexp{prog: prog, prefix: prefixOf(prog), grams: gramsOf(tree)}, nil
}

func replaceLiterals(tree *syntax.Regexp, replace func(string) string) {
	if tree.Op == syntax.OpLiteral {
		if tree.Rune = []rune(replace(string(tree.Rune))); len(tree.Rune) == 0 {
			tree.Op = syntax.OpEmptyMatch
		}
	}
	for _, sub := range tree.Sub {
		replaceLiterals(sub, replace)
	}
}

// prefixOf returns the literal that all matching terms begin with. U+FFFD is none: any byte that is not
// UTF-8 matches it.
func prefixOf(prog *syntax.Prog) []byte {
	var prefix []byte
	for pc := prog.Start; ; {
		in := &prog.Inst[pc]
		switch in.Op {
		case syntax.InstNop, syntax.InstCapture:
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(in.Arg)&(syntax.EmptyBeginText|syntax.EmptyBeginLine) == 0 {
				return prefix
			}
		case syntax.InstRune1:
			if syntax.Flags(in.Arg)&syntax.FoldCase != 0 || in.Rune[0] == utf8.RuneError {
				return prefix
			}
			prefix = utf8.AppendRune(prefix, in.Rune[0])
		case syntax.InstRune:
			if len(in.Rune) != 1 || syntax.Flags(in.Arg)&syntax.FoldCase != 0 || in.Rune[0] == utf8.RuneError {
				return prefix
			}
			prefix = utf8.AppendRune(prefix, in.Rune[0])
		default:
			return prefix
		}
		pc = int(in.Out)
	}
}

// Prefix returns the literal that all matching terms begin with.
func (r *Regexp) Prefix() []byte { return r.prefix }

// Match reports whether the expression matches a whole term.
func (r *Regexp) Match(term []byte) bool {
	a := r.automaton()
	defer r.free.Put(a)
	s, at := a.first, 0
	for at < len(term) && !s.dead {
		s, at = a.step(s, term, at)
	}
	return s.accepts && at == len(term)
}

// Find yields the numbers of the terms that match, in ascending order, until yield returns false.
//
// It costs the range of the literal prefix, less what trigram indexes leave out. In it, terms share the states of what they have in
// common with the term before, and those that begin as a term did whose beginning cannot match are
// passed over.
func (r *Regexp) Find(d *Dictionary, yield func(i int) bool) {
	from, to := 0, d.Len()
	if len(r.prefix) > 0 {
		from, to = d.Prefix(r.prefix)
	}
	t := trail{a: r.automaton()}
	defer func() { r.free.Put(t.a) }()
	t.begin(nil)
	find := func(p *page, from, to int) bool {
		passed := 0 // terms passed over since the trail changed
		for i := from; i < to; i++ {
			if len(t.a.states) > maxStates {
				t.a = newAutomaton(r.prog)
				t.begin(nil)
			}
			term := p.term(i)
			at, state := t.common(term)
			if state.dead && len(term) > at {
				if passed++; passed == 8 { // many more may begin so
					_, next := d.Prefix(term[:at])
					i, passed = min(next-p.first, to)-1, 0
				}
				continue
			}
			passed = 0
			if t.read(term) && !yield(p.first+i) {
				return false
			}
		}
		return true
	}
	d.spans(from, to, func(p *page, from, to int) bool {
		return d.narrowed(p, r.grams, from, to, func(from, to int) bool { return find(p, from, to) })
	})
}

// A trail is the states of an automaton along a term, which the next term shares as far as it begins
// like it.
type trail struct {
	a      *automaton
	term   []byte
	places []place
}

// A place is the state after some bytes of a term.
type place struct {
	at    int
	state *state
}

func (t *trail) begin(term []byte) {
	t.term, t.places = term, append(t.places[:0], place{0, t.a.first})
}

// common goes back to the last place that a term shares with the one before.
func (t *trail) common(term []byte) (at int, s *state) {
	n := 0
	for n < len(term) && n < len(t.term) && term[n] == t.term[n] {
		n++
	}
	last := len(t.places) - 1
	for t.places[last].at > n {
		last--
	}
	t.places, t.term = t.places[:last+1], term
	return t.places[last].at, t.places[last].state
}

// read goes on from the last place to the end of the term, and reports whether it matches.
func (t *trail) read(term []byte) bool {
	p := t.places[len(t.places)-1]
	for p.at < len(term) && !p.state.dead {
		p.state, p.at = t.a.step(p.state, term, p.at)
		t.places = append(t.places, p)
	}
	return p.state.accepts && p.at == len(term)
}

// An automaton is the part of a Regexp that terms have needed. One goroutine at a time uses it.
type automaton struct {
	prog   *syntax.Prog
	states map[string]*state
	first  *state // before the first character

	seen       []uint32 // round in which an instruction was reached
	round      uint32
	set, stack []uint32
	from       []uint32
	key        []byte
}

// A state is a set of instructions that read the next character.
type state struct {
	accepts bool // a term may end here
	dead    bool // no term goes on from here
	set     []uint32
	ascii   [utf8.RuneSelf]*state
	other   map[rune]*state
}

func (r *Regexp) automaton() *automaton {
	if a, ok := r.free.Get().(*automaton); ok && len(a.states) <= maxStates {
		return a
	}
	return newAutomaton(r.prog)
}

func newAutomaton(prog *syntax.Prog) *automaton {
	a := &automaton{prog: prog, states: map[string]*state{}, seen: make([]uint32, len(prog.Inst))}
	a.first = a.state([]uint32{uint32(prog.Start)}, syntax.EmptyBeginText|syntax.EmptyBeginLine)
	return a
}

// step reads the character of a term at an offset, and returns the state and the offset after it.
// A byte that is not UTF-8 reads as U+FFFD.
func (a *automaton) step(s *state, term []byte, at int) (*state, int) {
	if c := term[at]; c < utf8.RuneSelf {
		if s.ascii[c] == nil {
			s.ascii[c] = a.next(s, rune(c))
		}
		return s.ascii[c], at + 1
	}
	c, size := utf8.DecodeRune(term[at:])
	next := s.other[c]
	if next == nil {
		next = a.next(s, c)
		if s.other == nil {
			s.other = map[rune]*state{}
		}
		s.other[c] = next
	}
	return next, at + size
}

// next makes the state after a character.
func (a *automaton) next(s *state, c rune) *state {
	a.from = a.from[:0]
	for _, pc := range s.set {
		if in := &a.prog.Inst[pc]; in.MatchRune(c) {
			a.from = append(a.from, in.Out)
		}
	}
	return a.state(a.from, 0)
}

// state returns the state of what is reached from some instructions while conditions hold.
func (a *automaton) state(from []uint32, holds syntax.EmptyOp) *state {
	accepts := a.reach(from, holds|syntax.EmptyEndText|syntax.EmptyEndLine)
	a.reach(from, holds) // a character follows
	slices.Sort(a.set)
	a.key = a.key[:0]
	for _, pc := range a.set {
		a.key = binary.AppendUvarint(a.key, uint64(pc)+1)
	}
	if accepts {
		a.key = append(a.key, 0)
	}
	if s := a.states[string(a.key)]; s != nil {
		return s
	}
	s := &state{accepts: accepts, dead: len(a.set) == 0, set: slices.Clone(a.set)}
	a.states[string(a.key)] = s
	return s
}

// reach sets a.set to the instructions that read a character and are reached from some others, and
// reports whether the end of the expression is.
func (a *automaton) reach(from []uint32, holds syntax.EmptyOp) (end bool) {
	a.set = a.set[:0]
	a.stack = append(a.stack[:0], from...)
	a.round++
	for len(a.stack) > 0 {
		pc := a.stack[len(a.stack)-1]
		a.stack = a.stack[:len(a.stack)-1]
		if a.seen[pc] == a.round {
			continue
		}
		a.seen[pc] = a.round
		switch in := &a.prog.Inst[pc]; in.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			a.stack = append(a.stack, in.Arg, in.Out)
		case syntax.InstNop, syntax.InstCapture:
			a.stack = append(a.stack, in.Out)
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(in.Arg)&^holds == 0 {
				a.stack = append(a.stack, in.Out)
			}
		case syntax.InstMatch:
			end = true
		case syntax.InstFail:
		default:
			a.set = append(a.set, pc)
		}
	}
	return end
}
