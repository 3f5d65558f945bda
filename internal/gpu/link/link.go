// Package link decides whether a program has GPUs: only one built with the tag cuda links package
// internal/gpu and the driver of devices.
//
// It knows both implementations of package internal/accelerator and nothing else. It is the only
// package that the tag changes for the packages above.
package link
