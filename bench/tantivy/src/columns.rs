//! Rows with columns; see ../../protocol/columns.go. One thread indexes into one segment, so ids are
//! document numbers.

use std::ops::Bound;

use serde_json::json;
use tantivy::aggregation::agg_req::Aggregations;
use tantivy::aggregation::agg_result::{AggregationResult, BucketEntries, BucketResult, MetricResult};
use tantivy::aggregation::metric::PercentileValues;
use tantivy::aggregation::{AggContextParams, AggregationCollector, Key};
use tantivy::collector::{Count, TopDocs};
use tantivy::query::{AllQuery, BooleanQuery, ConstScoreQuery, Occur, Query, RangeQuery, TermQuery};
use tantivy::schema::{
    Field, IndexRecordOption, NumericOptions, Schema, SchemaBuilder, TextFieldIndexing, TextOptions, FAST, STRING,
};
use tantivy::{Order, Searcher, TantivyDocument, Term};

use crate::{places, Hit, Result};

/// The columns of an index: name, kind and field.
pub struct Columns(Vec<(String, String, Field)>);

/// Numbers are fast fields alone, keywords are indexed as well.
pub fn schema(spec: &str) -> Result<(Schema, Columns)> {
    let mut b = SchemaBuilder::default();
    let mut columns = Vec::new();
    for part in spec.split(',') {
        let (name, kind) = part.split_once(':').ok_or("a column is NAME:KIND")?;
        let field = match kind {
            "time" | "int" => b.add_i64_field(name, NumericOptions::default().set_fast()),
            // Tantivy has no places; users keep two numbers.
            "place" => {
                let lat = b.add_f64_field(&places::lat_of(name), NumericOptions::default().set_fast());
                b.add_f64_field(&places::lon_of(name), NumericOptions::default().set_fast());
                lat
            }
            "keyword" | "keywords" => b.add_text_field(name, STRING | FAST),
            "text" => {
                let indexing = TextFieldIndexing::default()
                    .set_tokenizer("whitespace")
                    .set_index_option(IndexRecordOption::WithFreqs)
                    .set_fieldnorms(true);
                b.add_text_field(name, TextOptions::default().set_indexing_options(indexing))
            }
            _ => return Err(format!("a column of kind {kind:?}").into()),
        };
        columns.push((name.to_string(), kind.to_string(), field));
    }
    Ok((b.build(), Columns(columns)))
}

/// The hash of protocol.TermID.
fn term_id(term: &str) -> u64 {
    term.bytes().fold(0u32, |h, b| h.wrapping_mul(31).wrapping_add(b as u32)) as u64
}

impl Columns {
    pub fn document(&self, line: &str) -> Result<TantivyDocument> {
        let mut doc = TantivyDocument::default();
        let values: Vec<&str> = line.split('\t').collect();
        if values.len() != self.0.len() {
            return Err(format!("{} columns wanted: {line:?}", self.0.len()).into());
        }
        for ((_, kind, field), value) in self.0.iter().zip(values) {
            match kind.as_str() {
                "time" | "int" => doc.add_i64(*field, value.parse()?),
                "place" => {
                    let (lat, lon) = value.split_once(',').ok_or("a place is LAT,LON")?;
                    doc.add_f64(*field, lat.parse()?);
                    doc.add_f64(Field::from_field_id(field.field_id() + 1), lon.parse()?);
                }
                "keywords" => value.split('|').for_each(|v| doc.add_text(*field, v)),
                _ => doc.add_text(*field, value),
            }
        }
        Ok(doc)
    }

    fn field(&self, name: &str) -> Result<Field> {
        Ok(self.0.iter().find(|c| c.0 == name).ok_or("no such column")?.2)
    }

    fn word(&self, word: &str) -> Result<Box<dyn Query>> {
        if word == "*" {
            return Ok(Box::new(AllQuery));
        }
        let term = Term::from_field_text(self.field("text")?, word);
        Ok(Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs)))
    }

    fn range(&self, words: &[&str]) -> Result<RangeQuery> {
        let field = self.field(words[1])?;
        let (low, high) = (words[2].parse()?, words[3].parse()?);
        Ok(RangeQuery::new(
            Bound::Included(Term::from_field_i64(field, low)),
            Bound::Included(Term::from_field_i64(field, high)),
        ))
    }

    pub fn count(&self, searcher: &Searcher, text: &str) -> Result<usize> {
        let words: Vec<&str> = text.split(' ').collect();
        Ok(searcher.search(&self.range(&words)?, &Count)?)
    }

    pub fn top(&self, searcher: &Searcher, mode: &str, text: &str, k: usize, hits: &mut Vec<Hit>) -> Result<()> {
        hits.clear();
        let words: Vec<&str> = text.split(' ').collect();
        let q = self.word(words[0])?;
        let column = words[1];
        match mode {
            "filtered" => {
                let filter = Box::new(ConstScoreQuery::new(Box::new(self.range(&words)?), 0.0));
                let q = BooleanQuery::new(vec![(Occur::Must, q), (Occur::Must, filter)]);
                for (score, at) in searcher.search(&q, &TopDocs::with_limit(k).order_by_score())? {
                    hits.push(Hit { id: at.doc_id as u64, score: score as f64 });
                }
            }
            "nearest" => places::nearest(searcher, &*q, &words, k, hits)?,
            "score" => places::scored(searcher, &*q, &words, k, hits)?,
            "sort" => {
                let order = if words[2] == "desc" { Order::Desc } else { Order::Asc };
                let collector = TopDocs::with_limit(k).order_by_fast_field::<i64>(column, order);
                for (value, at) in searcher.search(&q, &collector)? {
                    let score = value.ok_or("a document without value")? as f64;
                    hits.push(Hit { id: at.doc_id as u64, score });
                }
            }
            _ => self.aggregate(searcher, mode, &*q, &words, k, hits)?,
        }
        Ok(())
    }

    fn aggregate(
        &self, searcher: &Searcher, mode: &str, q: &dyn Query, words: &[&str], k: usize, hits: &mut Vec<Hit>,
    ) -> Result<()> {
        let column = words[1];
        let width: f64 = words.get(2).map_or(Ok(0.0), |w| w.parse())?;
        let agg = match mode {
            "terms" => json!({"terms": {"field": column, "size": k}}),
            "histogram" => json!({"histogram": {"field": column, "interval": width, "min_doc_count": 1}}),
            "stats" => json!({"stats": {"field": column}}),
            "percentiles" => json!({"percentiles": {"field": column, "percents": [50.0, 95.0, 99.0], "keyed": false}}),
            "cardinality" => json!({"cardinality": {"field": column}}),
            _ => return Err(format!("unknown mode {mode:?}").into()),
        };
        let request: Aggregations = serde_json::from_value(json!({"a": agg}))?;
        let collector = AggregationCollector::from_aggs(request, AggContextParams::default());
        let mut result = searcher.search(q, &collector)?;
        match result.0.remove("a").ok_or("no result")? {
            AggregationResult::BucketResult(BucketResult::Terms { buckets, .. }) => {
                for b in buckets {
                    let Key::Str(term) = &b.key else { return Err("a key that is no string".into()) };
                    hits.push(Hit { id: term_id(term), score: b.doc_count as f64 });
                }
            }
            AggregationResult::BucketResult(BucketResult::Histogram { buckets: BucketEntries::Vec(buckets) }) => {
                for b in buckets {
                    let Key::F64(key) = b.key else { return Err("a key that is no number".into()) };
                    hits.push(Hit { id: (key / width).round() as u64, score: b.doc_count as f64 });
                }
            }
            AggregationResult::MetricResult(MetricResult::Stats(s)) => {
                let values = [s.count as f64, s.min.unwrap_or(0.0), s.max.unwrap_or(0.0), s.sum];
                hits.extend(values.iter().enumerate().map(|(i, v)| Hit { id: i as u64, score: *v }));
            }
            AggregationResult::MetricResult(MetricResult::Percentiles(p)) => {
                let PercentileValues::Vec(values) = p.values else { return Err("percentiles with keys".into()) };
                hits.extend(values.iter().map(|v| Hit { id: v.key as u64, score: v.value }));
            }
            AggregationResult::MetricResult(MetricResult::Cardinality(c)) => {
                hits.push(Hit { id: 0, score: c.value.unwrap_or(0.0) });
            }
            other => return Err(format!("an unexpected result: {other:?}").into()),
        }
        Ok(())
    }
}
