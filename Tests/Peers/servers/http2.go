// A server of Go's net/http over HTTP/2, for http2_servers.py: http2.go ADDRESS CHAIN KEY
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
)

func main() {
	http.HandleFunc("/small", func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "hello world")
	})
	http.HandleFunc("/sink", func(w http.ResponseWriter, r *http.Request) {
		count, _ := io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, count)
	})
	http.HandleFunc("/trailers", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "X-Sum")
		io.WriteString(w, "hello world")
		w.Header().Set("X-Sum", "42")
	})
	http.HandleFunc("/hints", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Link", "</style.css>")
		w.WriteHeader(http.StatusEarlyHints)
		io.WriteString(w, "hello world")
	})
	http.HandleFunc("/early", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		io.WriteString(w, "enough")
	})
	// The server sends GOAWAY with this response.
	http.HandleFunc("/away", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		io.WriteString(w, "hello world")
	})
	fmt.Fprintln(os.Stderr, http.ListenAndServeTLS(os.Args[1], os.Args[2], os.Args[3], nil))
	os.Exit(1)
}
