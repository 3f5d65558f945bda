// Package language reads the text of a query into a tree. It knows the syntax alone: what a field is,
// and what a word means in it, is for the caller to say.
//
// # Grammar
//
// The base is bleve's query string. Tokens may have white space between them.
//
//	query  = { clause }
//	clause = [ "+" | "-" ] [ name ":" ] base [ "~" number ] [ "^" number ]
//	base   = word | wor* | /regexp/ | "phrase" | relation
//	relation = ( ">" | ">=" | "<" | "<=" ) ( number | "date" )
//
// A word ends at a space, at : ^ or ~. A backslash takes the meaning from one of +-=&|><!(){}[]^"~*?:\/
// and the space, and stays before any other character. What follows ~ or ^ ends at a space. An empty
// one is 1.
//
// Each Syntax adds something. With all of them:
//
//	query   = { [ "+" | "++" | "-" | "NOT" ] unit | or }
//	or      = and { "OR" and }
//	and     = [ sign ] unit { "AND" [ sign ] unit }
//	unit    = [ names ":" ] base [ "~" number ] { "^" [ "=" ] number } | JSON
//	base    = … | "(" query ")" | range | "phrase" "*" | "*" | "=" value
//	        | "NEAR(" { word | "phrase" } [ "," number ] ")"
//	range   = ( "[" | "{" ) bound "TO" bound ( "]" | "}" ) | relation
//	names   = name [ "^" number ] { "," name [ "^" number ] }
//
// Time and space are linear in the length of the text; Result.Steps counts the characters looked at.
package language

import "fmt"

// A Syntax is a set of additions to bleve's query string.
type Syntax uint16

// The additions.
const (
	Operators      Syntax = 1 << iota // a AND b, a OR b, NOT a
	Groups                            // (a b), title:(a b), (a b)^2, and (a b c)~2: two of three
	Ranges                            // year:[1850 TO 1860}, name:>m
	Slop                              // "white whale"~3
	PhrasePrefixes                    // "white wha"*
	Existence                         // year:* and *:*
	SeveralFields                     // title^3,text:word
	Nearness                          // NEAR("white whale" ship, 10)
	Exact                             // tag:=value, ++filter, word^=2, {"match": …}
	Repairs                           // white space of any kind ends words, \* is a star, word~2^3, word~auto

	Additions Syntax = 1<<iota - 1
)

// Options of Parse.
type Options struct {
	Syntax     Syntax // the additions to understand
	Lenient    bool   // turns errors into Notes
	MaxDepth   int    // of groups in each other
	MaxClauses int    // words, phrases, groups and so on, each once for every field that the text names for it
}

// An Error says what is wrong with the text of a query, and where.
type Error struct {
	Offset int    // in bytes from the beginning of the text
	Reason string // what is wrong
	Hint   string // what to write instead; may be empty
}

func (e *Error) Error() string {
	s := fmt.Sprintf("riffle: query, byte %d: %s", e.Offset, e.Reason)
	if e.Hint != "" {
		s += "; " + e.Hint
	}
	return s
}

// A Result is what Parse has read.
type Result struct {
	Query *Node    // a Group without Fields, Factors or Least
	Notes []*Error // what a lenient Parse has put up with, in the order of the text; the first MaxNotes
	Steps int      // how often Parse has looked at a character
	Count int      // of clauses, as MaxClauses bounds them
}

// MaxNotes bounds Result.Notes.
const MaxNotes = 100

// A Kind is that of a Node.
type Kind uint8

const (
	Group        Kind = iota // of Clauses
	Word                     // Text
	Pattern                  // Text with * and ?, in which a backslash takes the meaning from the next character
	Regexp                   // Text between the slashes
	Fuzzy                    // Text, Edits
	Phrase                   // Text, Slop
	PhrasePrefix             // Text, Slop
	Range                    // Bounds
	ExactValue               // Text, Quoted
	Exists                   // any value
	All                      // any document
	Near                     // Phrases, Distance
	JSON                     // Text
)

// A Node is a part of a query.
type Node struct {
	Kind       Kind
	Start, End int     // bytes of the text
	Fields     []Field // nil for those of the group around it
	Factors    []Factor

	Text     string
	Quoted   bool
	Number   bool // a Word of digits, which to bleve is a number as well
	Edits    int  // AutoEdits or the number after ~
	Slop     int
	Bounds   Bounds
	Phrases  []string
	Distance int

	Clauses  []Clause
	Least    int  // number of clauses without a sign that are required, if not 0
	operator bool // made by AND or OR
}

// AutoEdits is the number of edits of word~auto.
const AutoEdits = -1

// A Field is one that a Node names.
type Field struct {
	Name    string
	Start   int
	Boosted bool
	Boost   float64
}

// A Factor is a boost, or with Constant a score that replaces that of the Node.
type Factor struct {
	By       float64
	Constant bool
	Start    int
}

// Bounds are those of a Range.
type Bounds struct {
	From, To    Bound
	ExcludeFrom bool
	IncludeTo   bool
	OneSided    bool // written with > or <
}

// A Bound is one of the ends of a Range.
type Bound struct {
	Text   string
	Open   bool // there is none
	Quoted bool
	Start  int
}

// An Occur says what a Clause does in its Group.
type Occur uint8

const (
	Plain   Occur = iota // it has no sign
	Should               // between ORs
	Must                 // +, or between ANDs
	Filter               // ++
	MustNot              // - or NOT
)

// A Clause is a Node of a Group.
type Clause struct {
	Occur Occur
	Node  *Node
}
