// Package client has the requests and answers of riffle's HTTP API, and a Client that sends them. Package
// server reads and writes the same types, so that the two cannot differ.
package client
