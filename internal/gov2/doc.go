// Package gov2 makes a collection with the shape of GOV2: 25 million documents and the posting
// lists of some thousand queries, 3.7 million postings a query. The papers on GPUs measure on GOV2,
// which is not available here.
//
//	c := gov2.Generate(gov2.Options{Queries: 1000})
//	top, err := cpuexec.Executor{}.TopK(ctx, c.Plan(0, blockmax.Or, 10))
//
// A collection depends on its Options alone, not on the machine's number of cores.
//
// # Where the numbers come from
//
// The size, the postings a query and Zipf's law are GOV2's. All else was measured on the 200,000
// passages of gutenberg-a with the 10,000 queries of the Terabyte track of 2005, whose words all
// occur there. It is drawn from the tables in measured.go: lengths of documents (some 100 to 6,000
// words, most below 300; web pages have longer tails), lengths of the lists of queries, how often
// words recur in queries, and words a query.
//
// But words in more than a third of a text's documents are left out (Options.StopWords): with them
// the average would exceed GOV2's, whose documents are five times as long as these passages. To
// compensate, the other words are in more documents than in gutenberg-a. The median of 1,000
// queries has 1.4 million postings, and one query in ten has more than 10 million. TestLikeText
// compares the result, with stop words, with the text again.
//
// # Words
//
// Words are numbered by how often queries have them: word r is drawn with probability proportional
// to 1/(r+1)^0.85. The share f of documents that a word is in is log-normal around a mean that
// falls with r (rankShares); all odds f/(1-f) are then scaled by one number, so that queries have
// as many postings as Options specify. Each word belongs to one of 64 topics. A query's first word
// is any; each further word is, two times in ten, of the same topic.
//
// # Documents
//
// Documents are in sites of about 256 consecutive documents, and sites in pages of about 16; sizes
// are exponential. A site has a topic, and seven of ten of its pages have it too. Word t occurs in
// a document of length l with rate
//
//	x = base(t) * site(t) * page(t) * (16 if the page is of t's topic) * l/average
//
// where site(t) and page(t) are drawn for each site and page from a gamma distribution of mean 1
// and shape
//
//	a = (128 f)^0.45 / 2 for f < 1/128, (128 f)^0.7 / 2 above, at least 0.1
//
// so that rare words crowd in few places, as they do in text: the mean log2 of the gaps of
// gutenberg-a's lists lies below that of evenly spread ones by 3.0 at f = 2^-11, 1.2 at 2^-7, and
// 0.2 at 2^-3, which gives a. The word is in the document with probability 1-exp(-x), and then 1+n
// times, n geometric with mean 0.12 + x/2: 0.12 is how words repeat once they have been used,
// however rare they are (Katz's K mixture). base(t) compensates for all that, so that the list is
// about as long as f says.
//
// # Likeness to text
//
// Bits a posting come out within 3 % for short lists and up to 15 % above text's for the longest,
// frequencies and gaps as above. Pruning is somewhat less effective than on text. With 200,000
// documents, 9,667 queries and k = 10, block-max WAND decodes 43 % of the blocks and scores a
// document for every 70 postings; on gutenberg-a it decodes 30 % and scores one for every 120.
package gov2
