import com.google.gson.Gson;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.lucene.analysis.core.WhitespaceAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.FieldType;
import org.apache.lucene.document.NumericDocValuesField;
import org.apache.lucene.index.CodecReader;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.DocValues;
import org.apache.lucene.index.IndexOptions;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.LeafReader;
import org.apache.lucene.index.LeafReaderContext;
import org.apache.lucene.index.NumericDocValues;
import org.apache.lucene.index.Term;
import org.apache.lucene.misc.index.BPIndexReorderer;
import org.apache.lucene.search.BooleanClause;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.search.TopDocs;
import org.apache.lucene.search.TopScoreDocCollectorManager;
import org.apache.lucene.search.similarities.BM25Similarity;
import org.apache.lucene.store.Directory;
import org.apache.lucene.store.MMapDirectory;
import org.apache.lucene.util.Version;

/** Lucene under the comparison's protocol; see ../protocol/protocol.go for what the lines mean and what is timed. */
public final class LuceneBench {
  record Request(
      String op, String dir, String docs, Map<String, String> options, List<String> terms, String mode, String want,
      int k, List<String> queries, double warm, int reps, double budget, boolean hits) {}

  record Hit(long id, float score) {}

  static final class Reply {
    String error;
    String version;
    int docs;
    long terms;
    int segments;
    int[] df;
    long[] ns;
    int reps;
    int[] counts;
    Hit[][] hits;
  }

  private static final BM25Similarity SIMILARITY = new BM25Similarity(1.2f, 0.75f);

  private IndexSearcher searcher;
  private LeafReader leaf;
  private int threshold;

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
      case "open" -> open(req);
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
   * the end, unless "merge" is "none".
   */
  private static Reply build(Request req) throws Exception {
    boolean reorder = option(req, "order", "arrival").equals("bp");
    Path last = Path.of(req.dir());
    Path first = reorder ? Path.of(req.dir(), "arrival") : last;
    Reply reply = new Reply();
    try (Directory dir = new MMapDirectory(first);
        IndexWriter writer = new IndexWriter(dir, config());
        Lines lines = new Lines(Path.of(req.docs()))) {
      List<Thread> threads = new ArrayList<>();
      List<Throwable> failed = Collections.synchronizedList(new ArrayList<>());
      for (int i = Integer.parseInt(option(req, "threads", "1")); i > 1; i--) {
        Thread t = new Thread(() -> index(writer, lines));
        t.setUncaughtExceptionHandler((thread, e) -> failed.add(e));
        t.start();
        threads.add(t);
      }
      index(writer, lines);
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
    return reply;
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

  private static void index(IndexWriter writer, Lines lines) {
    FieldType text = new FieldType();
    text.setTokenized(true);
    text.setIndexOptions(IndexOptions.DOCS_AND_FREQS);
    text.freeze();
    List<String> batch = new ArrayList<>();
    try {
      for (int id = lines.take(batch); !batch.isEmpty(); id = lines.take(batch)) {
        for (String line : batch) {
          Document doc = new Document();
          doc.add(new Field("text", line, text));
          doc.add(new NumericDocValuesField("id", id++));
          writer.addDocument(doc);
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
    DirectoryReader reader = DirectoryReader.open(new MMapDirectory(Path.of(req.dir())));
    leaf = reader.leaves().getFirst().reader();
    searcher = new IndexSearcher(reader);
    searcher.setSimilarity(SIMILARITY);
    searcher.setQueryCache(null);
    threshold = Integer.parseInt(option(req, "threshold", "0"));
    Reply reply = new Reply();
    reply.version = "Lucene " + Version.LATEST + ", JDK " + Runtime.version().feature();
    reply.docs = reader.numDocs();
    reply.segments = reader.leaves().size();
    for (LeafReaderContext c : reader.leaves()) {
      reply.terms += c.reader().terms("text").size();
    }
    return reply;
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
    String[] terms = words.split(" ");
    if (terms.length == 1) {
      return new TermQuery(new Term("text", words));
    }
    BooleanQuery.Builder b = new BooleanQuery.Builder();
    for (String t : terms) {
      b.add(new TermQuery(new Term("text", t)), and ? BooleanClause.Occur.MUST : BooleanClause.Occur.SHOULD);
    }
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
    NumericDocValues ids = DocValues.getNumeric(leaf, "id");
    for (long o : order) {
      int i = (int) o;
      ids.advanceExact((int) (o >>> 32));
      hits[i] = new Hit(ids.longValue(), docs[i].score);
    }
    return hits;
  }

  private Hit[] lastHits = new Hit[0];

  private int once(Request req, String words) throws Exception {
    Query q = query(words, req.mode().equals("and"));
    // Two passes count faster than one collector that may not prune.
    if (!req.want().equals("count")) {
      int k = req.k();
      lastHits = hits(searcher.search(q, new TopScoreDocCollectorManager(k, null, Math.max(k, threshold))));
    }
    return req.want().equals("top") ? 0 : searcher.count(q);
  }

  private Reply run(Request req) throws Exception {
    int n = req.queries().size();
    if (n == 0) {
      throw new IllegalArgumentException("no queries");
    }
    long began = System.nanoTime();
    for (int i = 0; seconds(began) < req.warm(); i = (i + 1) % n) {
      once(req, req.queries().get(i));
    }
    Reply reply = new Reply();
    if (req.reps() == 0) {
      return reply;
    }

    reply.ns = new long[n];
    Arrays.fill(reply.ns, Long.MAX_VALUE);
    reply.counts = req.want().equals("top") ? null : new int[n];
    reply.hits = req.hits() ? new Hit[n][] : null;
    began = System.nanoTime();
    for (; reply.reps == 0 || reply.reps < req.reps() && seconds(began) < req.budget(); reply.reps++) {
      for (int i = 0; i < n; i++) {
        long start = System.nanoTime();
        int count = once(req, req.queries().get(i));
        reply.ns[i] = Math.min(reply.ns[i], System.nanoTime() - start);
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
