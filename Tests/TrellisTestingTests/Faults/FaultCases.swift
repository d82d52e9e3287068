import FoundationEssentials
import Testing
import Trellis
import TrellisTesting

/// A fault, and the result to which it leads on a mock and over a socket alike.
struct FaultCase: Sendable, CustomTestStringConvertible {
    /// The result of a request.
    enum Result: Hashable, Sendable {
        case text(String)
        case failure(TrellisError.Kind)
    }

    /// The protocols of a server.
    enum Way: String, Sendable { case http, https, http2 }

    let fault: Fault
    let result: Result
    var way = Way.http

    init(_ fault: Fault, _ kind: TrellisError.Kind, over way: Way = .http) {
        (self.fault, result, self.way) = (fault, .failure(kind), way)
    }

    init(_ fault: Fault, gives text: String) { (self.fault, result) = (fault, .text(text)) }

    var testDescription: String { "\(fault) over \(way)" }

    /// The text of the response without a fault.
    static let text = "hello world"

    static let all = connecting + handshakes + exchanges + framing + http2

    private static let connecting = [
        FaultCase(.unresolvedName, .dns), FaultCase(.refusedConnection, .connect),
        FaultCase(.reset(.connecting), .connect), FaultCase(.close(.connecting), .connect),
        FaultCase(.unreachable, .connectTimeout), FaultCase(.latency(.milliseconds(1), .connecting), gives: text),
    ]

    private static let handshakes =
        [
            FaultCase(.tls(.handshake), .tls, over: .https), FaultCase(.tls(.version), .tls, over: .https),
            FaultCase(.tls(.clientCertificateRequired), .tls, over: .https),
            FaultCase(.reset(.handshake), .tls, over: .https), FaultCase(.close(.handshake), .tls, over: .https),
            FaultCase(.silence(.handshake), .connectTimeout, over: .https),
        ] + CertificateFlaw.allCases.map { FaultCase(.tls(.certificate($0)), .untrusted, over: .https) }

    private static let exchanges = [
        FaultCase(.reset(.requestHead), .receive), FaultCase(.close(.requestHead), .receive),
        FaultCase(.silence(.requestHead), .responseTimeout),
        FaultCase(.reset(.requestBody(after: 3)), .receive), FaultCase(.close(.requestBody(after: 3)), .receive),
        FaultCase(.silence(.requestBody(after: 3)), .responseTimeout),
        FaultCase(.reset(.requestBody(after: 100)), gives: text),
        FaultCase(.reset(.responseHead), .receive), FaultCase(.close(.responseHead), .receive),
        FaultCase(.silence(.responseHead), .responseTimeout),
        FaultCase(.latency(.milliseconds(1), .responseHead), gives: text),
        FaultCase(.reset(after: 5), .receive), FaultCase(.truncation(after: 5), .truncatedBody),
        FaultCase(.truncation(after: 0), .truncatedBody), FaultCase(.stall(after: 5), .idleTimeout),
        FaultCase(.truncation(after: 11), gives: text), FaultCase(.truncation(after: 5), .truncatedBody, over: .https),
        FaultCase(.reset(after: 5), .receive, over: .https),
        FaultCase(.reset(.end), .receive), FaultCase(.close(.end), .truncatedBody),
        FaultCase(.silence(.end), .idleTimeout),
        FaultCase(.drip(bytes: 4, every: .milliseconds(1)), gives: text),
    ]

    private static let framing = [
        FaultCase(.framing(.statusLine), .malformedResponse), FaultCase(.framing(.fieldLine), .malformedResponse),
        FaultCase(.framing(.contentLengths), .malformedResponse),
        FaultCase(.framing(.chunkSize(after: 5)), .malformedResponse),
        FaultCase(.framing(.chunkSize(after: 100)), .malformedResponse),
        FaultCase(.framing(.lengthTooLarge(by: 4)), .truncatedBody),
        FaultCase(.framing(.lengthTooSmall(by: 4)), gives: "hello w"),
    ]

    private static let http2 = [
        FaultCase(.http2(.resetStream(.internalError)), .http2, over: .http2),
        FaultCase(.http2(.resetStream(.protocolError, afterBodyBytes: 5)), .http2, over: .http2),
        FaultCase(.silence(.responseHead), .responseTimeout, over: .http2),
        FaultCase(.stall(after: 5), .idleTimeout, over: .http2),
    ]
}

/// The result of a request with a fault, with the properties of its error.
struct FaultOutcome: Hashable, Sendable {
    var result: FaultCase.Result
    var isRetryable = false
    var isTimeout = false
    var isConnectionFailure = false
    var mayHaveSentBytes = false

    /// Waits for the text of a response.
    init(_ text: () async throws -> String) async throws {
        do {
            result = .text(try await text())
        } catch let error as TrellisError {
            result = .failure(error.kind)
            isRetryable = error.isRetryable
            isTimeout = error.isTimeout
            isConnectionFailure = error.isConnectionFailure
            mayHaveSentBytes = error.mayHaveSentBytes
        }
    }
}
