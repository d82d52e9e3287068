package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"time"
)

type item struct {
	SKU      string  `json:"sku"`
	Quantity int     `json:"quantity"`
	Price    float64 `json:"price"`
}

// order is the JSON that is posted.
type order struct {
	ID       int    `json:"id"`
	Customer string `json:"customer"`
	Email    string `json:"email"`
	Express  bool   `json:"express"`
	Note     string `json:"note"`
	Items    []item `json:"items"`
}

// receipt is the JSON of the response.
type receipt struct {
	ID        int      `json:"id"`
	Accepted  bool     `json:"accepted"`
	Total     float64  `json:"total"`
	Currency  string   `json:"currency"`
	Warehouse string   `json:"warehouse"`
	Messages  []string `json:"messages"`
}

func newOrder(id int) order {
	return order{
		ID: id, Customer: "Ada Lovelace", Email: "ada@example.com", Express: true,
		Note:  "Leave it with the neighbour at number 12",
		Items: []item{{"TR-1001", 2, 19.5}, {"TR-2040", 1, 44.25}, {"TR-3300", 5, 4.2}},
	}
}

func postJSON(client *http.Client, url string, id int) error {
	encoded, err := json.Marshal(newOrder(id))
	if err != nil {
		return err
	}
	request, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(encoded))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	answer, err := body(client.Do(request))
	if err != nil {
		return err
	}
	var got receipt
	if err := json.Unmarshal(answer, &got); err != nil {
		return err
	}
	if !got.Accepted || got.Currency == "" {
		return fmt.Errorf("not accepted: %s", answer)
	}
	return nil
}

func get(client *http.Client, url string) error {
	answer, err := body(client.Get(url))
	if err == nil && len(answer) != 11 {
		err = fmt.Errorf("a body of %d bytes", len(answer))
	}
	return err
}

func getReadingHeaders(client *http.Client, url string) error {
	response, err := client.Get(url)
	if _, err = body(response, err); err != nil {
		return err
	}
	length := 0
	for name, values := range response.Header {
		for _, value := range values {
			length += len(name) + len(value)
		}
	}
	if length <= 30*2 {
		return fmt.Errorf("headers of %d bytes", length)
	}
	return nil
}

func request(client *http.Client, w work, id int) error {
	switch w.kind {
	case "json":
		return postJSON(client, w.url, id)
	case "headers":
		return getReadingHeaders(client, w.url)
	}
	return get(client, w.url)
}

// worker sends one request after the other. The latencies are in ms.
func worker(client *http.Client, w work, end time.Time, requests int) ([]float32, error) {
	var latencies []float32
	for len(latencies) < requests {
		start := time.Now()
		if err := request(client, w, 100000+len(latencies)); err != nil {
			return nil, err
		}
		now := time.Now()
		latencies = append(latencies, float32(now.Sub(start).Seconds()*1e3))
		if !now.Before(end) {
			break
		}
	}
	return latencies, nil
}

// phase runs all workers for this time and returns their latencies.
func phase(client *http.Client, w work, seconds float64) ([]float32, error) {
	type outcome struct {
		latencies []float32
		err       error
	}
	end := time.Now().Add(time.Duration(seconds * 1e9))
	outcomes := make(chan outcome)
	for i := 0; i < w.concurrency; i++ {
		go func() {
			latencies, err := worker(client, w, end, math.MaxInt)
			outcomes <- outcome{latencies, err}
		}()
	}
	var all []float32
	for i := 0; i < w.concurrency; i++ {
		outcome := <-outcomes
		if outcome.err != nil {
			return nil, outcome.err
		}
		all = append(all, outcome.latencies...)
	}
	return all, nil
}

func runClosedLoop(client *http.Client, w work) error {
	if _, err := phase(client, w, w.warmup); err != nil {
		return err
	}
	report := startReport()
	latencies, err := phase(client, w, w.seconds)
	if err != nil {
		return err
	}
	report.stop()
	report.Requests = len(latencies)
	report.print(latencies)
	return nil
}
