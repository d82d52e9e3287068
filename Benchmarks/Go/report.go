package main

import (
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// report contains the figures of one run: the line of JSON that measure.c prints for the other clients.
type report struct {
	Requests   int      `json:"requests"`
	Seconds    float64  `json:"seconds"`
	CPUSeconds float64  `json:"cpu_seconds"`
	Bytes      int64    `json:"bytes"`
	P50        *float64 `json:"p50_ms,omitempty"`
	P99        *float64 `json:"p99_ms,omitempty"`
	IdleRSS    float64  `json:"idle_rss_mb"`
	EndRSS     float64  `json:"end_rss_mb,omitempty"`
	PeakRSS    float64  `json:"peak_rss_mb"`

	start uint64
}

// monotonicNanoseconds returns CLOCK_MONOTONIC, to which the test server's replies refer.
func monotonicNanoseconds() uint64 {
	var now syscall.Timespec
	const clockMonotonic = 1
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(&now)), 0)
	return uint64(now.Nano())
}

func cpuSeconds() float64 {
	var usage syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
}

// statusMB reads a field of /proc/self/status, in MB.
func statusMB(field string) float64 {
	status, _ := os.ReadFile("/proc/self/status")
	_, after, _ := strings.Cut(string(status), field)
	var kilobytes float64
	fmt.Sscan(after, &kilobytes)
	return kilobytes * 1024 / 1e6
}

func startReport() *report {
	return &report{IdleRSS: statusMB("VmRSS:"), CPUSeconds: cpuSeconds(), start: monotonicNanoseconds()}
}

func (r *report) stop() {
	r.stopAt(monotonicNanoseconds())
}

func (r *report) stopAt(end uint64) {
	r.Seconds = float64(end-r.start) / 1e9
	r.CPUSeconds = cpuSeconds() - r.CPUSeconds
}

// print prints the figures, with percentiles if there are at least two latencies (ms).
func (r *report) print(latencies []float32) {
	if count := len(latencies); count > 1 {
		sort.Slice(latencies, func(i, j int) bool { return latencies[i] < latencies[j] })
		p50, p99 := float64(latencies[count/2]), float64(latencies[count-1-count/100])
		r.P50, r.P99 = &p50, &p99
	}
	r.PeakRSS = statusMB("VmHWM:")
	json.NewEncoder(os.Stdout).Encode(r)
}
