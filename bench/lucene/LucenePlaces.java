import java.io.IOException;
import java.util.function.DoubleUnaryOperator;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.LatLonDocValuesField;
import org.apache.lucene.document.LatLonPoint;
import org.apache.lucene.geo.GeoEncodingUtils;
import org.apache.lucene.geo.Polygon;
import org.apache.lucene.index.DocValues;
import org.apache.lucene.index.LeafReaderContext;
import org.apache.lucene.index.SortedNumericDocValues;
import org.apache.lucene.queries.function.FunctionScoreQuery;
import org.apache.lucene.search.DoubleValues;
import org.apache.lucene.search.DoubleValuesSource;
import org.apache.lucene.search.FieldDoc;
import org.apache.lucene.search.IndexOrDocValuesQuery;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.MatchAllDocsQuery;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.search.Sort;
import org.apache.lucene.search.TopFieldCollectorManager;
import org.apache.lucene.util.SloppyMath;

/** Shapes, distances and scores by functions, of rows; see ../protocol/places.go. */
final class LucenePlaces {
  /** Places are points as well; else they have doc values alone. */
  private final boolean points;

  LucenePlaces(boolean points) {
    this.points = points;
  }

  void add(Document doc, String column, String value) {
    String[] degrees = value.split(",");
    double lat = Double.parseDouble(degrees[0]);
    double lon = Double.parseDouble(degrees[1]);
    doc.add(new LatLonDocValuesField(column, lat, lon));
    if (points) {
      doc.add(new LatLonPoint(column, lat, lon));
    }
  }

  private static double[] numbers(String[] words, int from) {
    double[] numbers = new double[words.length - from];
    for (int i = 0; i < numbers.length; i++) {
      numbers[i] = Double.parseDouble(words[from + i]);
    }
    return numbers;
  }

  /** The query of a shape, the words of which begin with the third. */
  Query within(String[] words) {
    String column = words[1];
    double[] n = numbers(words, 3);
    Query values;
    Query index;
    switch (words[2]) {
      case "distance" -> {
        values = LatLonDocValuesField.newSlowDistanceQuery(column, n[0], n[1], n[2]);
        index = LatLonPoint.newDistanceQuery(column, n[0], n[1], n[2]);
      }
      case "box" -> {
        values = LatLonDocValuesField.newSlowBoxQuery(column, n[0], n[2], n[1], n[3]);
        index = LatLonPoint.newBoxQuery(column, n[0], n[2], n[1], n[3]);
      }
      case "polygon" -> {
        Polygon polygon = polygon(n);
        values = LatLonDocValuesField.newSlowPolygonQuery(column, polygon);
        index = LatLonPoint.newPolygonQuery(column, polygon);
      }
      default -> throw new IllegalArgumentException("no shape " + words[2]);
    }
    return points ? new IndexOrDocValuesQuery(index, values) : values;
  }

  /** Lucene's rings end with their first point. */
  private static Polygon polygon(double[] n) {
    double[] lats = new double[n.length / 2 + 1];
    double[] lons = new double[lats.length];
    for (int i = 0; i < lats.length; i++) {
      lats[i] = n[2 * i % n.length];
      lons[i] = n[(2 * i + 1) % n.length];
    }
    return new Polygon(lats, lons);
  }

  /** Of all documents the index of points finds the nearest without looking at each. */
  LuceneBench.Hit[] nearest(IndexSearcher searcher, Query q, String[] words, int k) throws IOException {
    double[] n = numbers(words, 2);
    ScoreDoc[] docs;
    if (points && q instanceof MatchAllDocsQuery) {
      docs = LatLonPoint.nearest(searcher, words[1], n[0], n[1], k).scoreDocs;
    } else {
      Sort sort = new Sort(LatLonDocValuesField.newDistanceSort(words[1], n[0], n[1]));
      docs = searcher.search(q, new TopFieldCollectorManager(sort, k, null, k)).scoreDocs;
    }
    LuceneBench.Hit[] hits = new LuceneBench.Hit[docs.length];
    for (int i = 0; i < docs.length; i++) {
      hits[i] = new LuceneBench.Hit(docs[i].doc, (Double) ((FieldDoc) docs[i]).fields[0]);
    }
    return hits;
  }

  /** The query with the scores of a function. */
  static Query scored(Query q, String[] words) {
    String column = words[1];
    double[] n = numbers(words, 4);
    DoubleValuesSource value;
    if (words[3].equals("log1p")) {
      double factor = n[0];
      value = DoubleValuesSource.fromField(column, v -> Math.log1p(factor * v));
    } else if (n.length == 2) {
      DoubleUnaryOperator decay = gauss(n[1]);
      value = DoubleValuesSource.fromField(column, v -> decay.applyAsDouble(v - n[0]));
    } else {
      value = new Decay(column, n[0], n[1], n[2]);
    }
    return switch (words[2]) {
      case "sum" -> new FunctionScoreQuery(q, new Sum(value));
      case "multiply" -> FunctionScoreQuery.boostByValue(q, value);
      case "replace" -> new FunctionScoreQuery(q, value);
      default -> throw new IllegalArgumentException("no mode " + words[2]);
    };
  }

  private static DoubleUnaryOperator gauss(double scale) {
    double by = Math.log(0.5) / (scale * scale);
    return distance -> Math.exp(by * distance * distance);
  }

  /** A source of values that does not depend on the searcher. */
  private abstract static class Source extends DoubleValuesSource {
    @Override
    public DoubleValuesSource rewrite(IndexSearcher searcher) throws IOException {
      return this;
    }

    @Override
    public boolean isCacheable(LeafReaderContext leaf) {
      return false;
    }

    @Override
    public int hashCode() {
      return System.identityHashCode(this);
    }

    @Override
    public boolean equals(Object other) {
      return this == other;
    }

    @Override
    public String toString() {
      return getClass().getSimpleName();
    }
  }

  /** The score and a value. */
  private static final class Sum extends Source {
    private final DoubleValuesSource of;

    Sum(DoubleValuesSource of) {
      this.of = of;
    }

    @Override
    public boolean needsScores() {
      return true;
    }

    @Override
    public DoubleValues getValues(LeafReaderContext leaf, DoubleValues scores) throws IOException {
      DoubleValues values = of.getValues(leaf, scores);
      return new DoubleValues() {
        @Override
        public double doubleValue() throws IOException {
          return scores.doubleValue() + values.doubleValue();
        }

        @Override
        public boolean advanceExact(int doc) throws IOException {
          return values.advanceExact(doc) && scores.advanceExact(doc);
        }
      };
    }
  }

  /** The decay by the distance of a place, of which each document has one. */
  private static final class Decay extends Source {
    private final String column;
    private final double lat;
    private final double lon;
    private final DoubleUnaryOperator decay;

    Decay(String column, double lat, double lon, double scale) {
      this.column = column;
      this.lat = lat;
      this.lon = lon;
      this.decay = gauss(scale);
    }

    @Override
    public boolean needsScores() {
      return false;
    }

    @Override
    public DoubleValues getValues(LeafReaderContext leaf, DoubleValues scores) throws IOException {
      SortedNumericDocValues places = DocValues.getSortedNumeric(leaf.reader(), column);
      return new DoubleValues() {
        @Override
        public double doubleValue() throws IOException {
          long place = places.nextValue();
          double atLat = GeoEncodingUtils.decodeLatitude((int) (place >>> 32));
          double atLon = GeoEncodingUtils.decodeLongitude((int) place);
          return decay.applyAsDouble(SloppyMath.haversinMeters(lat, lon, atLat, atLon));
        }

        @Override
        public boolean advanceExact(int doc) throws IOException {
          return places.advanceExact(doc);
        }
      };
    }
  }
}
