import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.PriorityQueue;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.FieldType;
import org.apache.lucene.document.LongPoint;
import org.apache.lucene.document.NumericDocValuesField;
import org.apache.lucene.document.SortedDocValuesField;
import org.apache.lucene.document.SortedSetDocValuesField;
import org.apache.lucene.document.StringField;
import org.apache.lucene.index.DocValues;
import org.apache.lucene.index.LeafReader;
import org.apache.lucene.index.LeafReaderContext;
import org.apache.lucene.index.NumericDocValues;
import org.apache.lucene.index.SortedDocValues;
import org.apache.lucene.index.SortedSetDocValues;
import org.apache.lucene.index.Term;
import org.apache.lucene.internal.hppc.LongIntHashMap;
import org.apache.lucene.sandbox.facet.plain.histograms.HistogramCollectorManager;
import org.apache.lucene.search.BooleanClause;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.Collector;
import org.apache.lucene.search.CollectorManager;
import org.apache.lucene.search.DocIdStream;
import org.apache.lucene.search.FieldDoc;
import org.apache.lucene.search.IndexOrDocValuesQuery;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.LeafCollector;
import org.apache.lucene.search.MatchAllDocsQuery;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.Scorable;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.search.ScoreMode;
import org.apache.lucene.search.Sort;
import org.apache.lucene.search.SortField;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.search.TopFieldCollectorManager;
import org.apache.lucene.search.TopScoreDocCollectorManager;
import org.apache.lucene.util.BytesRef;

/** Rows with columns; see ../protocol/columns.go. Documents keep their order in one segment, so ids are document numbers. */
final class LuceneColumns {
  private record Column(String name, String kind) {}

  /** More buckets than any histogram has here; Lucene's own limit is 1,024. */
  private static final int MOST_BUCKETS = 1 << 20;

  private final List<Column> columns = new ArrayList<>();

  /** Numbers are points as well, as in LongField; else they have doc values with a skip index alone. */
  private final boolean points;

  private final LucenePlaces places;

  LuceneColumns(String spec, boolean points) {
    for (String part : spec.split(",")) {
      String[] pair = part.split(":");
      columns.add(new Column(pair[0], pair[1]));
    }
    this.points = points;
    this.places = new LucenePlaces(points);
  }

  Document document(String line, FieldType text) {
    String[] values = line.split("\t", -1);
    if (values.length != columns.size()) {
      throw new IllegalArgumentException(columns.size() + " columns wanted: " + line);
    }
    Document doc = new Document();
    for (int i = 0; i < values.length; i++) {
      String name = columns.get(i).name();
      switch (columns.get(i).kind()) {
        case "time", "int" -> {
          long value = Long.parseLong(values[i]);
          if (points) {
            doc.add(new LongPoint(name, value));
            doc.add(new NumericDocValuesField(name, value));
          } else {
            doc.add(NumericDocValuesField.indexedField(name, value));
          }
        }
        case "keyword" -> {
          doc.add(new StringField(name, values[i], Field.Store.NO));
          doc.add(SortedDocValuesField.indexedField(name, new BytesRef(values[i])));
        }
        case "keywords" -> {
          for (String value : values[i].split("\\|")) {
            doc.add(new StringField(name, value, Field.Store.NO));
            doc.add(SortedSetDocValuesField.indexedField(name, new BytesRef(value)));
          }
        }
        case "place" -> places.add(doc, name, values[i]);
        case "text" -> doc.add(new Field(name, values[i], text));
        default -> throw new IllegalArgumentException("a column of kind " + columns.get(i).kind());
      }
    }
    return doc;
  }

  /** The bytes of doc values: with their skip index, and with the points where there are some. */
  static long bytes(Path dir) throws IOException {
    long sum = 0;
    try (var files = Files.list(dir)) {
      for (Path file : files.toList()) {
        String name = file.getFileName().toString();
        if (Arrays.asList("dvd", "dvm", "kdd", "kdi", "kdm").contains(name.substring(name.lastIndexOf('.') + 1))) {
          sum += Files.size(file);
        }
      }
    }
    return sum;
  }

  static boolean has(String mode) {
    return switch (mode) {
      case "range", "filtered", "sort", "terms", "histogram", "stats", "within", "inside", "nearest", "score" -> true;
      default -> false;
    };
  }

  private Query range(String column, String low, String high) {
    long from = Long.parseLong(low);
    long to = Long.parseLong(high);
    Query values = NumericDocValuesField.newSlowRangeQuery(column, from, to);
    return points ? new IndexOrDocValuesQuery(LongPoint.newRangeQuery(column, from, to), values) : values;
  }

  /** What documents must fulfil, beside the word: a range of numbers, or a shape, whose kind is no number. */
  private Query condition(String[] words) {
    return Character.isLetter(words[2].charAt(0)) ? places.within(words) : range(words[1], words[2], words[3]);
  }

  private static Query word(String word) {
    return word.equals("*") ? MatchAllDocsQuery.INSTANCE : new TermQuery(new Term("text", word));
  }

  int count(IndexSearcher searcher, String text) throws IOException {
    String[] words = text.split(" ");
    return searcher.count(condition(words));
  }

  LuceneBench.Hit[] top(IndexSearcher searcher, String mode, String text, int k) throws IOException {
    String[] words = text.split(" ");
    Query q = word(words[0]);
    String column = words[1];
    return switch (mode) {
      case "filtered", "inside" -> {
        BooleanQuery.Builder b = new BooleanQuery.Builder();
        b.add(q, BooleanClause.Occur.MUST);
        b.add(condition(words), BooleanClause.Occur.FILTER);
        yield best(searcher, b.build(), k);
      }
      case "nearest" -> places.nearest(searcher, q, words, k);
      case "score" -> best(searcher, LucenePlaces.scored(q, words), k);
      case "sort" -> {
        Sort sort = new Sort(new SortField(column, SortField.Type.LONG, words[2].equals("desc")));
        ScoreDoc[] docs = searcher.search(q, new TopFieldCollectorManager(sort, k, null, k)).scoreDocs;
        yield Arrays.stream(docs).map(d -> new LuceneBench.Hit(d.doc, (Long) ((FieldDoc) d).fields[0])).toArray(LuceneBench.Hit[]::new);
      }
      case "terms" -> searcher.search(q, new TermsManager(column, k));
      case "histogram" -> histogram(searcher.search(q, new HistogramCollectorManager(column, Long.parseLong(words[2]), MOST_BUCKETS)));
      case "stats" -> searcher.search(q, new StatsManager(column));
      default -> throw new IllegalArgumentException("Lucene has no query for the mode " + mode);
    };
  }

  private static LuceneBench.Hit[] best(IndexSearcher searcher, Query q, int k) throws IOException {
    ScoreDoc[] docs = searcher.search(q, new TopScoreDocCollectorManager(k, null, k)).scoreDocs;
    return Arrays.stream(docs).map(d -> new LuceneBench.Hit(d.doc, d.score)).toArray(LuceneBench.Hit[]::new);
  }

  private static LuceneBench.Hit[] histogram(LongIntHashMap buckets) {
    LuceneBench.Hit[] hits = new LuceneBench.Hit[buckets.size()];
    int n = 0;
    for (LongIntHashMap.LongIntCursor c : buckets) {
      hits[n++] = new LuceneBench.Hit(c.key, c.value);
    }
    Arrays.sort(hits, (a, b) -> Long.compare(a.id(), b.id()));
    return hits;
  }

  /** The hash of protocol.TermID. */
  private static long termID(BytesRef term) {
    return new String(term.bytes, term.offset, term.length, StandardCharsets.US_ASCII).hashCode() & 0xffffffffL;
  }

  /** Counts the ordinals of a column as documents match; the facet module would first collect the documents. */
  private record TermsManager(String column, int k) implements CollectorManager<Terms, LuceneBench.Hit[]> {
    @Override
    public Terms newCollector() {
      return new Terms(column);
    }

    @Override
    public LuceneBench.Hit[] reduce(Collection<Terms> collectors) throws IOException {
      return collectors.iterator().next().top(k); // one segment, one thread
    }
  }

  private static final class Terms implements Collector {
    private final String column;
    private SortedSetDocValues values;
    private int[] counts;

    Terms(String column) {
      this.column = column;
    }

    @Override
    public ScoreMode scoreMode() {
      return ScoreMode.COMPLETE_NO_SCORES;
    }

    @Override
    public LeafCollector getLeafCollector(LeafReaderContext leaf) throws IOException {
      values = DocValues.getSortedSet(leaf.reader(), column);
      int[] counts = this.counts = new int[(int) values.getValueCount()];
      SortedDocValues single = DocValues.unwrapSingleton(values);
      if (single != null) {
        return new LeafCollector() {
          @Override
          public void setScorer(Scorable scorer) {}

          @Override
          public void collect(int doc) throws IOException {
            if (single.advanceExact(doc)) {
              counts[single.ordValue()]++;
            }
          }
        };
      }
      SortedSetDocValues several = values;
      return new LeafCollector() {
        @Override
        public void setScorer(Scorable scorer) {}

        @Override
        public void collect(int doc) throws IOException {
          if (several.advanceExact(doc)) {
            for (int n = several.docValueCount(); n > 0; n--) {
              counts[(int) several.nextOrd()]++;
            }
          }
        }
      };
    }

    LuceneBench.Hit[] top(int k) throws IOException {
      PriorityQueue<Integer> worst = new PriorityQueue<>((a, b) -> counts[a] != counts[b] ? Integer.compare(counts[a], counts[b]) : Integer.compare(b, a));
      int least = 1;
      for (int ord = 0; ord < counts.length; ord++) {
        if (counts[ord] < least) {
          continue;
        }
        worst.add(ord);
        if (worst.size() > k) {
          worst.poll();
        }
        if (worst.size() == k) {
          least = counts[worst.peek()] + 1;
        }
      }
      LuceneBench.Hit[] hits = new LuceneBench.Hit[worst.size()];
      for (int i = hits.length - 1; i >= 0; i--) {
        int ord = worst.poll();
        hits[i] = new LuceneBench.Hit(termID(values.lookupOrd(ord)), counts[ord]);
      }
      return hits;
    }
  }

  private record StatsManager(String column) implements CollectorManager<Stats, LuceneBench.Hit[]> {
    @Override
    public Stats newCollector() {
      return new Stats(column);
    }

    @Override
    public LuceneBench.Hit[] reduce(Collection<Stats> collectors) {
      Stats s = collectors.iterator().next();
      return new LuceneBench.Hit[] {
        new LuceneBench.Hit(0, s.count), new LuceneBench.Hit(1, s.least), new LuceneBench.Hit(2, s.greatest), new LuceneBench.Hit(3, s.sum)
      };
    }
  }

  /** Reads values in bulk, as Lucene's newest collectors do. All documents have one. */
  private static final class Stats implements Collector, LeafCollector {
    private final String column;
    private final int[] docs = new int[256];
    private final long[] read = new long[docs.length];
    private NumericDocValues values;
    private long count;
    private long sum;
    private long least = Long.MAX_VALUE;
    private long greatest = Long.MIN_VALUE;

    Stats(String column) {
      this.column = column;
    }

    @Override
    public ScoreMode scoreMode() {
      return ScoreMode.COMPLETE_NO_SCORES;
    }

    @Override
    public LeafCollector getLeafCollector(LeafReaderContext leaf) throws IOException {
      LeafReader reader = leaf.reader();
      values = DocValues.getNumeric(reader, column);
      return this;
    }

    @Override
    public void setScorer(Scorable scorer) {}

    @Override
    public void collect(int doc) throws IOException {
      docs[0] = doc;
      add(1);
    }

    @Override
    public void collectRange(int min, int max) throws IOException {
      while (min < max) {
        int n = Math.min(docs.length, max - min);
        for (int i = 0; i < n; i++) {
          docs[i] = min + i;
        }
        add(n);
        min += n;
      }
    }

    @Override
    public void collect(DocIdStream stream) throws IOException {
      for (int n = stream.intoArray(docs); n > 0; n = stream.intoArray(docs)) {
        add(n);
      }
    }

    private void add(int n) throws IOException {
      values.longValues(n, docs, read, 0);
      long s = 0;
      long low = least;
      long high = greatest;
      for (int i = 0; i < n; i++) {
        s += read[i];
        low = Math.min(low, read[i]);
        high = Math.max(high, read[i]);
      }
      count += n;
      sum += s;
      least = low;
      greatest = high;
    }
  }
}
