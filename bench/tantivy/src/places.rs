//! Distances and scores by functions; see ../../protocol/places.go. Tantivy has no places: their latitudes and
//! longitudes are two fast fields, and what a user writes is a closure over them. It has no query of a shape.

use std::cmp::Reverse;

use tantivy::collector::TopDocs;
use tantivy::query::Query;
use tantivy::{DocId, Score, Searcher, SegmentReader};

use crate::{Hit, Result};

/// A function of a document.
type Value = Box<dyn Fn(DocId) -> f64>;

/// How much greater Tantivy's BM25 is than riffle's, whose scores the answers are compared by.
const SCALE: f64 = 2.2;

const EARTH_RADIUS: f64 = 6_371_008.77;

/// Fast fields are there, as documents were added with them.
fn distance(segment: &SegmentReader, column: &str, lat: f64, lon: f64) -> Value {
    let lats = segment.fast_fields().f64(&lat_of(column)).unwrap().first_or_default_col(0.0);
    let lons = segment.fast_fields().f64(&lon_of(column)).unwrap().first_or_default_col(0.0);
    let (lat, lon) = (lat.to_radians(), lon.to_radians());
    let cos = lat.cos();
    Box::new(move |doc| {
        let at = lats.get_val(doc).to_radians();
        let y = ((at - lat) / 2.0).sin();
        let x = ((lons.get_val(doc).to_radians() - lon) / 2.0).sin();
        2.0 * EARTH_RADIUS * (y * y + cos * at.cos() * x * x).sqrt().min(1.0).asin()
    })
}

pub fn lat_of(column: &str) -> String {
    format!("{column}_lat")
}

pub fn lon_of(column: &str) -> String {
    format!("{column}_lon")
}

fn numbers(words: &[&str]) -> Result<Vec<f64>> {
    Ok(words.iter().map(|w| w.parse()).collect::<std::result::Result<_, _>>()?)
}

pub fn nearest(searcher: &Searcher, q: &dyn Query, words: &[&str], k: usize, hits: &mut Vec<Hit>) -> Result<()> {
    let (column, n) = (words[1].to_string(), numbers(&words[2..])?);
    let collector = TopDocs::with_limit(k).tweak_score(move |segment: &SegmentReader| {
        let metres = distance(segment, &column, n[0], n[1]);
        move |doc: DocId, _: Score| Reverse(metres(doc))
    });
    for (Reverse(metres), at) in searcher.search(q, &collector)? {
        hits.push(Hit { id: at.doc_id as u64, score: metres });
    }
    Ok(())
}

/// The value of a function: log1p of a number, or the decay by the distance of a number or a place.
fn value(segment: &SegmentReader, column: &str, kind: &str, n: &[f64]) -> Value {
    let number = || segment.fast_fields().i64(column).unwrap().first_or_default_col(0);
    match (kind, n) {
        ("log1p", &[factor]) => {
            let numbers = number();
            Box::new(move |doc| (factor * numbers.get_val(doc) as f64).ln_1p())
        }
        (_, &[origin, scale]) => {
            let (numbers, by) = (number(), 0.5f64.ln() / (scale * scale));
            Box::new(move |doc| {
                let d = numbers.get_val(doc) as f64 - origin;
                (by * d * d).exp()
            })
        }
        _ => {
            let (metres, by) = (distance(segment, column, n[0], n[1]), 0.5f64.ln() / (n[2] * n[2]));
            Box::new(move |doc| {
                let d = metres(doc);
                (by * d * d).exp()
            })
        }
    }
}

pub fn scored(searcher: &Searcher, q: &dyn Query, words: &[&str], k: usize, hits: &mut Vec<Hit>) -> Result<()> {
    let (column, mode, kind) = (words[1].to_string(), words[2].to_string(), words[3].to_string());
    let (n, all) = (numbers(&words[4..])?, words[0] == "*");
    let collector = TopDocs::with_limit(k).tweak_score(move |segment: &SegmentReader| {
        let value = value(segment, &column, &kind, &n);
        let mode = mode.clone();
        move |doc: DocId, score: Score| {
            let score = if all { SCALE } else { score as f64 };
            match mode.as_str() {
                "sum" => score + SCALE * value(doc),
                "multiply" => score * value(doc),
                _ => SCALE * value(doc),
            }
        }
    });
    for (score, at) in searcher.search(q, &collector)? {
        hits.push(Hit { id: at.doc_id as u64, score });
    }
    Ok(())
}
