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
//	location and distance   places within a distance: "5km"
//	top_left, bottom_right  places in a box, over the date line, too
//	polygon_points          places in a polygon
//
//	request                 size, from, fields, highlight, includeLocations, score ("none"),
//	                        sort by fields (type, mode, missing), geo_distance (unit), _score
//	                        and _id, search_after, search_before
//	facets                  size, field, term_prefix, term_pattern, numeric_ranges, date_ranges
//
// A facet counts values rather than documents: of analyzed texts each word, of numbers also the terms
// for ranges, once for each document that has it. Of a facet of terms, missing are the documents without
// a term that has the prefix and the pattern, while total has all terms.
//
// Boosts of compound queries are ignored, as in bleve.
//
// # Places
//
// A field of type geopoint reads what bleve reads: an object with lat, and lon or lng; [lon, lat];
// "lat,lon"; a geohash; and lists of these. Other values are left out, and coordinates out of range become
// others, as in bleve. Areas and distances are bleve's, not those of docs/PLACES.md:
//
//   - A point is a corner of a grid of 2^32-1 steps a direction: up to 9 mm from the one that was put.
//   - A distance is that on a sphere whose diameter is the ellipsoid's at the latitude in the middle, with some
//     0.2 m of rounding error for points that are close. The ellipsoid itself differs by up to 0.5 %.
//   - Boxes and corners of polygons have a tolerance of 1e-6 degrees, some 0.1 m. Of what is outside of a box by
//     less, bleve finds what lies in a cell of its grid (0.02 degrees) that meets the box.
//   - Sides of polygons are straight on a map of longitudes and latitudes. A polygon over the date line goes around
//     the Earth the other way. Points on its sides may be in or out.
//   - Near the poles a large circle ends at the box that bleve puts around it by another radius.
//
// Tests compare all that with bleve at distances which documents have, and a billionth more or less: the
// answers are the same. They differ for a document with several places of which one is within a step of a
// tolerance, on a processor with fused multiplication, and where bleve takes numbers in a field for places:
// sorting does so, too, queries do not. An index of bleve with its spatial plugin "s2" has the same
// distances, but other cells at borders.
//
// # What is refused
//
// An error names the place: shapes (fields of type geoshape, queries with geometry), addresses of networks (type
// IP, cidr), vectors (knn, score "rrf" and "rsf"), synonyms of requests, explanations, and boosts that are
// negative or above riffle.MaxBoost. So is what bleve's SearchRequest.Validate refuses, which bleve's
// Search does not call, and what makes bleve panic: a facet that is null, or whose size is negative.
//
// All other queries of bleve 2.5.7 are answered. Of its mappings, scoring_model, similarity, skip_freq_norm and
// docvalues_dynamic change nothing; Mapping.Problems lists nested objects, synonyms, the filter stemmer_snowball
// and the types above. There are no highlighters but html and ansi, no locations of ranges and places whose
// fields have include_term_vectors, and none of the things of bleve's Go API: builders, internal keys, field
// dictionaries (see riffle.Snapshot.Terms), SetSortFunc. Nothing of bleve 2.6: custom_filter,
// custom_score, conjunctions within nested objects.
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
// a sort does so, with a term_pattern, for a field whose numbers and texts have a term in
// common, and for more terms than riffle.Options.MaxTerms.
//
// A field has columns for sorting if all its mappings have docvalues, and are of numbers, dates, booleans, or
// texts of one term (the analyzer keyword, or one with the tokenizer single). If a sort goes by such
// fields, distances, ids and scores alone, the first ten of 100,000 documents take 0.2 ms, by a distance
// 3 ms, and pages behind them as much. Other sorts read the values of all documents found, some 15 µs each:
// of dynamic fields and other texts, of distances of documents that have several places, of fields with numbers in
// some documents and texts in others, and of an index until all documents of builds before columns, or of
// another mapping, are put again. Queries for places find those that this build has put.
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
