// Package function computes numbers of documents from their columns, by which scores change: a function of
// a value, how near a value is to another one, or chance.
//
// A [Function] combines the values of some [Part]s. In a segment it is a [Segment], which is what executors
// take (blockmax.Numbers): fractions of 1<<32 of a power of two that no value of the function exceeds in any
// segment. Steps between fractions are thus 1<<32 times smaller than that power. With Coarse, only the upper
// 16 bits count, as in a static rank, so that GPUs can add the numbers as they add ranks.
//
// # Bounds
//
// The bound of a tile follows from the least and the greatest key of its values, without their bytes. Every
// step of a function is monotone in the value, or in its distance from an origin, so the value at an end of
// the interval bounds it. For places it is the nearest point of the smallest cell that has both keys
// (geo.Origin.Between). Exponentials and logarithms are monotone only up to their last bit. Bounds are one
// fraction higher for that reason, which is 1<<20 times more than such an error.
//
// Arithmetic is float64. Products are converted before they are added, so that no compiler fuses the two.
package function
