// Package trec reads and writes the files by which retrieval experiments are
// exchanged, and scores a run against judgements as NIST's trec_eval does.
//
// # Files
//
// All files are UTF-8 text, one record a line; blank lines are ignored, a carriage
// return before the line feed too. An error names file and line. Ids hold no
// white space, because two of the formats are separated by it.
//
//	topics   1<TAB>what similarity laws must be obeyed      query id, text
//	qrels    1<TAB>184<TAB>1                                query id, document id, grade
//	         1 0 184 1                                      the same, as NIST writes it: the second field is ignored
//	run      1 Q0 184 1 12.840713 riffle                    query id, Q0, document id, rank, score, tag
//
// In qrels and runs a line that begins with # is a comment, and a qrels file may
// open with the header line of BEIR ("query-id corpus-id score"). A document
// judged or retrieved twice for one query is an error, as it is to trec_eval.
//
// # Order
//
// trec_eval ignores the rank that a run states. It sorts by score, highest first,
// and equal scores by document id in descending byte order; older versions
// keep scores as float32. [ReadRun] sorts as trec_eval does, so both
// tools give one file the same figures. An engine has another order for ties, and
// [RunWriter] makes it survive: scores are written as float32 in the fewest digits
// that tell them apart, and a score that is not below the one before it is written
// as the next float32 below. A hundred documents tied at 12 drift by 1e-4 at most.
//
// # Measures
//
// A document is relevant when its grade is at least 1. R is the number of
// relevant documents of a query, retrieved or not.
//
//	MAP           mean over queries of (sum of the precisions at each relevant document retrieved) / R
//	nDCG@10       DCG of the first ten over that of the best possible ten; DCG = sum of grade / log2(rank+1)
//	P@10          relevant documents among the first ten / 10, even where fewer than ten were retrieved
//	Recall@n      relevant documents among the first n / R
//
// Gains are the grades themselves (trec_eval's ndcg_cut), not 2^grade-1; grades
// below zero gain nothing. Averages run over all queries that have judgements, as
// in trec_eval -c: a query for which nothing was retrieved counts as 0, and so does
// one without a relevant document. Published figures are made so (Anserini, BEIR);
// without -c an engine gains by not answering. NFCorpus shows it: 15 of its 323
// queries have no word that occurs in a document, and leaving them out makes an
// nDCG@10 of 0.322 look like 0.337.
//
// Three documents were retrieved for query 1, of which d1 (grade 2) came first and
// d3 (grade 1) third; d9 (grade 1) was missed, so R = 3:
//
//	MAP      (1/1 + 2/3) / 3                               = 0.5556
//	nDCG@10  (2/log2(2) + 1/log2(4)) / (2/log2(2) + 1/log2(3) + 1/log2(4)) = 2.5 / 3.1309 = 0.7985
//	P@10     2 / 10                                        = 0.2
//	Recall   2 / 3                                         = 0.6667
package trec
