import Testing

@testable import TrellisCore

/// The metrics as a line for people.
struct MetricsDescriptionTests {
    private static var metrics: Metrics {
        var metrics = Metrics()
        metrics.attemptCount = 1
        metrics.queued = .microseconds(400)
        metrics.nameLookup = .milliseconds(1)
        metrics.connect = .microseconds(600)
        metrics.tls = .milliseconds(4)
        metrics.firstByte = .milliseconds(6)
        metrics.total = .microseconds(12_400)
        (metrics.bytesSent, metrics.bytesReceived) = (120, 4_250)
        metrics.version = .http2
        (metrics.peerHost, metrics.peerPort) = ("127.0.0.1", 443)
        return metrics
    }

    @Test func aRequestOnANewConnection() {
        #expect(
            "\(Self.metrics)"
                == "attempt 1, 12 ms (queued 0, name 1, connect 1, TLS 4, first byte 6), 120 B sent, "
                + "4.2 KB received, HTTP/2, 127.0.0.1:443")
    }

    @Test func aRequestOnAConnectionThatWasUsedBefore() {
        var metrics = Self.metrics
        metrics.isReusedConnection = true
        metrics.proxyURL = "http://proxy.example:3128"
        metrics.cacheStatus = CacheStatus(.stale)
        #expect(
            "\(metrics)"
                == "attempt 1, 12 ms (queued 0, first byte 6, connection reused), 120 B sent, 4.2 KB received, "
                + "HTTP/2, 127.0.0.1:443, through the proxy http://proxy.example:3128, cache: trellis; fwd=stale")
    }

    @Test(
        arguments: [
            (0, "0 B"), (999, "999 B"), (1_000, "1.0 KB"), (999_999, "999.9 KB"), (1_000_000, "1.0 MB"),
            (2_500_000_000, "2.5 GB"), (.max, "9223372.0 TB"),
        ] as [(Int64, String)])
    func aSizeHasAUnit(_ bytes: Int64, _ text: String) {
        var metrics = Metrics()
        metrics.bytesReceived = bytes
        #expect("\(metrics)".hasSuffix(", 0 B sent, \(text) received"))
    }
}
