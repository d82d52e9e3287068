package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
)

// plainWriter hides all methods but Write, so that io.CopyBuffer uses its large buffer.
type plainWriter struct{ io.Writer }

func runDownload(client *http.Client, w work) error {
	report := startReport()
	var sink io.Writer = io.Discard
	if w.kind == "download-file" {
		file, err := os.Create(w.file)
		if err != nil {
			return err
		}
		defer file.Close()
		sink = file
	}
	var err error
	report.Bytes, err = copyBody(client, w.url, sink)
	if err != nil {
		return err
	}
	report.stop()
	report.Requests = 1
	report.print(nil)
	return nil
}

func copyBody(client *http.Client, url string, sink io.Writer) (int64, error) {
	response, err := client.Get(url)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("status %s", response.Status)
	}
	return io.CopyBuffer(plainWriter{sink}, response.Body, make([]byte, 256<<10))
}

func copyToFile(client *http.Client, url, path string) (int64, error) {
	file, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	return copyBody(client, url, file)
}

// runDownloads downloads many bodies, each into a file of the folder.
func runDownloads(client *http.Client, w work) error {
	for i := 0; i < w.requests; i++ {
		os.Remove(fmt.Sprint(w.file, "/", i))
	}
	os.Mkdir(w.file, 0o700)
	report := startReport()
	numbers := make(chan int)
	type outcome struct {
		bytes int64
		err   error
	}
	outcomes := make(chan outcome, w.requests)
	for i := 0; i < w.concurrency; i++ {
		go func() {
			for number := range numbers {
				bytes, err := copyToFile(client, w.url, fmt.Sprint(w.file, "/", number))
				outcomes <- outcome{bytes, err}
			}
		}()
	}
	for i := 0; i < w.requests; i++ {
		numbers <- i
	}
	close(numbers)
	for i := 0; i < w.requests; i++ {
		outcome := <-outcomes
		if outcome.err != nil {
			return outcome.err
		}
		report.Bytes += outcome.bytes
	}
	report.stop()
	report.Requests = w.requests
	report.print(nil)
	return nil
}

// runUpload passes the file itself to net/http, which then sends it with sendfile.
func runUpload(client *http.Client, w work) error {
	report := startReport()
	file, err := os.Open(w.file)
	if err != nil {
		return err
	}
	status, err := file.Stat()
	if err != nil {
		return err
	}
	request, err := http.NewRequest(http.MethodPost, w.url, file)
	if err != nil {
		return err
	}
	request.ContentLength = status.Size()
	answer, err := body(client.Do(request))
	if err != nil {
		return err
	}
	report.stop()
	fmt.Sscan(string(answer), &report.Bytes)
	report.Requests = 1
	report.print(nil)
	return nil
}
