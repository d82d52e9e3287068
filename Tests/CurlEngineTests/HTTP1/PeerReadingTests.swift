import FoundationEssentials
import Testing

@testable import CurlEngine

enum PeerReadings {
    /// The folder with the responses and with what the clients have found in them, if they were run.
    static let folder = ProcessInfo.processInfo.environment["TRELLIS_TEST_HTTP1_READINGS"]
}

/// A response of `Tests/Peers/http1/responses.json`.
private struct GivenResponse: Decodable {
    let method: String
    /// The octets, each as a character.
    let bytes: String
}

/// What a client has found in a response.
private struct Reading: Decodable, CustomStringConvertible {
    var refused: String?
    var status: Int?
    var fields: Int?
    var body: String?
    var trailers: Int?

    var isRefusal: Bool { refused != nil }

    var description: String {
        if let refused { return "refused: \(refused)" }
        return "\(status ?? 0), \(fields ?? 0) fields, “\(body ?? "")”, \(trailers ?? 0) trailers"
    }

    /// Returns whether two clients have read the same message. Go's leaves out the fields that frame it.
    func isSame(as other: Reading, countingFields: Bool) -> Bool {
        status == other.status && body == other.body
            && (!countingFields || fields == other.fields && trailers == other.trailers)
    }
}

/// A difference from other clients that is intended.
private struct IntendedDifference: Sendable {
    let reason: String
    let isIn: @Sendable (String) -> Bool

    static let all: [IntendedDifference] = [
        IntendedDifference(reason: "chunks in HTTP/1.0 are read, as by libcurl, and the connection is closed") {
            $0.hasPrefix("HTTP/1.0") && $0.contains("Transfer-Encoding: chunked")
        },
        IntendedDifference(reason: "white space around a value is no part of it (RFC 9110, section 5.5)") {
            $0.contains("Transfer-Encoding: \tchunked\t")
        },
        IntendedDifference(reason: "a list of equal lengths is one length (RFC 9110, section 8.6)") {
            $0.contains("Content-Length: 5, 5") || $0.contains("Content-Length: 2,2")
                || $0.contains("Content-Length: 2 , 2") || $0.contains("Content-Length: 02")
        },
        IntendedDifference(reason: "an informational head frames nothing (RFC 9112, section 6.3)") {
            $0.hasPrefix("HTTP/1.1 103 x\r\nContent-Length: 5\r\nTransfer-Encoding: gzip")
        },
        IntendedDifference(reason: "blanks after the size of a chunk are ignored, as by libcurl") {
            $0.contains("006 \r\n") || $0.contains("\r\n2 ;a\r\n")
        },
        IntendedDifference(reason: "lines of chunks and trailers may end with a line feed alone, as for libcurl") {
            $0.contains("Transfer-Encoding: chunked\r\n\r\n")
                && $0.unicodeScalars.indices.contains { [scalars = $0.unicodeScalars] index in
                    scalars[index] == "\n"
                        && (index == scalars.startIndex || scalars[scalars.index(before: index)] != "\r")
                }
        },
        IntendedDifference(reason: "a server may switch protocols only if it was asked") {
            $0.hasPrefix("HTTP/1.1 101")
        },
        IntendedDifference(reason: "a version other than 1.0 and 1.1 is none that was asked for") {
            $0.hasPrefix("HTTP/0.9") || $0.hasPrefix("HTTP/2.0")
        },
        IntendedDifference(reason: "a status line has no control characters that end lines") {
            $0.hasPrefix("HTTP/1.1 200 a\0b") || $0.hasPrefix("HTTP/1.1 200 OK\r\r")
        },
    ]
}

/// Responses are read as Go's client and Node's read them, apart from differences that are intended: the same message where both have read
/// one, and refused only where one of them refuses it, as it is accepted only where one of them accepts it.
///
/// The suite runs where `TRELLIS_TEST_HTTP1_READINGS` names the folder that `.scripts/http1-readings.sh` has written.
@Suite(.enabled(if: PeerReadings.folder != nil))
struct PeerReadingTests {
    private static func readings(_ name: String) throws -> [Reading] {
        try contents(name).split(separator: 10).map { try JSONDecoder().decode(Reading.self, from: $0) }
    }

    private static func contents(_ name: String) throws -> Data {
        try Data(contentsOf: URL(filePath: "\(PeerReadings.folder ?? "")/\(name)"))
    }

    private static func reading(_ response: GivenResponse) -> Reading {
        let bytes = response.bytes.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
        var decoder = HTTP1ResponseDecoder(response.method == "HEAD" ? .isHead : [], limit: 1 << 16)
        var (reading, body, position) = (Reading(), [UInt8](), 0)
        do throws(EngineFailure) {
            while true {
                var event = unsafe try decoder.next(in: bytes.span.bytes, at: &position)
                if case .more = event { event = try decoder.connectionEnded() }
                switch event {
                case .more, .informational, .switched: break
                case .head(let head): (reading.status, reading.fields) = (head.status, head.fields.count)
                case .body(let range): body += bytes[range]
                case .end(let trailers):
                    reading.body = String(String.UnicodeScalarView(body.map { UnicodeScalar($0) }))
                    reading.trailers = trailers.count
                    return reading
                }
            }
        } catch {
            return Reading(refused: "\(error.kind)")
        }
    }

    @Test func goAndNodeReadTheSame() throws {
        let responses = try JSONDecoder().decode([GivenResponse].self, from: Self.contents("responses.json"))
        let (go, node) = (try Self.readings("go"), try Self.readings("node"))
        #expect(responses.count > 400 && go.count == responses.count && node.count == responses.count)
        for (response, (go, node)) in zip(responses, zip(go, node)) {
            let own = Self.reading(response)
            let isAlone = go.isRefusal == node.isRefusal && own.isRefusal != go.isRefusal
            let differs = [(go, false), (node, true)].contains { other, countsFields in
                !own.isRefusal && !other.isRefusal && !own.isSame(as: other, countingFields: countsFields)
            }
            guard isAlone || differs else { continue }
            #expect(
                IntendedDifference.all.contains { $0.isIn(response.bytes) },
                "\(response.bytes.debugDescription): \(own); Go: \(go); Node: \(node)")
        }
    }
}
