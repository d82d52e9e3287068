import Foundation
import Testing

/// The response on the standard output, and the report on it.
@Suite(.timeLimit(.minutes(60))) struct BodyTests {
    @Test func theBodyIsTheOutput() async throws {
        let run = try await client(["\(url)/"])
        #expect(run.text == "hello world")
        #expect(run.status == 0)
    }

    @Test func theBodyOfAFailureIsTheOutputToo() async throws {
        let run = try await client(["\(url)/status/500"])
        #expect(run.text == "so be it\n")
        #expect(run.status == 0)
    }

    @Test func aReportTellsTheResponse() async throws {
        let report = try await report(["\(url)/"]).report
        #expect(
            report.values("ok", "status", "http_version", "error", "items", "redirects", "attempts", "from_cache")
                == [true, 200, "1.1", .null, .null, [], 1, false])
        #expect(report["url"] == "\(url)/")
        #expect(report["body"] == ["bytes": 11, "base64": "aGVsbG8gd29ybGQ="])
    }

    @Test func aReportHasMetrics() async throws {
        let metrics = try await report(["\(url)/"]).report["metrics"]
        #expect(
            metrics.names == [
                "alpn", "bytes_received", "bytes_sent", "connect_s", "dns_s", "first_byte_s", "queued_s",
                "reused_connection", "tls_cipher", "tls_s", "tls_version", "total_s",
            ])
        #expect(metrics["first_byte_s"].double > 0)
        #expect(metrics["first_byte_s"].double <= metrics["total_s"].double)
    }

    @Test func status404IsNoFailure() async throws {
        let run = try await report(["\(url)/nowhere"])
        #expect(run.report.values("ok", "status", "error") == [true, 404, .null])
    }

    @Test func repeatedFieldsAreInOrder() async throws {
        let fields = try await report(["\(url)/repeated"]).report["headers"].elements
        #expect(
            fields.filter { $0[0] != "Content-Length" }
                == [["X-One", "1"], ["Set-Cookie", "a=1"], ["X-Two", "2"], ["Set-Cookie", "b=2"]])
    }

    @Test func aReportHasInformationalResponsesAndTrailers() async throws {
        let run = try await report(["\(url)/hints"])
        #expect(run.report["informational"] == [["status": 103, "headers": [["Link", "</style.css>"]]]])
        #expect(run.report["trailers"] == [["X-Sum", "7"]])
    }

    @Test func aResponseToHEADHasNoBody() async throws {
        let run = try await report(["HEAD", "\(url)/"])
        #expect(run.report.values("status", "body.bytes") == [200, 0])
    }

    @Test func aLargeBodyIsNotInTheReport() async throws {
        let run = try await report(["\(url)/bytes/3000000"])
        #expect(run.report["body"] == ["bytes": 3_000_000, "base64": .null])
    }

    @Test func everyByteIsInTheReport() async throws {
        let run = try await report(["\(url)/binary"])
        #expect(run.body == Data(UInt8.min...UInt8.max))
    }

    @Test func everyByteGoesThroughAPipe() async throws {
        let run = try await shell(#"set -o pipefail; "$trellis" "$1" | cat"#, ["\(url)/binary"])
        #expect(run.output == Data(UInt8.min...UInt8.max))
        #expect(run.status == 0)
    }

    @Test func jsonIsAsTheServerHasSentIt() async throws {
        let run = try await client(["\(url)/json"])
        #expect(run.text == #"{"b": 1.0, "a": ["ü", true, null, {}], "big": 12345678901234567890}"#)
    }
}
