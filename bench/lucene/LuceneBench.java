import com.google.gson.Gson;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.LongSupplier;
import org.apache.lucene.analysis.core.WhitespaceAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.FieldType;
import org.apache.lucene.document.NumericDocValuesField;
import org.apache.lucene.document.StringField;
import org.apache.lucene.index.CodecReader;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.DocValues;
import org.apache.lucene.index.IndexOptions;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.LeafReader;
import org.apache.lucene.index.LeafReaderContext;
import org.apache.lucene.index.NoMergePolicy;
import org.apache.lucene.index.NumericDocValues;
import org.apache.lucene.index.ReaderUtil;
import org.apache.lucene.index.Term;
import org.apache.lucene.misc.index.BPIndexReorderer;
import org.apache.lucene.queries.intervals.IntervalQuery;
import org.apache.lucene.queries.intervals.Intervals;
import org.apache.lucene.queries.intervals.IntervalsSource;
import org.apache.lucene.search.BooleanClause;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.BoostQuery;
import org.apache.lucene.search.CombinedFieldQuery;
import org.apache.lucene.search.DisjunctionMaxQuery;
import org.apache.lucene.search.FuzzyQuery;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.PhraseQuery;
import org.apache.lucene.search.PrefixQuery;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.RegexpQuery;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.search.TopDocs;
import org.apache.lucene.search.TopScoreDocCollectorManager;
import org.apache.lucene.search.WildcardQuery;
import org.apache.lucene.search.similarities.BM25Similarity;
import org.apache.lucene.store.Directory;
import org.apache.lucene.store.MMapDirectory;
import org.apache.lucene.util.Version;

/** Lucene under the comparison's protocol; see ../protocol/protocol.go for what the lines mean and what is timed. */
public final class LuceneBench {
  record Request(
      String op, String dir, String docs, Map<String, String> options, List<String> terms, String mode, String filter,
      String want, int k, List<String> queries, double warm, int reps, double budget, boolean hits, String clock,
      boolean reopen, List<String> puts) {}

  record Hit(long id, double score) {}

  static final class Reply {
    String error;
    String version;
    int docs;
    long terms;
    int segments;
    long columnBytes;
    int[] df;
    long[] ns;
    long[] before;
    int reps;
    int[] counts;
    Hit[][] hits;
  }

  private static final BM25Similarity SIMILARITY = new BM25Similarity(1.2f, 0.75f);

  private Request opened;
  private IndexWriter writer; // only where documents are put
  private DirectoryReader reader;
  private IndexSearcher searcher;
  private List<LeafReaderContext> leaves;
  private int threshold;
  private LuceneColumns columns; // null unless documents are rows
  private int next; // id of the next document that is put

  public static void main(String[] args) throws Exception {
    // Lucene and the JVM may print to standard output; the protocol's lines must not mix with that.
    PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    System.setOut(System.err);
    Gson gson = new Gson();
    LuceneBench bench = new LuceneBench();
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line; (line = in.readLine()) != null; ) {
      Reply reply;
      try {
        reply = bench.answer(gson.fromJson(line, Request.class));
      } catch (Exception e) {
        e.printStackTrace();
        reply = new Reply();
        reply.error = e.toString();
      }
      out.println(gson.toJson(reply));
    }
  }

  private Reply answer(Request req) throws Exception {
    return switch (req.op()) {
      case "build" -> build(req);
      case "open" -> {
        opened = req;
        Reply reply = open(req);
        next = reply.docs;
        yield reply;
      }
      case "df" -> df(req);
      case "run" -> run(req);
      default -> throw new IllegalArgumentException("unknown op " + req.op());
    };
  }

  private static String option(Request req, String name, String unset) {
    return req.options() == null ? unset : req.options().getOrDefault(name, unset);
  }

  /**
   * One thread indexes, so that documents keep their order, unless the option "threads" asks for more; one segment at
   * the end, unless "merge" is "none". The option "batches" adds so many documents at a time and opens a reader on each,
   * as who searches in near real time does, with the default merge policy and its threads.
   */
  private static Reply build(Request req) throws Exception {
    text = textType(!option(req, "positions", "").isEmpty());
    if (!option(req, "batches", "").isEmpty()) {
      return buildBatches(req, Integer.parseInt(option(req, "batches", "")));
    }
    if (!option(req, "columns", "").isEmpty()) {
      return buildRows(req);
    }
    boolean reorder = option(req, "order", "arrival").equals("bp");
    boolean tags = !option(req, "tags", "").isEmpty();
    boolean fields = !option(req, "fields", "").isEmpty();
    Path last = Path.of(req.dir());
    Path first = reorder ? Path.of(req.dir(), "arrival") : last;
    Reply reply = new Reply();
    try (Directory dir = new MMapDirectory(first);
        IndexWriter writer = new IndexWriter(dir, config());
        Lines lines = new Lines(Path.of(req.docs()))) {
      List<Thread> threads = new ArrayList<>();
      List<Throwable> failed = Collections.synchronizedList(new ArrayList<>());
      for (int i = Integer.parseInt(option(req, "threads", "1")); i > 1; i--) {
        Thread t = new Thread(() -> index(writer, lines, tags, fields));
        t.setUncaughtExceptionHandler((thread, e) -> failed.add(e));
        t.start();
        threads.add(t);
      }
      index(writer, lines, tags, fields);
      for (Thread t : threads) {
        t.join();
      }
      if (!failed.isEmpty()) {
        throw new Exception(failed.getFirst());
      }
      reply.docs = lines.read;
      if (!option(req, "merge", "one").equals("none")) {
        writer.forceMerge(1);
      }
      writer.commit();
    }
    if (reorder) {
      reorder(first, last);
    }
    if (!option(req, "delete", "").isEmpty()) {
      deleteSome(last);
    }
    return reply;
  }

  private static LuceneColumns columns(Request req) {
    String spec = option(req, "columns", "");
    return spec.isEmpty() ? null : new LuceneColumns(spec, !option(req, "points", "").isEmpty());
  }

  /** One segment that is not a compound file, so that the bytes of its parts can be told. */
  private static Reply buildRows(Request req) throws Exception {
    LuceneColumns columns = columns(req);
    Reply reply = new Reply();
    IndexWriterConfig config = config().setUseCompoundFile(false);
    config.getMergePolicy().setNoCFSRatio(0);
    try (Directory dir = new MMapDirectory(Path.of(req.dir()));
        IndexWriter writer = new IndexWriter(dir, config);
        BufferedReader in = Files.newBufferedReader(Path.of(req.docs()))) {
      for (String line; (line = in.readLine()) != null; reply.docs++) {
        writer.addDocument(columns.document(line, text));
      }
      writer.forceMerge(1);
      writer.commit();
    }
    return reply;
  }

  private static Reply buildBatches(Request req, int size) throws Exception {
    Reply reply = new Reply();
    try (Directory dir = new MMapDirectory(Path.of(req.dir()));
        IndexWriter writer = new IndexWriter(dir, new IndexWriterConfig(new WhitespaceAnalyzer()).setSimilarity(SIMILARITY));
        BufferedReader in = Files.newBufferedReader(Path.of(req.docs()))) {
      DirectoryReader reader = DirectoryReader.open(writer);
      for (String line; (line = in.readLine()) != null; ) {
        writer.addDocument(document(reply.docs++, line, false, false));
        if (reply.docs % size == 0) {
          reader = refresh(reader, writer);
        }
      }
      refresh(reader, writer).close();
      writer.commit();
    }
    return reply;
  }

  private static DirectoryReader refresh(DirectoryReader reader, IndexWriter writer) throws IOException {
    DirectoryReader changed = DirectoryReader.openIfChanged(reader, writer);
    if (changed == null) {
      return reader;
    }
    reader.close();
    return changed;
  }

  /** Deletes one document of any five that follow each other, as protocol.Deleted says; the segment stays as it is. */
  private static void deleteSome(Path path) throws Exception {
    try (Directory dir = new MMapDirectory(path);
        IndexWriter writer = new IndexWriter(dir, config().setMergePolicy(NoMergePolicy.INSTANCE));
        DirectoryReader reader = DirectoryReader.open(writer)) {
      LeafReader leaf = reader.leaves().getFirst().reader();
      NumericDocValues ids = DocValues.getNumeric(leaf, "id");
      for (int doc = ids.nextDoc(); doc != NumericDocValues.NO_MORE_DOCS; doc = ids.nextDoc()) {
        long id = ids.longValue();
        if (id % 5 == id / 5 % 5 && writer.tryDeleteDocument(reader, doc) < 0) {
          throw new IllegalStateException("document " + doc + " could not be deleted");
        }
      }
      writer.commit();
    }
  }

  private static final String[] TAG_NAMES = {"0.1%", "1%", "10%", "50%"};
  private static final long[] TAG_SHARES = {4_294_967L, 42_949_673L, 429_496_730L, 2_147_483_648L};

  /** The same tags as protocol.Tags gives a document. */
  private static void addTags(Document doc, int id) {
    int h = id + 0x9e3779b9;
    h = (h ^ h >>> 16) * 0x85ebca6b;
    h = (h ^ h >>> 13) * 0xc2b2ae35;
    h ^= h >>> 16;
    for (int i = 0; i < TAG_NAMES.length; i++) {
      if (Integer.toUnsignedLong(h) < TAG_SHARES[i]) {
        doc.add(new StringField("tag", TAG_NAMES[i], Field.Store.NO));
      }
    }
  }

  /** How texts are indexed: as the option "positions" of a build says. */
  private static FieldType text = textType(false);

  private static FieldType textType(boolean positions) {
    FieldType type = new FieldType();
    type.setTokenized(true);
    type.setIndexOptions(positions ? IndexOptions.DOCS_AND_FREQS_AND_POSITIONS : IndexOptions.DOCS_AND_FREQS);
    type.freeze();
    return type;
  }

  private static final String[] FIELD_NAMES = {"title", "lead", "text"};
  private static final float[] BOOSTS = {3, 1.5f, 1};
  private static final int[] FIELD_WORDS = {6, 24};

  /** The same fields as protocol.Fields makes of a document. */
  private static void addFields(Document doc, String line) {
    int field = 0;
    for (int most : FIELD_WORDS) {
      int end = 0;
      for (int n = 0; n < most && end < line.length(); n++) {
        int next = line.indexOf(' ', n > 0 ? end + 1 : 0);
        end = next >= 0 ? next : line.length();
      }
      if (end > 0) {
        doc.add(new Field(FIELD_NAMES[field], line.substring(0, end), text));
      }
      field++;
      line = end < line.length() ? line.substring(end + 1) : "";
    }
    if (!line.isEmpty()) {
      doc.add(new Field(FIELD_NAMES[field], line, text));
    }
  }

  private static Document document(int id, String line, boolean tags, boolean fields) {
    Document doc = new Document();
    if (fields) {
      addFields(doc, line);
    } else {
      doc.add(new Field("text", line, text));
    }
    doc.add(new NumericDocValuesField("id", id));
    if (tags) {
      addTags(doc, id);
    }
    return doc;
  }

  /** A file of documents, from which each thread takes some at a time. */
  private static final class Lines implements AutoCloseable {
    private static final int MOST = 256;

    private final BufferedReader in;
    int read; // so many lines have been taken

    Lines(Path path) throws IOException {
      in = Files.newBufferedReader(path);
    }

    /** Puts the next lines into batch and returns the number of the first. */
    synchronized int take(List<String> batch) throws IOException {
      int first = read;
      batch.clear();
      for (String line; batch.size() < MOST && (line = in.readLine()) != null; read++) {
        batch.add(line);
      }
      return first;
    }

    @Override
    public void close() throws IOException {
      in.close();
    }
  }

  private static void index(IndexWriter writer, Lines lines, boolean tags, boolean fields) {
    List<String> batch = new ArrayList<>();
    try {
      for (int id = lines.take(batch); !batch.isEmpty(); id = lines.take(batch)) {
        for (String line : batch) {
          writer.addDocument(document(id++, line, tags, fields));
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Recursive graph bisection over the one segment, with the defaults of Lucene's own tool. */
  private static void reorder(Path from, Path to) throws Exception {
    try (Directory in = new MMapDirectory(from);
        DirectoryReader reader = DirectoryReader.open(in);
        Directory out = new MMapDirectory(to);
        IndexWriter writer = new IndexWriter(out, config())) {
      BPIndexReorderer bp = new BPIndexReorderer();
      bp.setFields(Set.of("text"));
      bp.setRAMBudgetMB(1024);
      CodecReader codec = (CodecReader) reader.leaves().getFirst().reader();
      writer.addIndexes(bp.reorder(codec, out, null));
      writer.forceMerge(1);
      writer.commit();
    }
    try (var files = Files.list(from)) {
      for (Path f : files.toList()) {
        Files.delete(f);
      }
    }
    Files.delete(from);
  }

  private static IndexWriterConfig config() {
    IndexWriterConfig config = new IndexWriterConfig(new WhitespaceAnalyzer());
    config.setSimilarity(SIMILARITY);
    config.setRAMBufferSizeMB(256);
    return config;
  }

  private Reply open(Request req) throws Exception {
    if (reader != null) { // opened anew
      reader.close();
    }
    Directory dir = new MMapDirectory(Path.of(req.dir()));
    if (!option(req, "puts", "").isEmpty()) {
      writer = new IndexWriter(dir, new IndexWriterConfig(new WhitespaceAnalyzer()).setSimilarity(SIMILARITY));
    }
    threshold = Integer.parseInt(option(req, "threshold", "0"));
    columns = columns(req);
    search(writer != null ? DirectoryReader.open(writer) : DirectoryReader.open(dir));
    Reply reply = new Reply();
    reply.version = "Lucene " + Version.LATEST + ", JDK " + Runtime.version().feature();
    reply.docs = reader.numDocs();
    reply.segments = leaves.size();
    if (columns != null) {
      reply.columnBytes = LuceneColumns.bytes(Path.of(req.dir()));
    }
    for (LeafReaderContext c : leaves) {
      reply.terms += c.reader().terms("text").size();
    }
    return reply;
  }

  /** From now on this reader is searched; the query cache is the default one where the option "querycache" says so. */
  private void search(DirectoryReader reader) {
    this.reader = reader;
    leaves = reader.leaves();
    searcher = new IndexSearcher(reader);
    searcher.setSimilarity(SIMILARITY);
    if (!option(opened, "querycache", "none").equals("default")) {
      searcher.setQueryCache(null);
    }
  }

  /** Adds a document, and opens a reader that sees it. */
  private void put(String text) throws IOException {
    writer.addDocument(document(next++, text, false, false));
    search(refresh(reader, writer));
  }

  private Reply df(Request req) throws Exception {
    Reply reply = new Reply();
    reply.df = new int[req.terms().size()];
    for (int i = 0; i < reply.df.length; i++) {
      reply.df[i] = searcher.getIndexReader().docFreq(new Term("text", req.terms().get(i)));
    }
    return reply;
  }

  private static Query query(String words, boolean and) {
    return query("text", words, and);
  }

  private static Query query(String field, String words, boolean and) {
    String[] terms = words.split(" ");
    if (terms.length == 1) {
      return new TermQuery(new Term(field, words));
    }
    BooleanQuery.Builder b = new BooleanQuery.Builder();
    for (String t : terms) {
      b.add(new TermQuery(new Term(field, t)), and ? BooleanClause.Occur.MUST : BooleanClause.Occur.SHOULD);
    }
    return b.build();
  }

  /** The best field for all words, the sum of each word's best field, or BM25F. */
  private static Query fields(String mode, String words) {
    return switch (mode) {
      case "best" -> best(words);
      case "cross" -> any(Arrays.stream(words.split(" ")).map(LuceneBench::best).toList());
      default -> any(Arrays.stream(words.split(" ")).map(LuceneBench::combined).toList());
    };
  }

  private static Query any(List<Query> clauses) {
    BooleanQuery.Builder b = new BooleanQuery.Builder();
    clauses.forEach(c -> b.add(c, BooleanClause.Occur.SHOULD));
    return b.build();
  }

  private static Query best(String words) {
    List<Query> fields = new ArrayList<>();
    for (int i = 0; i < FIELD_NAMES.length; i++) {
      fields.add(new BoostQuery(query(FIELD_NAMES[i], words, false), BOOSTS[i]));
    }
    return new DisjunctionMaxQuery(fields, 0);
  }

  private static Query combined(String word) {
    CombinedFieldQuery.Builder b = new CombinedFieldQuery.Builder(word);
    for (int i = 0; i < FIELD_NAMES.length; i++) {
      b.addField(FIELD_NAMES[i], BOOSTS[i]);
    }
    return b.build();
  }

  private Query query(Request req, String words) {
    Query q =
        switch (req.mode()) {
          case "nested" -> nested(words);
          case "phrase" -> new PhraseQuery("text", words.split(" "));
          case "slop" -> new PhraseQuery(3, "text", words.split(" "));
          case "near" -> near(words);
          case "prefix" -> new PrefixQuery(new Term("text", words));
          case "infix" -> new WildcardQuery(new Term("text", "*" + words + "*"));
          case "regexp" -> new RegexpQuery(new Term("text", words));
          case "fuzzy1" -> new FuzzyQuery(new Term("text", words), 1);
          case "fuzzy2" -> new FuzzyQuery(new Term("text", words), 2);
          case "best", "cross", "bm25f" -> fields(req.mode(), words);
          default -> query(words, req.mode().equals("and"));
        };
    if (req.filter() == null || req.filter().isEmpty()) {
      return q;
    }
    BooleanQuery.Builder b = new BooleanQuery.Builder();
    b.add(q, BooleanClause.Occur.MUST);
    b.add(new TermQuery(new Term("tag", req.filter())), BooleanClause.Occur.FILTER);
    return b.build();
  }

  /** All words in any order, with at most 8 others between them, as protocol.NearGaps says. */
  private static Query near(String words) {
    IntervalsSource[] terms = Arrays.stream(words.split(" ")).map(Intervals::term).toArray(IntervalsSource[]::new);
    return new IntervalQuery("text", Intervals.maxgaps(8, Intervals.unordered(terms)));
  }

  /** All words of the first half, or any of the others, whose scores count twice. */
  private static Query nested(String words) {
    String[] terms = words.split(" ");
    int half = (terms.length + 1) / 2;
    Query first = query(String.join(" ", Arrays.copyOf(terms, half)), true);
    if (half == terms.length) {
      return first;
    }
    Query others = query(String.join(" ", Arrays.copyOfRange(terms, half, terms.length)), false);
    BooleanQuery.Builder b = new BooleanQuery.Builder();
    b.add(first, BooleanClause.Occur.SHOULD);
    b.add(new BoostQuery(others, 2), BooleanClause.Occur.SHOULD);
    return b.build();
  }

  /** Doc values are read in the order of documents, hits come in the order of scores. */
  private Hit[] hits(TopDocs top) throws Exception {
    ScoreDoc[] docs = top.scoreDocs;
    Hit[] hits = new Hit[docs.length];
    long[] order = new long[docs.length];
    for (int i = 0; i < docs.length; i++) {
      order[i] = (long) docs[i].doc << 32 | i;
    }
    Arrays.sort(order);
    LeafReaderContext leaf = null;
    NumericDocValues ids = null;
    for (long o : order) {
      int i = (int) o;
      int doc = (int) (o >>> 32);
      if (leaf == null || doc >= leaf.docBase + leaf.reader().maxDoc()) {
        leaf = leaves.get(ReaderUtil.subIndex(doc, leaves));
        ids = DocValues.getNumeric(leaf.reader(), "id");
      }
      ids.advanceExact(doc - leaf.docBase);
      hits[i] = new Hit(ids.longValue(), docs[i].score);
    }
    return hits;
  }

  private Hit[] lastHits = new Hit[0];

  private int once(Request req, String words) throws Exception {
    if (columns != null && LuceneColumns.has(req.mode())) {
      if (req.want().equals("count")) {
        return columns.count(searcher, words);
      }
      lastHits = columns.top(searcher, req.mode(), words, req.k());
      return 0;
    }
    Query q = query(req, words);
    // Two passes count faster than one collector that may not prune.
    if (!req.want().equals("count")) {
      int k = req.k();
      lastHits = hits(searcher.search(q, new TopScoreDocCollectorManager(k, null, Math.max(k, threshold))));
    }
    return req.want().equals("top") ? 0 : searcher.count(q);
  }

  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

  private Reply run(Request req) throws Exception {
    int n = req.queries().size();
    if (n == 0) {
      throw new IllegalArgumentException("no queries");
    }
    LongSupplier clock = "cpu".equals(req.clock()) ? THREADS::getCurrentThreadCpuTime : System::nanoTime;
    long began = clock.getAsLong();
    for (int i = 0; (clock.getAsLong() - began) / 1e9 < req.warm(); i = (i + 1) % n) {
      once(req, req.queries().get(i));
    }
    Reply reply = new Reply();
    if (req.reps() == 0) {
      return reply;
    }

    reply.ns = new long[n];
    Arrays.fill(reply.ns, Long.MAX_VALUE);
    boolean puts = req.puts() != null && !req.puts().isEmpty();
    if (req.reopen() || puts) {
      reply.before = reply.ns.clone();
    }
    reply.counts = req.want().equals("top") ? null : new int[n];
    reply.hits = req.hits() ? new Hit[n][] : null;
    began = System.nanoTime();
    for (; reply.reps == 0 || reply.reps < req.reps() && seconds(began) < req.budget(); reply.reps++) {
      for (int i = 0; i < n; i++) {
        long start = clock.getAsLong();
        if (reply.before != null) {
          if (req.reopen()) {
            open(opened);
          }
          if (puts) {
            put(req.puts().get(i));
          }
          reply.before[i] = Math.min(reply.before[i], clock.getAsLong() - start);
          start = clock.getAsLong();
        }
        int count = once(req, req.queries().get(i));
        reply.ns[i] = Math.min(reply.ns[i], clock.getAsLong() - start);
        if (reply.counts != null) {
          reply.counts[i] = count;
        }
        if (req.hits() && reply.reps == 0) {
          reply.hits[i] = lastHits;
        }
      }
    }
    return reply;
  }

  private static double seconds(long since) {
    return (System.nanoTime() - since) / 1e9;
  }
}
