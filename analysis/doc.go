// Package analysis turns text into the terms that are indexed and searched.
//
// An Analyzer is a Tokenizer, which finds tokens in a text, and Filters, which
// change or drop them. Documents and queries must go through the same one, so
// analyzers have names and an index stores those: Lookup finds an analyzer, Register
// adds one's own, New puts one together.
//
//	name        tokenizer   filters
//	standard    Words       Lowercase
//	folding     Words       Lowercase, Fold
//	english     Words       Possessive, Lowercase, Stop (33 words), Porter
//	keyword     Keyword     Length (MaxKeywordBytes)
//	whitespace  Whitespace
//
// Package analysis/lang adds the languages of Snowball's stemmers under their English
// names ("french") for programs that import it.
//
// # What a word is
//
// Words are those of Unicode Standard Annex #29 as blevesearch/segment finds them
// (tables of Unicode 8, default rules), as far as they hold a letter or a digit.
// Underlines join everything; . ' and : join letters, and . , ' and ; join digits,
// if they stand alone between two. All else separates. Examples in lower case:
//
//	don't l’été U.S.A.      don't | l’été | u.s.a
//	3.14 1,000 3.x a1       3.14 | 1,000 | 3 | x | a1
//	foo_bar __ x:y a-b      foo_bar | x:y | a | b
//	日本 カタカナ 한국어      日 | 本 | カタカナ | 한국어        ideographs and hiragana one by one
//	ภาษาไทย                 ภาษาไทย                       scripts without spaces: one word a run
//	№ 5 😀 ½                5                             no token of symbols, emoji, fractions
//
// This is what Lucene's StandardTokenizer does, except that it makes tokens of
// emoji, and knows later versions of Unicode.
//
// # A worked example
//
// The english analyzer on "The Dog's running." gives, besides "The", which is a stop
// word but keeps its position:
//
//	position 1   bytes 4-9     dog    possessive taken off, lower case
//	position 2   bytes 10-17   run    stemmed
//
// # Any input is fine
//
// No text makes an analyzer fail, and none makes it slow: time is linear in the
// length (for n-grams, in length times Max), and memory beyond the text is bounded by the
// longest token, which for Words and Whitespace is 255 bytes by default (longer ones are
// cut in pieces; see Words.MaxBytes). Keyword takes the whole text for a token.
//
// An empty text has no tokens. A byte that is no UTF-8 separates words; within a token of
// Keyword or Whitespace each run of them becomes one U+FFFD, so that terms are always
// UTF-8. NUL is a character like any other: it separates words and is kept by Keyword and
// Whitespace. Terms are not normalised unless Fold does it: é and e followed by a
// combining acute accent are different terms.
//
// # Speed
//
// English prose, one core of a 2-core EPYC (Zen 5): terms of standard and of whitespace about 870 MB/s, standard with
// the places of words about 500 MB/s, english about 100 MB/s, and no allocation per text (BenchmarkAnalyze,
// BenchmarkAnalyzeTerms). The segmenter alone takes in 52 MB/s. Two shortcuts stand in front of it, and are held equal
// to it by FuzzASCIIWords and FuzzWords. With AVX2 all characters are classified, 64 at a time, and words of ASCII
// letters and digits are found by counting zeros in the masks (masks.go). Without, up to seven ASCII letters and
// digits are recognised, lower-cased and copied in one 64-bit word. Either way other ASCII text takes a table of
// character classes, and the segmenter sees only words that hold or touch a character outside ASCII.
package analysis
