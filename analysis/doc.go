// Package analysis turns text into the terms that are indexed and searched.
//
// An Analyzer is a Tokenizer, which splits a text into tokens, and Filters, which
// change or drop tokens. Documents and queries must use the same analyzer, so an index
// stores its name. Lookup finds an analyzer by name, New makes one, and Register names it.
//
//	name        tokenizer   filters
//	standard    Words       Lowercase
//	folding     Words       Lowercase, Fold
//	english     Words       Possessive, Lowercase, Stop (33 words), Porter
//	keyword     Keyword     Length (MaxKeywordBytes)
//	whitespace  Whitespace
//
// A program that imports package analysis/lang also gets the languages of Snowball's
// stemmers, under their English names ("french"). Package analysis/bleve has bleve's analyzers under
// its names ("bleve/standard").
//
// # What a word is
//
// Words follow the default rules of Unicode Standard Annex #29, in the version that WordRules says:
// an index keeps the one that it was made with. By the newest, WordsUnicode15, a word holds a
// letter, a digit or an emoji; other segments are dropped.
// An underscore joins whatever surrounds it. One of . ' : between two letters joins them,
// and so does one of . , ' ; between two digits. Everything else separates. Examples in
// lower case:
//
//	don't l’été U.S.A.      don't | l’été | u.s.a
//	3.14 1,000 3.x a1       3.14 | 1,000 | 3 | x | a1
//	foo_bar __ x:y a-b      foo_bar | x:y | a | b
//	日本 カタカナ 한국어      日 | 本 | カタカナ | 한국어        ideographs and hiragana one by one
//	ภาษาไทย                 ภาษาไทย                       scripts without spaces: one word a run
//	№ 5 😀 ½ 👍🏽 🇩🇪          5 | 😀 | 👍🏽 | 🇩🇪             emoji; no token of other symbols, fractions
//
// Lucene's StandardTokenizer does the same.
//
// # A worked example
//
// The english analyzer turns "The Dog's running." into two tokens. "The" is a stop word;
// it is dropped but keeps its position, 0.
//
//	position 1   bytes 4-9     dog    possessive removed, lower case
//	position 2   bytes 10-17   run    stemmed
//
// # Analyzers as data
//
// A Declaration is an analyzer as JSON. A schema has declarations by name, so that every program that
// opens the index has its analyzers: the command, a server, a shard.
//
//	"analyzers": {
//	  "parts": {
//	    "char_filters": ["html"],
//	    "tokenizer": {"type": "words", "max_bytes": 64},
//	    "filters": ["lowercase", {"type": "stop", "set": "english", "words": ["with"]}, "porter"]
//	  }
//	}
//
// A component is an object with its type and its parameters, or a string if it has no parameters. A
// text passes through the char filters, the tokenizer and the filters, each in the order given.
// Parameters that are left out are false, 0 or empty; those marked * are required. Unknown members,
// types and parameters are errors that name the place.
//
//	char filter       parameters
//	ascii_folding
//	html
//	pattern_replace   pattern* (a regular expression), with ($1 is its first group)
//
//	tokenizer         parameters
//	words             max_bytes (255), rules (those of the index)
//	whitespace        max_bytes (255)
//	letters           max_bytes (255)
//	keyword
//	ngrams            min*, max*, drop_short
//	edge_ngrams       min*, max*, drop_short
//	pattern           pattern*, split
//	exceptions        patterns*, tokenizer (words)
//
//	filter            parameters
//	apostrophe
//	ascii_folding
//	camel_case
//	cjk_bigrams       unigrams
//	cjk_width
//	compounds         words, set, min_word (5), min_part (2), max_part (15), longest
//	edge_ngrams       min*, max*, drop_short, back
//	elision           articles*
//	fold
//	hierarchy         delimiter (a slash), levels (32), no_split
//	keyword_marker    words, set
//	length            min, max, cut, runes
//	lowercase         final_sigma
//	ngrams            min*, max*, drop_short
//	normalize         form* (nfc, nfd, nfkc, nfkd)
//	pattern_replace   pattern*, with
//	porter            published
//	possessive
//	reverse
//	shingles          min*, max*, separator (a space), filler (_), no_words
//	stop              words, set (english: EnglishStopWords)
//	synonyms          rules (lines in Solr's format), contract
//	unique            same_position
//
// Packages analysis/lang and analysis/bleve register more. Each is a type of this package with the
// fields of its parameters' names; a program adds its own by RegisterFilter and its like. What a type
// means never changes, because indexes store declarations: new behavior is a new type or a new
// parameter.
//
// # Any input is valid
//
// No text makes an analyzer fail or run slowly. Time is linear in the length (for n-grams,
// in length times Max). Memory beyond the text is bounded by the longest token. Words and
// Whitespace cut tokens of more than 255 bytes into pieces (Words.MaxBytes). Keyword makes
// one token of the whole text.
//
// An empty text has no tokens. A byte that is not UTF-8 separates words. In a token of
// Keyword or Whitespace each run of such bytes becomes one U+FFFD, so terms are always
// UTF-8. NUL is an ordinary character: it separates words, and Keyword and Whitespace keep
// it. Only Fold normalizes: without it é and e with a combining acute accent are different
// terms.
//
// # Speed
//
// English prose, one core of an AMD EPYC (Zen 5), no allocation per text (BenchmarkAnalyze,
// BenchmarkAnalyzeTerms):
//
//	standard, whitespace, terms only     870 MB/s
//	standard, with offsets               500 MB/s
//	english                              100 MB/s
//	blevesearch/segment alone             52 MB/s
//
// Only words that contain or touch a character outside ASCII go through the segmenter. With
// AVX2, masks classify 64 characters at a time, and words of ASCII letters and digits
// are found by counting zeros (masks.go). Without AVX2, one 64-bit word recognizes, lower-cases
// and copies up to seven ASCII letters and digits. Other ASCII text goes through a table of
// character classes. FuzzASCIIWords and FuzzWords compare both shortcuts with the segmenter.
package analysis
