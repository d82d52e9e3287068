package main

import (
	"context"
	"fmt"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"
)

// sendAll sends all requests at once and waits for the last response. The latencies are in ms.
func sendAll(client *http.Client, w work) ([]float32, error) {
	start := time.Now()
	latencies := make([]float32, w.concurrency)
	failures := make(chan error, w.concurrency)
	var group sync.WaitGroup
	group.Add(w.concurrency)
	for i := 0; i < w.concurrency; i++ {
		go func(i int) {
			defer group.Done()
			if err := get(client, w.originURL(i%w.origins)); err != nil {
				failures <- err
			}
			latencies[i] = float32(time.Since(start).Seconds() * 1e3)
		}(i)
	}
	group.Wait()
	select {
	case err := <-failures:
		return nil, err
	default:
		return latencies, nil
	}
}

// runInFlight sends all requests at once and waits for the last response.
func runInFlight(client *http.Client, w work) error {
	report := startReport()
	latencies, err := sendAll(client, w)
	if err != nil {
		return err
	}
	report.stop()
	report.Requests = w.concurrency
	report.print(latencies)
	return nil
}

// runIdle measures the connections of many requests after the last response, while nothing happens.
func runIdle(client *http.Client, w work) error {
	idle := startReport()
	if _, err := sendAll(client, w); err != nil {
		return err
	}
	debug.FreeOSMemory()
	report := startReport()
	report.IdleRSS = idle.IdleRSS
	time.Sleep(time.Duration(w.seconds * 1e9))
	report.stop()
	report.EndRSS = statusMB("VmRSS:")
	report.Requests = 1
	report.print(nil)
	return nil
}

// runWaitingStreams measures the requests that the server has received, while nothing happens.
func runWaitingStreams(client *http.Client, w work) error {
	idle := startReport()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	group := sendInBackground(ctx, client, w)
	if _, err := ask(w, fmt.Sprintf("/control/open/%d", w.concurrency)); err != nil {
		return err
	}
	debug.FreeOSMemory()
	report := startReport()
	report.IdleRSS = idle.IdleRSS
	time.Sleep(time.Duration(w.seconds * 1e9))
	report.stop()
	report.EndRSS = statusMB("VmRSS:")
	report.Requests = 1
	cancel()
	group.Wait()
	report.print(nil)
	return nil
}

// sendInBackground sends all requests at once, until the context is cancelled.
func sendInBackground(ctx context.Context, client *http.Client, w work) *sync.WaitGroup {
	group := new(sync.WaitGroup)
	group.Add(w.concurrency)
	for i := 0; i < w.concurrency; i++ {
		go func(i int) {
			defer group.Done()
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, w.originURL(i%w.origins), nil)
			if err == nil {
				body(client.Do(request))
			}
		}(i)
	}
	return group
}

// runCancel cancels all requests once the server has received them, and measures until the server has seen every socket closed.
func runCancel(client *http.Client, w work) error {
	idle := startReport()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	group := sendInBackground(ctx, client, w)
	if _, err := ask(w, fmt.Sprintf("/control/open/%d", w.concurrency)); err != nil {
		return err
	}
	report := startReport()
	report.IdleRSS = idle.IdleRSS
	cancel()
	group.Wait()
	closed, err := ask(w, "/control/closed")
	if err != nil {
		return err
	}
	report.stopAt(closed)
	report.Requests = w.concurrency
	report.print(nil)
	return nil
}

// ask sends a question to the test server, over its own connection, and waits for the reply.
func ask(w work, question string) (uint64, error) {
	answer, err := body(http.Get(fmt.Sprintf("http://127.0.0.1:%d%s", w.controlPort, question)))
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(strings.TrimSpace(string(answer)), 10, 64)
}
