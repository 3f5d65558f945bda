//! Tantivy under the comparison's protocol; see ../protocol/protocol.go for what
//! the lines mean and what is timed.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::time::Instant;

use serde::{Deserialize, Serialize};
use tantivy::collector::{Count, TopDocs};
use tantivy::columnar::Column;
use tantivy::indexer::NoMergePolicy;
use tantivy::query::{BooleanQuery, Occur, Query, TermQuery};
use tantivy::schema::{
    Field, IndexRecordOption, NumericOptions, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::{Index, IndexWriter, Searcher, TantivyDocument, Term};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Enough to hold all of gutenberg-a and b, so that each thread makes one segment:
/// with one thread documents keep their order and nothing is merged.
const MEMORY: usize = 3 << 30;

#[derive(Deserialize, Default)]
#[serde(default)]
struct Request {
    op: String,
    dir: String,
    docs: String,
    options: HashMap<String, String>,
    terms: Vec<String>,
    mode: String,
    want: String,
    k: usize,
    queries: Vec<String>,
    warm: f64,
    reps: usize,
    budget: f64,
    hits: bool,
}

#[derive(Serialize, Default)]
struct Reply {
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    version: String,
    docs: u64,
    terms: usize,
    segments: usize,
    df: Vec<u64>,
    ns: Vec<u64>,
    reps: usize,
    counts: Vec<usize>,
    hits: Vec<Vec<Hit>>,
}

#[derive(Serialize, Clone, Copy)]
struct Hit {
    id: u64,
    score: f32,
}

struct Opened {
    searcher: Searcher,
    text: Field,
    ids: Vec<Column<u64>>, // of each segment
}

fn schema() -> (Schema, Field, Field) {
    let mut b = Schema::builder();
    let indexing = TextFieldIndexing::default()
        .set_tokenizer("whitespace")
        .set_index_option(IndexRecordOption::WithFreqs)
        .set_fieldnorms(true);
    let text = b.add_text_field("text", TextOptions::default().set_indexing_options(indexing));
    let id = b.add_u64_field("id", NumericOptions::default().set_fast());
    (b.build(), text, id)
}

/// One thread indexes, unless the option "threads" asks for more, beside this one, which
/// reads; one segment at the end, unless "merge" is "none".
fn build(req: &Request) -> Result<Reply> {
    let option = |name: &str, unset: &str| req.options.get(name).map_or(unset, |v| v).to_string();
    let threads: usize = option("threads", "1").parse()?;
    let (schema, text, id) = schema();
    std::fs::create_dir_all(&req.dir)?;
    let index = Index::create_in_dir(&req.dir, schema)?;
    let mut writer: IndexWriter = index.writer_with_num_threads(threads, MEMORY)?;
    writer.set_merge_policy(Box::new(NoMergePolicy));
    let mut n = 0;
    for line in BufReader::with_capacity(1 << 20, File::open(&req.docs)?).lines() {
        let mut doc = TantivyDocument::default();
        doc.add_text(text, line?);
        doc.add_u64(id, n);
        writer.add_document(doc)?;
        n += 1;
    }
    writer.commit()?;
    let segments = index.searchable_segment_ids()?;
    if segments.len() > 1 && option("merge", "one") != "none" {
        writer.merge(&segments).wait()?;
    }
    writer.garbage_collect_files().wait()?;
    writer.wait_merging_threads()?;
    Ok(Reply { docs: n, ..Reply::default() })
}

fn open(req: &Request) -> Result<(Opened, Reply)> {
    let index = Index::open_in_dir(&req.dir)?;
    let text = index.schema().get_field("text")?;
    let searcher = index.reader()?.searcher();
    let mut terms = 0;
    let mut ids = Vec::new();
    for segment in searcher.segment_readers() {
        terms += segment.inverted_index(text)?.terms().num_terms();
        ids.push(segment.fast_fields().u64("id")?);
    }
    let reply = Reply {
        version: tantivy::version_string().to_string(),
        docs: searcher.num_docs(),
        terms,
        segments: ids.len(),
        ..Reply::default()
    };
    Ok((Opened { searcher, text, ids }, reply))
}

impl Opened {
    fn query(&self, words: &str, and: bool) -> Box<dyn Query> {
        let occur = if and { Occur::Must } else { Occur::Should };
        let mut clauses: Vec<(Occur, Box<dyn Query>)> = words
            .split(' ')
            .map(|w| {
                let term = Term::from_field_text(self.text, w);
                let q: Box<dyn Query> = Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs));
                (occur, q)
            })
            .collect();
        if clauses.len() == 1 {
            return clauses.pop().unwrap().1;
        }
        Box::new(BooleanQuery::new(clauses))
    }

    /// The k best, by the collector that prunes.
    fn top(&self, q: &dyn Query, k: usize, hits: &mut Vec<Hit>) -> Result<()> {
        hits.clear();
        for (score, at) in self.searcher.search(q, &TopDocs::with_limit(k).order_by_score())? {
            let id = self.ids[at.segment_ord as usize].first(at.doc_id).ok_or("a document without id")?;
            hits.push(Hit { id, score });
        }
        Ok(())
    }

    fn once(&self, req: &Request, words: &str, hits: &mut Vec<Hit>) -> Result<usize> {
        let q = self.query(words, req.mode == "and");
        // Two passes count faster than one collector that may not prune.
        if req.want != "count" {
            self.top(&*q, req.k, hits)?;
        }
        if req.want != "top" {
            return Ok(self.searcher.search(&*q, &Count)?);
        }
        Ok(0)
    }

    fn run(&self, req: &Request) -> Result<Reply> {
        let n = req.queries.len();
        if n == 0 {
            return Err("no queries".into());
        }
        let mut hits = Vec::with_capacity(req.k);
        let began = Instant::now();
        for words in req.queries.iter().cycle() {
            if began.elapsed().as_secs_f64() >= req.warm {
                break;
            }
            self.once(req, words, &mut hits)?;
        }
        if req.reps == 0 {
            return Ok(Reply::default());
        }

        let mut reply = Reply { ns: vec![u64::MAX; n], ..Reply::default() };
        if req.want != "top" {
            reply.counts = vec![0; n];
        }
        let began = Instant::now();
        while reply.reps == 0 || reply.reps < req.reps && began.elapsed().as_secs_f64() < req.budget {
            for (i, words) in req.queries.iter().enumerate() {
                let start = Instant::now();
                let count = self.once(req, words, &mut hits)?;
                reply.ns[i] = reply.ns[i].min(start.elapsed().as_nanos() as u64);
                if req.want != "top" {
                    reply.counts[i] = count;
                }
                if req.hits && reply.reps == 0 {
                    reply.hits.push(hits.clone());
                }
            }
            reply.reps += 1;
        }
        Ok(reply)
    }

    fn df(&self, req: &Request) -> Result<Reply> {
        let mut df = Vec::new();
        for term in &req.terms {
            df.push(self.searcher.doc_freq(&Term::from_field_text(self.text, term))?);
        }
        Ok(Reply { df, ..Reply::default() })
    }
}

fn answer(line: &str, opened: &mut Option<Opened>) -> Result<Reply> {
    let req: Request = serde_json::from_str(line)?;
    match req.op.as_str() {
        "build" => build(&req),
        "open" => {
            let (o, reply) = open(&req)?;
            *opened = Some(o);
            Ok(reply)
        }
        "df" => opened.as_ref().ok_or("no index is open")?.df(&req),
        "run" => opened.as_ref().ok_or("no index is open")?.run(&req),
        op => Err(format!("unknown op {op:?}").into()),
    }
}

fn main() -> Result<()> {
    let mut opened = None;
    for line in io::stdin().lock().lines() {
        let reply = answer(&line?, &mut opened)
            .unwrap_or_else(|e| Reply { error: Some(e.to_string()), ..Reply::default() });
        let mut out = io::stdout().lock();
        serde_json::to_writer(&mut out, &reply)?;
        out.write_all(b"\n")?;
        out.flush()?;
    }
    Ok(())
}
