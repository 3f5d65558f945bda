//! Tantivy under the comparison's protocol; see ../protocol/protocol.go for what
//! the lines mean and what is timed.

mod columns;
mod places;

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::ops::Bound;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use tantivy::collector::{Count, TopDocs};
use tantivy::columnar::Column;
use tantivy::indexer::NoMergePolicy;
use tantivy::query::{
    BooleanQuery, BoostQuery, ConstScoreQuery, FuzzyTermQuery, Occur, PhraseQuery, Query, RangeQuery, RegexQuery,
    TermQuery,
};
use tantivy::schema::{
    Field, IndexRecordOption, NumericOptions, Schema, TextFieldIndexing, TextOptions, STRING,
};
use tantivy::{Index, IndexReader, IndexWriter, ReloadPolicy, Searcher, TantivyDocument, Term};

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
    filter: String,
    want: String,
    k: usize,
    queries: Vec<String>,
    warm: f64,
    reps: usize,
    budget: f64,
    hits: bool,
    clock: String,
    reopen: bool,
    puts: Vec<String>,
}

#[derive(Serialize, Default)]
struct Reply {
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    version: String,
    docs: u64,
    terms: usize,
    segments: usize,
    #[serde(rename = "columnBytes")]
    column_bytes: u64,
    df: Vec<u64>,
    ns: Vec<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    before: Vec<u64>,
    reps: usize,
    counts: Vec<usize>,
    hits: Vec<Vec<Hit>>,
}

#[derive(Serialize, Clone, Copy)]
struct Hit {
    id: u64,
    score: f64,
}

#[repr(C)]
struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}

extern "C" {
    fn clock_gettime(clock: i32, time: *mut Timespec) -> i32;
}

/// CLOCK_MONOTONIC and CLOCK_THREAD_CPUTIME_ID of Linux, in nanoseconds.
fn clock(id: i32) -> u64 {
    let mut t = Timespec { seconds: 0, nanoseconds: 0 };
    assert_eq!(unsafe { clock_gettime(id, &mut t) }, 0);
    t.seconds as u64 * 1_000_000_000 + t.nanoseconds as u64
}

fn wall_time() -> u64 {
    clock(1)
}

fn cpu_time() -> u64 {
    clock(3)
}

struct Opened {
    dir: String,
    options: HashMap<String, String>,
    reader: IndexReader,
    writer: Option<IndexWriter>, // only where documents are put
    next: u64,                   // id of the next document that is put
    searcher: Searcher,
    fields: Fields,
    ids: Vec<Column<u64>>,             // of each segment
    columns: Option<columns::Columns>, // where documents are rows, which have none of these fields but text
}

#[derive(Clone, Copy)]
struct Fields {
    text: Field,
    id: Field,
    tag: Field,
}

/// Ids are indexed only where documents are to be deleted by them.
fn schema(delete: bool, positions: bool) -> (Schema, Fields) {
    let mut b = Schema::builder();
    let indexing = TextFieldIndexing::default()
        .set_tokenizer("whitespace")
        .set_index_option(if positions { IndexRecordOption::WithFreqsAndPositions } else { IndexRecordOption::WithFreqs })
        .set_fieldnorms(true);
    let text = b.add_text_field("text", TextOptions::default().set_indexing_options(indexing));
    let ids = NumericOptions::default().set_fast();
    let id = b.add_u64_field("id", if delete { ids.set_indexed() } else { ids });
    let tag = b.add_text_field("tag", STRING);
    (b.build(), Fields { text, id, tag })
}

const TAG_NAMES: [&str; 4] = ["0.1%", "1%", "10%", "50%"];
const TAG_SHARES: [u32; 4] = [4_294_967, 42_949_673, 429_496_730, 2_147_483_648];

/// The same tags as protocol.Tags gives a document.
fn add_tags(doc: &mut TantivyDocument, tag: Field, id: u64) {
    let mut h = (id as u32).wrapping_add(0x9e3779b9);
    h = (h ^ h >> 16).wrapping_mul(0x85ebca6b);
    h = (h ^ h >> 13).wrapping_mul(0xc2b2ae35);
    h ^= h >> 16;
    for (name, share) in TAG_NAMES.iter().zip(TAG_SHARES) {
        if h < share {
            doc.add_text(tag, name);
        }
    }
}

/// One thread indexes, unless the option "threads" asks for more, beside this one, which
/// reads; one segment at the end, unless "merge" is "none". The option "batches" commits so
/// many documents at a time, and the default merge policy decides which segments stay.
fn build(req: &Request) -> Result<Reply> {
    if let Some(spec) = req.options.get("columns") {
        return build_rows(req, spec);
    }
    let option = |name: &str, unset: &str| req.options.get(name).map_or(unset, |v| v).to_string();
    let threads: usize = option("threads", "1").parse()?;
    let batch: u64 = option("batches", "0").parse()?;
    let tags = !option("tags", "").is_empty();
    let delete = !option("delete", "").is_empty();
    let positions = !option("positions", "").is_empty();
    let (schema, fields) = schema(delete, positions);
    std::fs::create_dir_all(&req.dir)?;
    let index = Index::create_in_dir(&req.dir, schema)?;
    let mut writer: IndexWriter = index.writer_with_num_threads(threads, MEMORY)?;
    if batch == 0 {
        writer.set_merge_policy(Box::new(NoMergePolicy));
    }
    let mut n = 0;
    for line in BufReader::with_capacity(1 << 20, File::open(&req.docs)?).lines() {
        let mut doc = TantivyDocument::default();
        doc.add_text(fields.text, line?);
        doc.add_u64(fields.id, n);
        if tags {
            add_tags(&mut doc, fields.tag, n);
        }
        writer.add_document(doc)?;
        n += 1;
        if batch > 0 && n % batch == 0 {
            writer.commit()?;
        }
    }
    writer.commit()?;
    let segments = index.searchable_segment_ids()?;
    if batch == 0 && segments.len() > 1 && option("merge", "one") != "none" {
        writer.merge(&segments).wait()?;
    }
    if delete {
        for id in (0..n).filter(|id| id % 5 == id / 5 % 5) {
            writer.delete_term(Term::from_field_u64(fields.id, id));
        }
        writer.commit()?;
    }
    writer.garbage_collect_files().wait()?;
    writer.wait_merging_threads()?;
    Ok(Reply { docs: n, ..Reply::default() })
}

fn build_rows(req: &Request, spec: &str) -> Result<Reply> {
    let (schema, columns) = columns::schema(spec)?;
    std::fs::create_dir_all(&req.dir)?;
    let index = Index::create_in_dir(&req.dir, schema)?;
    let mut writer: IndexWriter = index.writer_with_num_threads(1, MEMORY)?;
    writer.set_merge_policy(Box::new(NoMergePolicy));
    let mut n = 0;
    for line in BufReader::with_capacity(1 << 20, File::open(&req.docs)?).lines() {
        writer.add_document(columns.document(&line?)?)?;
        n += 1;
    }
    writer.commit()?;
    writer.garbage_collect_files().wait()?;
    writer.wait_merging_threads()?;
    Ok(Reply { docs: n, ..Reply::default() })
}

fn open(dir: &str, options: &HashMap<String, String>) -> Result<(Opened, Reply)> {
    let index = Index::open_in_dir(dir)?;
    let schema = index.schema();
    let get = |name| schema.get_field(name);
    let text = get("text")?;
    let columns = match options.get("columns") {
        Some(spec) => Some(columns::schema(spec)?.1),
        None => None,
    };
    let fields = match columns {
        Some(_) => Fields { text, id: text, tag: text },
        None => Fields { text, id: get("id")?, tag: get("tag")? },
    };
    let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
    let writer = match options.get("puts") {
        Some(_) => Some(index.writer_with_num_threads(1, 64 << 20)?),
        None => None,
    };
    let searcher = reader.searcher();
    let mut opened = Opened {
        dir: dir.to_string(),
        options: options.clone(),
        reader,
        writer,
        next: searcher.num_docs(),
        searcher,
        fields,
        ids: Vec::new(),
        columns,
    };
    opened.refresh()?;
    let mut terms = 0;
    for segment in opened.searcher.segment_readers() {
        terms += segment.inverted_index(fields.text)?.terms().num_terms();
    }
    let mut column_bytes = 0;
    if opened.columns.is_some() {
        for segment in opened.searcher.space_usage()?.segments() {
            column_bytes += segment.fast_fields().total().get_bytes();
        }
    }
    let reply = Reply {
        column_bytes,
        version: tantivy::version_string().to_string(),
        docs: opened.searcher.num_docs(),
        terms,
        segments: opened.searcher.segment_readers().len(),
        ..Reply::default()
    };
    Ok((opened, reply))
}

impl Opened {
    /// From now on what the reader has last loaded is searched.
    fn refresh(&mut self) -> Result<()> {
        self.searcher = self.reader.searcher();
        self.ids.clear();
        if self.columns.is_some() {
            return Ok(());
        }
        for segment in self.searcher.segment_readers() {
            self.ids.push(segment.fast_fields().u64("id")?);
        }
        Ok(())
    }

    /// Adds a document, and loads a reader that sees it.
    fn put(&mut self, text: &str) -> Result<()> {
        let writer = self.writer.as_mut().ok_or("not open for puts")?;
        let mut doc = TantivyDocument::default();
        doc.add_text(self.fields.text, text);
        doc.add_u64(self.fields.id, self.next);
        self.next += 1;
        writer.add_document(doc)?;
        writer.commit()?;
        self.reader.reload()?;
        self.refresh()
    }

    /// What a request wants to be done before its i-th query.
    fn before(&mut self, req: &Request, i: usize) -> Result<()> {
        if req.reopen {
            *self = open(&self.dir, &self.options)?.0;
        }
        match req.puts.get(i) {
            Some(text) => self.put(text),
            None => Ok(()),
        }
    }

    fn query(&self, req: &Request, words: &str) -> Result<Box<dyn Query>> {
        let q = match req.mode.as_str() {
            "nested" => self.nested(words),
            "phrase" => self.phrase(words, 0),
            "slop" => self.phrase(words, 3),
            "prefix" => self.prefix(words),
            "infix" => Box::new(RegexQuery::from_pattern(&format!(".*{words}.*"), self.fields.text)?),
            "regexp" => Box::new(RegexQuery::from_pattern(words, self.fields.text)?),
            "fuzzy1" => Box::new(FuzzyTermQuery::new(self.term(words), 1, true)),
            "fuzzy2" => Box::new(FuzzyTermQuery::new(self.term(words), 2, true)),
            mode => self.flat(words, mode == "and"),
        };
        if req.filter.is_empty() {
            return Ok(q);
        }
        let tag = TermQuery::new(Term::from_field_text(self.fields.tag, &req.filter), IndexRecordOption::Basic);
        let filter: Box<dyn Query> = Box::new(ConstScoreQuery::new(Box::new(tag), 0.0));
        Ok(Box::new(BooleanQuery::new(vec![(Occur::Must, q), (Occur::Must, filter)])))
    }

    fn term(&self, word: &str) -> Term {
        Term::from_field_text(self.fields.text, word)
    }

    /// The terms from a prefix of letters up to the next prefix of that length: faster than a regular expression.
    fn prefix(&self, letters: &str) -> Box<dyn Query> {
        let (begin, last) = letters.split_at(letters.len() - 1);
        let next = format!("{begin}{}", (last.as_bytes()[0] + 1) as char);
        Box::new(RangeQuery::new(Bound::Included(self.term(letters)), Bound::Excluded(self.term(&next))))
    }

    /// All words of the first half, or any of the others, whose scores count twice.
    fn nested(&self, words: &str) -> Box<dyn Query> {
        let terms: Vec<&str> = words.split(' ').collect();
        let (first, others) = terms.split_at((terms.len() + 1) / 2);
        let all = self.flat(&first.join(" "), true);
        if others.is_empty() {
            return all;
        }
        let any: Box<dyn Query> = Box::new(BoostQuery::new(self.flat(&others.join(" "), false), 2.0));
        Box::new(BooleanQuery::new(vec![(Occur::Should, all), (Occur::Should, any)]))
    }

    fn phrase(&self, words: &str, slop: u32) -> Box<dyn Query> {
        let terms: Vec<Term> = words.split(' ').map(|w| self.term(w)).collect();
        if terms.len() == 1 {
            return self.flat(words, false);
        }
        let mut q = PhraseQuery::new(terms);
        q.set_slop(slop);
        Box::new(q)
    }

    fn flat(&self, words: &str, and: bool) -> Box<dyn Query> {
        let occur = if and { Occur::Must } else { Occur::Should };
        let mut clauses: Vec<(Occur, Box<dyn Query>)> = words
            .split(' ')
            .map(|w| {
                let q: Box<dyn Query> = Box::new(TermQuery::new(self.term(w), IndexRecordOption::WithFreqs));
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
            hits.push(Hit { id, score: score as f64 });
        }
        Ok(())
    }

    fn once(&self, req: &Request, words: &str, hits: &mut Vec<Hit>) -> Result<usize> {
        if let Some(columns) = &self.columns {
            if req.want == "count" {
                return columns.count(&self.searcher, words);
            }
            columns.top(&self.searcher, &req.mode, words, req.k, hits)?;
            return Ok(0);
        }
        let q = self.query(req, words)?;
        // Two passes count faster than one collector that may not prune.
        if req.want != "count" {
            self.top(&*q, req.k, hits)?;
        }
        if req.want != "top" {
            return Ok(self.searcher.search(&*q, &Count)?);
        }
        Ok(0)
    }

    fn run(&mut self, req: &Request) -> Result<Reply> {
        let n = req.queries.len();
        if n == 0 {
            return Err("no queries".into());
        }
        let mut hits = Vec::with_capacity(req.k);
        let now: fn() -> u64 = if req.clock == "cpu" { cpu_time } else { wall_time };
        let began = now();
        for words in req.queries.iter().cycle() {
            if (now() - began) as f64 / 1e9 >= req.warm {
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
        if req.reopen || !req.puts.is_empty() {
            reply.before = vec![u64::MAX; n];
        }
        let began = Instant::now();
        while reply.reps == 0 || reply.reps < req.reps && began.elapsed().as_secs_f64() < req.budget {
            for (i, words) in req.queries.iter().enumerate() {
                if let Some(least) = reply.before.get_mut(i) {
                    let start = now();
                    self.before(req, i)?;
                    *least = (*least).min(now() - start);
                }
                let start = now();
                let count = self.once(req, words, &mut hits)?;
                reply.ns[i] = reply.ns[i].min(now() - start);
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
            df.push(self.searcher.doc_freq(&self.term(term))?);
        }
        Ok(Reply { df, ..Reply::default() })
    }
}

fn answer(line: &str, opened: &mut Option<Opened>) -> Result<Reply> {
    let req: Request = serde_json::from_str(line)?;
    match req.op.as_str() {
        "build" => build(&req),
        "open" => {
            let (o, reply) = open(&req.dir, &req.options)?;
            *opened = Some(o);
            Ok(reply)
        }
        "df" => opened.as_ref().ok_or("no index is open")?.df(&req),
        "run" => opened.as_mut().ok_or("no index is open")?.run(&req),
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
