// Package highlight cuts the best fragments out of texts, given the places where the words of a query
// are. It knows neither queries nor analyzers.
//
// A fragment is a run of whole sentences, or of about as many characters as asked for. It scores as
// if the fragments of a document were documents of their own (Lucene's UnifiedHighlighter does the
// same): the sum over the different words of a weight, which falls with the word's frequency in the
// document, times a fraction that rises with its frequency in the fragment. So a fragment with two
// words of the query comes before one that repeats a single word.
//
// Windows of sentences slide over the text, so that words in neighboring sentences meet, wherever a
// fixed partition would have its borders. Sentences are sought only around the places: text in which
// nothing is found costs nothing here. The time is linear in the places and the text around them, for
// each fragment.
package highlight
