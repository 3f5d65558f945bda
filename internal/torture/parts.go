package main

func init() {
	parts = []*part{
		{"crash", "the machine stops before each write operation, with 0, 50 or 100 % of what was not synced", crashPart},
		{"recover", "the machine stops again while the index recovers from a crash", recoverPart},
		{"fail", "each operation fails once", failPart},
		{"torn", "a part of each write reaches the file, once", tornPart},
		{"full", "the disk is full from each write on, until some calls have failed", fullPart},
		{"lie", "syncs do nothing and report success, then the machine stops", liePart},
		{"flip", "one bit of each byte of a small index is flipped", flipPart},
		{"cut", "each file of it is cut at each length", cutPart},
		{"block", "blocks of it are zeroed, noise, or another block", blockPart},
		{"files", "files of it are lost, emptied, swapped, doubled, or strangers", filesPart},
		{"kill", "processes that write are killed without warning", killPart},
		{"beside", "other processes and users write, read, copy and rename beside a writer", besidePart},
		{"steps", "random use of all of the API on two indexes and a model, which must agree", stepsPart},
	}
}
