// Package riffle is an embeddable search engine: a program opens a directory, adds documents while
// it runs, and searches them at once.
//
//	e, err := riffle.Open("index", nil)
//	if err != nil {
//		return err
//	}
//	defer e.Close()
//	doc := map[string]any{"title": "Moby Dick", "text": "Call me Ishmael."}
//	if err := e.Put(ctx, "1", doc); err != nil {
//		return err
//	}
//	res, err := e.Search(ctx, riffle.Match{Field: "text", Text: "ishmael"}, nil)
//	if err != nil {
//		return err
//	}
//	for _, hit := range res.Hits {
//		fmt.Println(hit.ID, hit.Score)
//	}
//
// # Four nouns
//
// An [Engine] is an open index. A [Batch] is a set of changes that take effect together:
// [Engine.Apply] returns when they are durable and visible. A [Query] describes documents;
// [Engine.Search] ranks them by BM25 and returns a [Result]. A [Snapshot] is the index at one
// moment, for as long as it is held. SearchOptions.Highlight adds to each hit the parts of its
// texts that match; a [Highlighter] finds them in any text. A [Multi] searches several engines as
// one.
//
// # A language
//
// [ParseQuery] reads a query from what a person has typed, in bleve's query string and more:
//
//	q, err := riffle.ParseQuery(`title:"moby dick" +year:>=1850 -whal*`, &riffle.ParseOptions{
//		Engine: e, Fields: []string{"text"},
//	})
//
// # Exactness
//
// Scores are integers while a query runs: every algorithm (exhaustive, WAND, block-max WAND,
// MaxScore, block-max MaxScore) returns the same documents in the same order with the same score,
// to the bit. Pruning skips only what cannot enter the top k. [Result.Work] counts what was
// decoded, skipped and scored. SearchOptions.Profile asks for a [Profile], which says it block by
// block, with the processor, the algorithm, the reasons for both, and times.
//
// # Durability
//
// Apply writes the batch to a write-ahead log, syncs it unless Options.Durability says otherwise,
// and only then returns. A crash at any point loses nothing that Apply acknowledged, and leaves no
// batch half applied. Searches may see a batch shortly before its Apply returns.
//
// A Batch may carry a position: how far the program had read its source of changes. It is stored
// with the batch. After a crash [Engine.Position] returns it, and the program continues from there.
//
// # A whole index at once
//
// [Build] makes a new index from files of JSON lines or from Go values, several times as fast as
// Apply. It logs nothing, uses all cores, and keeps to a memory budget. An interrupted build must
// be started over.
//
// # Concurrency
//
// All methods of Engine and Snapshot are safe for concurrent use. Searches never wait for writers.
// Writers wait for each other only while a batch is put in order, and for the disk when the
// in-memory segment is full and the one before it is still being written.
package riffle
