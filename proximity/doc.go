// Package proximity finds words that stand together: phrases, words near each other, and intervals.
// It sees the positions of some words in one document, and knows neither documents nor scores.
//
// An [Expr] says how the words must stand. Its matches in a document are intervals of positions,
// minimal in this sense: no match contains another one. That is the algebra of Clarke, Cormack and
// Burkowski ("An Algebra for Structured Text Search and a Framework for its Implementation", 1995);
// a [Matcher] takes time linear in the positions, as Boldi and Vigna show ("Efficient Optimally Lazy
// Algorithms for Minimal-Interval Semantics", 2016). As minimal intervals begin and end at different
// positions, there are few of them, and Expr.Most can bound their number by the frequencies of the
// words.
//
// # Frequency
//
// A match with g gaps counts 1/(1+g), in units of 1/[One]. So the frequency of an expression is an
// integer that does not depend on the order of additions, and is the same on every processor. The
// gaps of an interval are the positions in it at which no word of the expression stands; those of a
// sloppy phrase are its moves. Where an interval can be made from its parts in several ways, the parts
// that come first in the document count.
//
// # Sloppy phrases
//
// A phrase with a slop is what Lucene calls one. Each word is moved to the place where the phrase
// would begin if that word stood right, its position minus its offset. Words match if these places
// are at most the slop apart, so exchanging two words takes 2 moves. Matches are minimal windows of
// places. Words that share a term do not match at the same position. (Lucene's frequencies are
// others: they depend on the order of the words.)
package proximity
