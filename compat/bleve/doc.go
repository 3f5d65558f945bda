// Package bleve answers bleve's search requests, in JSON, as bleve does (github.com/blevesearch/bleve,
// version 2.5.7), with an index of riffle. It is for programs that have bleve's mappings and requests
// and want to keep them, and for a comparison before moving.
//
//	m, err := bleve.ParseMapping(mapping)  // an index mapping in JSON
//	x, err := bleve.Open(dir, m, nil)      // an index
//	err = x.Put(ctx, bleve.Document{ID: "moby", JSON: document})
//	res, err := x.Search(ctx, request)     // *bleve.Result, in JSON as bleve's
//
// The command "riffle bleve" does the same with files. Mapping.Schema makes a riffle.Schema of a mapping,
// for programs that leave bleve's requests behind, too; docs/MOVING.md says how.
//
// # What is the same
//
// The documents found and their number, the stored fields, fragments and locations, facets, and the order
// by _id and by fields. Scores, and the order that follows from them, are riffle's BM25.
//
//	match, match_phrase     analyzer, operator, fuzziness, prefix_length
//	term, terms             phrases of terms, of alternatives, and fuzzy ones
//	prefix, wildcard, regexp, fuzzy, ids, match_all, match_none, bool
//	min and max             ranges of terms, numbers and dates
//	conjuncts, disjuncts    min; must, should, must_not, filter
//	query                   bleve's query string, without any addition
//
//	request                 size, from, fields, highlight, includeLocations, score ("none"),
//	                        sort by fields (type, mode, missing), _score and _id, search_after,
//	                        search_before
//	facets                  size, field, term_prefix, term_pattern, numeric_ranges, date_ranges
//
// A facet counts values rather than documents: of analyzed texts each word, of numbers also the terms
// for ranges, once for each document that has it. Of a facet of terms, missing are the documents without
// a term that has the prefix and the pattern, while total has all terms.
//
// Boosts of compound queries are ignored, as in bleve.
//
// # What is refused
//
// An error names the place: places on a map (fields of type geopoint and geoshape, queries by distance, box,
// polygon or shape, sorting by geo_distance), networks, vectors, synonyms of requests, explanations, and
// boosts that are negative or above riffle.MaxBoost. So is what bleve's SearchRequest.Validate refuses,
// which bleve's Search does not call, and what makes bleve panic: a facet that is null, or whose size is
// negative.
//
// Riffle's own queries find places (docs/PLACES.md). Mapping.Schema leaves fields of type geopoint out:
// declare them with riffle.FieldPlace.
//
// # How it works
//
// A value is stored as it is, with a prefix that says what it is: see TermsAnalyzer. The analyzer of all
// fields reads the prefix, and makes the terms that bleve makes, those of numbers and dates included.
// So a field of the index has just the terms that it has in bleve, and so has _all. (Values without
// places, such as numbers, are in a field of their own, so that phrases do not find them.) Locations and
// fragments come from the stored values, which are analyzed once more for the hits of a page. Therefore
// all values are stored, also those that a result does not show.
//
// A query looks in the field of texts and in that of values without places, whether or not the index has
// both. That costs some 3 µs a word: in 30,000 passages of English on a busy machine, a match of one word takes
// 14.7 µs instead of 11.8, one of two words 29.7 instead of 20.8, and a prefix 30.7 instead of 28.9.
//
// A fuzzy query reads the dictionaries of both, some 50 ns a term; a number has 16 terms.
//
// A facet is counted by the lists of the field's terms, or from the values of the documents found, if they
// are few: 60,000 documents take 1 to 3 ms by lists, and some 10 µs each by values. Values are also read if
// the hits are sorted by fields, with a term_pattern, for a field whose numbers and texts have a term in
// common, and for more terms than riffle.Options.MaxTerms. A sort by fields reads the values of all
// documents found, some 15 µs each.
//
// Indexes of builds before commit ab020dd have numbers, dates and booleans in the field of texts. They answer
// as others do, but phrases find such values until the document is put again.
//
// # What differs
//
//   - Analyzers: see package analysis/bleve. Custom ones have all of bleve's parts but stemmer_snowball and
//     files of words. Places behind a char filter are those of the text; in bleve they are beside it. A
//     path of the filter hierarchy has at most 256 levels; in bleve, one without max crashes.
//   - A phrase with a hundred stop words in a row may reach from one value of a list to the next.
//   - The facets of an Alias are exact. bleve adds up the first terms of each index, so that counts are too
//     low, and only those in which a term is among the first.
//   - If several fragments are equally good, or several terms begin at one place, bleve's choice is
//     partly random; here it is the first.
//   - A word of a query string with more than two edits is an error also where it is dropped since it has
//     no words (&~3).
//   - With a boost of 0, scores are 0. Those of bleve are not a number if no clause has another boost, so that
//     its result cannot be written as JSON.
//   - bleve keeps its mapping in the index. Here Open gets it.
package bleve
