package geo

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ParsePoint reads a point from a text: "52.52,13.405", which is the latitude and the longitude, or a
// geohash, which stands for the middle of its cell.
func ParsePoint(text string) (p Point, err error) {
	lat, lon, ok := strings.Cut(text, ",")
	if !ok {
		box, err := GeohashBox(strings.TrimSpace(text))
		if err != nil {
			return p, fmt.Errorf("%q is neither a latitude and a longitude, such as 52.52,13.405, nor a geohash", text)
		}
		return box.Centre(), nil
	}
	for _, c := range [...]struct {
		text string
		to   *float64
	}{{lat, &p.Lat}, {lon, &p.Lon}} {
		if *c.to, err = strconv.ParseFloat(strings.TrimSpace(c.text), 64); err != nil {
			return p, fmt.Errorf("%q is not a latitude and a longitude, such as 52.52,13.405", text)
		}
	}
	return p, p.Check()
}

// UnmarshalJSON reads a point in one of the forms
//
//	{"lat": 52.52, "lon": 13.405}, also with "lng"
//	"52.52,13.405" or a geohash, as ParsePoint does
//	[13.405, 52.52]: longitude and latitude, as in GeoJSON
func (p *Point) UnmarshalJSON(data []byte) (err error) {
	var read Point
	if string(data) == "null" {
		return nil
	}
	switch data[0] {
	case '"':
		var text string
		if err = json.Unmarshal(data, &text); err == nil {
			read, err = ParsePoint(text)
		}
	case '[':
		var pair []float64
		if err = json.Unmarshal(data, &pair); err == nil && len(pair) != 2 {
			err = fmt.Errorf("a point is a longitude and a latitude, not %d numbers", len(pair))
		}
		if err == nil {
			read = Point{Lat: pair[1], Lon: pair[0]}
		}
	default:
		var o struct{ Lat, Lon, Lng *float64 }
		d := json.NewDecoder(bytes.NewReader(data))
		d.DisallowUnknownFields()
		err = d.Decode(&o)
		switch {
		case err != nil:
		case o.Lat == nil || (o.Lon == nil) == (o.Lng == nil):
			err = errors.New(`a point has "lat", and "lon" or "lng"`)
		case o.Lon != nil:
			read = Point{Lat: *o.Lat, Lon: *o.Lon}
		default:
			read = Point{Lat: *o.Lat, Lon: *o.Lng}
		}
	}
	if err == nil {
		err = read.Check()
	}
	if err == nil {
		*p = read
	}
	return err
}
