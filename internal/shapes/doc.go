// Package shapes finds the points of a column that are within a shape: a [Circle], a [Rect] or a
// [Polygon]. It does not know queries.
//
// A [Region] is a shape prepared for comparisons with columns. It has, first, a cover: ranges of keys, each
// of which is a run of cells inside the shape or across its border. They are compared with the zones of
// tiles, and, where these do not decide, with the keys of a tile in their packed form. Second, it has a
// grid over the shape's box. The cell of a candidate says whether it is inside; only in cells
// across the border the point itself is compared with the shape.
//
// So answers are those of [Shape.Contains] alone. All else is a bound of it.
package shapes
