package bleve

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/internal/geo"
)

// A place is a point as bleve keeps it: how many steps it is east of -180 and north of -90 degrees. A step
// is a 2^32-1st part of 360 or of 180 degrees, and the point is the corner of its cell in the southwest.
// riffle divides by 2^32, and takes the centre: its point of the same steps is at most a step away.
type place struct{ lon, lat uint32 }

// Steps in a degree.
var (
	lonScale = float64(math.MaxUint32) / 360
	latScale = float64(math.MaxUint32) / 180
)

// placeOf returns the place of a point. Of coordinates out of range it is what bleve makes of them: some of
// their bits beyond the 32nd get among the others.
func placeOf(lon, lat float64) place {
	return placeNumbered(int64(spread(uint64((lon+180)*lonScale)) | spread(uint64((lat+90)*latScale))<<1))
}

func lonOf(step uint32) float64 { return float64(step)/lonScale - 180 }
func latOf(step uint32) float64 { return float64(step)/latScale - 90 }

// degrees returns the coordinates of a place.
func (p place) degrees() (lon, lat float64) { return lonOf(p.lon), latOf(p.lat) }

// number returns the integer whose terms bleve indexes: the bits of both, in turn, the first of lat.
func (p place) number() int64 { return int64(spread(uint64(p.lon)) | spread(uint64(p.lat))<<1) }

// placeNumbered is the inverse of number.
func placeNumbered(n int64) place { return place{gather(uint64(n)), gather(uint64(n) >> 1)} }

// point returns the point of the same steps that a column of riffle has.
func (p place) point() riffle.Point {
	const lonStep, latStep = 360.0 / (1 << 32), 180.0 / (1 << 32)
	return riffle.Point{Lat: -90 + (float64(p.lat)+0.5)*latStep, Lon: -180 + (float64(p.lon)+0.5)*lonStep}
}

// placeAt is the inverse of point.
func placeAt(p riffle.Point) place { return placeOfKey(geo.Key(p)) }

// placeOfKey returns the place whose point has a key.
func placeOfKey(key uint64) place {
	lon, lat := geo.Steps(key)
	return place{lon, lat}
}

// spread puts a zero above each of 32 bits.
func spread(x uint64) uint64 {
	x = (x | x<<16) & 0x0000ffff0000ffff
	x = (x | x<<8) & 0x00ff00ff00ff00ff
	x = (x | x<<4) & 0x0f0f0f0f0f0f0f0f
	x = (x | x<<2) & 0x3333333333333333
	return (x | x<<1) & 0x5555555555555555
}

// gather returns the even bits.
func gather(x uint64) uint32 {
	x &= 0x5555555555555555
	x = (x | x>>1) & 0x3333333333333333
	x = (x | x>>2) & 0x0f0f0f0f0f0f0f0f
	x = (x | x>>4) & 0x00ff00ff00ff00ff
	x = (x | x>>8) & 0x0000ffff0000ffff
	return uint32(x | x>>16)
}

// longestGeohash is how many characters of a text bleve takes for a geohash.
const longestGeohash = 12

// pointIn reads a point, in degrees, from a value of JSON: [lon, lat]; "lat,lon"; a geohash, for which bleve
// takes any text; or an object with lat, and lon or lng.
func pointIn(v any) (lon, lat float64, ok bool) {
	number := func(v any) (float64, bool) { f, ok := v.(float64); return f, ok }
	var hasLon, hasLat bool
	switch v := v.(type) {
	case []any:
		if len(v) == 2 {
			lon, hasLon = number(v[0])
			lat, hasLat = number(v[1])
		}
	case string:
		if !strings.Contains(v, ",") {
			if len(v) > longestGeohash {
				return 0, 0, false
			}
			lon, lat = geohash(v)
			return lon, lat, true
		}
		parts := strings.Split(v, ",")
		if len(parts) != 2 {
			return 0, 0, false
		}
		var errs [2]error
		lat, errs[0] = strconv.ParseFloat(strings.TrimSpace(parts[0]), 64)
		lon, errs[1] = strconv.ParseFloat(strings.TrimSpace(parts[1]), 64)
		hasLat, hasLon = errs[0] == nil, errs[1] == nil
	case map[string]any:
		if l, has := v["lon"]; has {
			lon, hasLon = number(l)
		} else {
			lon, hasLon = number(v["lng"])
		}
		lat, hasLat = number(v["lat"])
	}
	return lon, lat, hasLon && hasLat
}

// geohash returns the centre of the cell of a geohash. As in bleve, a character that is none counts as z.
func geohash(text string) (lon, lat float64) {
	south, north, west, east := -90.0, 90.0, -180.0, 180.0
	even := true
	for _, c := range []byte(text) {
		bits := strings.IndexByte("0123456789bcdefghjkmnpqrstuvwxyz", c)
		for bit := 16; bit > 0; bit >>= 1 {
			least, most := &south, &north
			if even {
				least, most = &west, &east
			}
			if middle := (*least + *most) / 2; bits&bit != 0 { // -1 has all bits
				*least = middle
			} else {
				*most = middle
			}
			even = !even
		}
	}
	return (west + east) / 2, (south + north) / 2
}

// A distanceUnit is the metres of a unit, and its names.
type distanceUnit struct {
	metres float64
	names  [2]string
}

// distanceUnits are in the order in which bleve looks for them at the end of a distance.
var distanceUnits = [...]distanceUnit{
	{0.0254, [2]string{"in", "inch"}}, {0.9144, [2]string{"yd", "yards"}}, {0.3048, [2]string{"ft", "feet"}},
	{1000, [2]string{"km", "kilometers"}}, {1852, [2]string{"nm", "nauticalmiles"}}, {0.001, [2]string{"mm", "millimeters"}},
	{0.01, [2]string{"cm", "centimeters"}}, {1609.344, [2]string{"mi", "miles"}}, {1, [2]string{"m", "meters"}},
}

// parseDistance reads a distance such as "5km", in metres. Without a unit it is one of metres.
func parseDistance(text string) (metres float64, err error) {
	number, unit := text, 1.0
find:
	for _, u := range distanceUnits {
		for _, name := range u.names {
			if before, ok := strings.CutSuffix(text, name); ok {
				number, unit = before, u.metres
				break find
			}
		}
	}
	if metres, err = strconv.ParseFloat(number, 64); err != nil {
		if errors.Is(err, strconv.ErrRange) {
			return 0, errorf("the distance %q is too large", text)
		}
		return 0, errorf("%q is no distance: a number and a unit (mm, cm, m, km, in, ft, yd, mi, nm) are wanted", text)
	}
	return metres * unit, nil
}

// parseDistanceUnit returns the metres of a unit.
func parseDistanceUnit(name string) (metres float64, err error) {
	for _, u := range distanceUnits {
		if name == u.names[0] || name == u.names[1] {
			return u.metres, nil
		}
	}
	return 0, errorf("unknown unit of distances %q: mm, cm, m, km, in, ft, yd, mi or nm is wanted", name)
}

// earthRadius is the mean one, in metres, by which bleve finds the box around a circle.
const earthRadius = 6371008.7714

const degree = math.Pi / 180

// earthDiameters are those by which bleve measures distances, in kilometres, by the latitude in the middle: it
// takes that of the ellipsoid for its sphere.
var earthDiameters = func() (d [diameters]float64) {
	a, b := 6378137.0, 6356752.31420 // no constants: their products would be rounded otherwise
	a2, b2 := a*a, b*b
	d[0], d[diameters-1] = 2.0*a/1000, 2.0*b/1000
	for i := 1; i < diameters-1; i++ {
		lat := math.Pi * float64(i) / (2*diameters - 1)
		one, two := math.Pow(a2*math.Cos(lat), 2), math.Pow(b2*math.Sin(lat), 2)
		three, four := math.Pow(a*math.Cos(lat), 2), math.Pow(b*math.Sin(lat), 2)
		d[i] = 2 * math.Sqrt((one+two)/(three+four)) / 1000
	}
	return d
}()

// diameters is the number of earthDiameters, of latitudes from 0 to 90 degrees.
const diameters = 1<<10 + 1

// earthDiameter returns the diameter for a latitude in radians, in kilometres. It does not grow with the
// distance from the equator.
func earthDiameter(lat float64) float64 {
	i := math.Mod(math.Abs(lat)*(1/((math.Pi/2)/(diameters-1)))+0.5, diameters)
	if math.IsNaN(i) {
		return 0
	}
	return earthDiameters[int(i)]
}

// haversine returns bleve's distance of two points in kilometres. It has some 0.2 m of rounding error for
// points that are close to each other, or opposite.
func haversine(lon1, lat1, lon2, lat2 float64) float64 {
	x1, x2 := lat1*degree, lat2*degree
	h1, h2 := 1-math.Cos(x1-x2), 1-math.Cos((lon1-lon2)*degree)
	h := (h1 + math.Cos(x1)*math.Cos(x2)*h2) / 2
	return earthDiameter((x1+x2)/2) * math.Asin(math.Min(1, math.Sqrt(h)))
}
