package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
)

// plainWriter hides everything but Write, so that io.CopyBuffer uses its large buffer.
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
	response, err := client.Get(w.url)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("status %s", response.Status)
	}
	report.Bytes, err = io.CopyBuffer(plainWriter{sink}, response.Body, make([]byte, 256<<10))
	if err != nil {
		return err
	}
	report.stop()
	report.Requests = 1
	report.print(nil)
	return nil
}

// runUpload gives net/http the file itself, which it then sends with sendfile.
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
