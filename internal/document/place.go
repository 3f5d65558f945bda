package document

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/riffle-search/riffle/internal/geo"
)

// A place is a point of the Earth: a value that has a place in a column, and no term.

// Place makes a value of a point, which geo.Point.Check accepts.
func Place(name string, p geo.Point) Value {
	var b [placeBytes]byte
	binary.LittleEndian.PutUint64(b[:8], math.Float64bits(p.Lat))
	binary.LittleEndian.PutUint64(b[8:], math.Float64bits(p.Lon))
	return Value{Name: name, Kind: KindPlace, Str: string(b[:])}
}

const placeBytes = 16

// Point returns the point of a value of KindPlace.
func (v *Value) Point() geo.Point {
	var b [placeBytes]byte
	copy(b[:], v.Str)
	return geo.Point{
		Lat: math.Float64frombits(binary.LittleEndian.Uint64(b[:8])),
		Lon: math.Float64frombits(binary.LittleEndian.Uint64(b[8:])),
	}
}

// addPlace is Put for a point, which may be invalid.
func (f *Flattener) addPlace(name string, p geo.Point) {
	if err := p.Check(); err != nil {
		f.fail(name, "%w", err)
		return
	}
	f.Put(Place(name, p))
}

// Documents write points of declared fields in more ways than one, which Flatten does not know from
// other values. A placeField collects them.
type placeField struct {
	name string

	lats, lons, pairs []float64 // of objects, and of GeoJSON
	rules             rules
}

// A placeReader reads the points of documents and of updates, under a schema.
type placeReader struct {
	schema *Schema
	fields []*placeField
	values []Value // of the current document, with its places read
}

func newPlaceReader(s *Schema) placeReader { return placeReader{schema: s, fields: s.placeFields()} }

// placeFields returns the fields of the schema that are places.
func (s *Schema) placeFields() (fields []*placeField) {
	for name, f := range s.Fields {
		if f.Type == PlaceField {
			fields = append(fields, &placeField{name: name})
		}
	}
	slices.SortFunc(fields, func(a, b *placeField) int { return strings.Compare(a.name, b.name) })
	return fields
}

// mentionsPlaces reports whether the schema has a field of places.
func (s *Schema) mentionsPlaces() bool {
	for _, f := range s.Fields {
		if f.Type == PlaceField {
			return true
		}
	}
	return false
}

// read returns the values of a document in which those of declared places are points. It reads
//
//	{"lat": 52.5, "lon": 13.4}, also with "lng", and with capitals, as structs have them
//	"52.5,13.4"                       latitude, longitude
//	"u33dc0"                          a geohash, which stands for the middle of its cell
//	[13.4, 52.5]                      longitude, latitude, as in GeoJSON
//	{"type": "Point", "coordinates": [13.4, 52.5]}
//
// and several of these. The result is valid until the next call.
func (r *placeReader) read(values []Value) (_ []Value, field string, err error) {
	if len(r.fields) == 0 {
		return values, "", nil
	}
	defer func() {
		if err != nil {
			r.abandon()
		}
	}()
	r.values = r.values[:0]
	for i := range values {
		v := &values[i]
		p := r.fieldOf(v.Name)
		if p == nil || v.Kind == KindPlace {
			r.values = append(r.values, *v)
			continue
		}
		if v.Kind == KindText && v.Name == p.name {
			point, err := geo.ParsePoint(v.Str)
			if err != nil {
				return nil, v.Name, err
			}
			place := Place(p.name, point)
			place.rules = v.rules
			r.values = append(r.values, place)
		} else if err := p.add(v); err != nil {
			return nil, v.Name, err
		}
	}
	for _, p := range r.fields {
		if r.values, err = p.end(r.values); err != nil {
			return nil, p.name, err
		}
	}
	return r.values, "", nil
}

// fieldOf returns the declared field of places that a name is that of, or of a part of a point of, or nil.
func (r *placeReader) fieldOf(name string) *placeField {
	at := slices.IndexFunc(r.fields, func(p *placeField) bool { return p.hasPart(name) })
	if at < 0 {
		return nil
	}
	if _, declared := r.schema.Fields[name]; declared && name != r.fields[at].name {
		return nil
	}
	return r.fields[at]
}

// hasPart reports whether a name is that of the field, or of a part of a point.
func (p *placeField) hasPart(name string) bool {
	part, ok := strings.CutPrefix(name, p.name)
	if !ok || part == "" {
		return ok
	}
	return slices.ContainsFunc(placeParts[:], func(name string) bool { return strings.EqualFold(part, name) })
}

// placeParts are what follows the name of a field in those of the values of an object.
var placeParts = [...]string{".lat", ".lon", ".lng", ".type", ".coordinates"}

// add adds a part of a point.
func (p *placeField) add(v *Value) error {
	x, isNumber := v.float()
	part := strings.ToLower(v.Name[len(p.name):])
	switch {
	case part == ".type" && v.Kind == KindText && v.Str == "Point":
		return nil
	case part == ".type":
		return fmt.Errorf("a place is a Point of GeoJSON, not %v", v.any())
	case !isNumber:
		return fmt.Errorf("a place is a point, not %s", v.Type())
	case part == ".lat":
		p.lats = append(p.lats, x)
	case part == ".lon", part == ".lng":
		p.lons = append(p.lons, x)
	default:
		p.pairs = append(p.pairs, x)
	}
	p.rules = v.rules
	return nil
}

// end appends the points of the parts, and forgets these.
func (p *placeField) end(to []Value) ([]Value, error) {
	lats, lons, pairs := p.lats, p.lons, p.pairs
	p.lats, p.lons, p.pairs = lats[:0], lons[:0], pairs[:0]
	switch {
	case len(lats) != len(lons):
		return nil, errors.New(`an object that is a place has "lat", and "lon" or "lng"`)
	case len(pairs)%2 != 0:
		return nil, fmt.Errorf("%d numbers: a place is a longitude and a latitude, as in GeoJSON", len(pairs))
	}
	for i := 0; i < len(pairs); i += 2 {
		lons, lats = append(lons, pairs[i]), append(lats, pairs[i+1])
	}
	for i := range lats {
		point := geo.Point{Lat: lats[i], Lon: lons[i]}
		if err := point.Check(); err != nil {
			return nil, err
		}
		place := Place(p.name, point)
		place.rules = p.rules
		to = append(to, place)
	}
	return to, nil
}

// abandon forgets the parts of points of a document that is refused.
func (r *placeReader) abandon() {
	for _, p := range r.fields {
		p.lats, p.lons, p.pairs = p.lats[:0], p.lons[:0], p.pairs[:0]
	}
}
