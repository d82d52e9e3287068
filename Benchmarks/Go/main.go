// The Go client: net/http with the standard library's JSON. It does the same work as the other clients.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

// work is the work of this process. The options are those of workload.h.
type work struct {
	kind, url, caFile, file string
	concurrency, requests   int
	seconds, warmup         float64
	controlPort, origins    int
	http1                   bool
}

func parseWork() work {
	var w work
	flag.StringVar(&w.kind, "work", "", "kind of work")
	flag.StringVar(&w.url, "url", "", "URL to ask for")
	flag.StringVar(&w.caFile, "ca-file", "", "certificate authority to trust (PEM)")
	flag.StringVar(&w.file, "file", "", "file to write or to send")
	flag.IntVar(&w.concurrency, "concurrency", 1, "requests in flight at once")
	flag.IntVar(&w.requests, "requests", 0, "number of requests")
	flag.Float64Var(&w.seconds, "seconds", 1, "measured time")
	flag.Float64Var(&w.warmup, "warmup", 0, "time before it")
	flag.IntVar(&w.controlPort, "control-port", 0, "the test server's port")
	flag.IntVar(&w.origins, "origins", 1, "origins that are requested in turn (in-flight)")
	flag.BoolVar(&w.http1, "http1", false, "HTTP/1.1 where the server also offers HTTP/2")
	flag.Parse()
	return w
}

// originURL returns the URL of an origin, as workload.h has it.
func (w work) originURL(origin int) string {
	if origin == 0 {
		return w.url
	}
	return strings.Replace(w.url, "127.0.0.1", fmt.Sprintf("127.0.%d.%d", origin/250, 1+origin%250), 1)
}

func newClient(w work) (*http.Client, error) {
	transport := &http.Transport{
		MaxIdleConns:        w.concurrency,
		MaxIdleConnsPerHost: w.concurrency,
		DisableCompression:  true,
		ReadBufferSize:      16 << 10,
		WriteBufferSize:     64 << 10,
	}
	if w.caFile != "" {
		pem, err := os.ReadFile(w.caFile)
		if err != nil {
			return nil, err
		}
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(pem) {
			return nil, errors.New("no certificate in " + w.caFile)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: roots}
		transport.ForceAttemptHTTP2 = !w.http1
	}
	return &http.Client{Transport: transport, Timeout: 120 * time.Second}, nil
}

// body reads a complete response and returns its connection to the pool.
func body(response *http.Response, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %s", response.Status)
	}
	return data, err
}

func run() error {
	w := parseWork()
	client, err := newClient(w)
	if err != nil {
		return err
	}
	switch w.kind {
	case "get", "headers", "json":
		return runClosedLoop(client, w)
	case "download", "download-file":
		return runDownload(client, w)
	case "download-files":
		return runDownloads(client, w)
	case "upload-file":
		return runUpload(client, w)
	case "in-flight":
		return runInFlight(client, w)
	case "idle":
		return runIdle(client, w)
	case "waiting-streams":
		return runWaitingStreams(client, w)
	case "cancel":
		return runCancel(client, w)
	}
	return errors.New("unknown work: " + w.kind)
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "go:", err)
		os.Exit(1)
	}
}
