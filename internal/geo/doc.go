// Package geo knows points of the Earth: their keys, their distances, and which of them are within a
// shape. It knows nothing of columns or queries.
//
// # Keys
//
// The key of a [Point] is the Morton code of its coordinates, 32 bits each. The longitude is the
// number of steps of 360/2^32 degrees east of -180, the latitude that of 180/2^32 degrees north of
// -90; their bits alternate, that of the longitude first. A cell is all keys with the same first
// bits, so a range of keys. Cells of 5 bits are those of the characters of a geohash. For example,
// the point 57.64911 N 10.40744 E has the geohash u4pruydqqvj:
//
//	longitude  87669ddb
//	latitude   d1fd6680
//	key        d12b7d7996b6e28a, which begins with 11010 00100 10101 10111 11010, that is u4pru
//
// A key stands for the centre of its smallest cell. So a stored point is at most 5 mm from the one
// that was given, in each direction. Longitude 180 becomes the last step, and so does latitude 90.
//
// # Distances
//
// [Distance] is that on a sphere whose radius is the mean radius of the Earth (IUGG), as Lucene and
// Elasticsearch have it. The Earth is flattened: a distance by its ellipsoid differs by 0.5 % at most.
package geo
