import CurlEngine
import FoundationEssentials
import HTTPTypes
@_spi(Transport) import TrellisCore
import TrellisDiagnostics

/// An exchange that is being recorded.
struct CassetteRecording: Sendable {
    private let request: HARDocument.Request
    private let started = Date()
    private let start = ContinuousClock.now
    private var head: ResponseHead?
    private var headInstant = ContinuousClock.now
    private var lastInstant = ContinuousClock.now
    private var decoder: BodyDecoder?
    /// Whether the body is recorded with its content codings, because they cannot be removed.
    private(set) var isCoded = false
    /// The body without its content codings, unless it ``isCoded``.
    private var body = Data()
    private var chunks: [[Double]] = []
    private var replay = HARDocument.Replay()
    private var receivedBytes: Int64?
    private var error: String?

    /// The measurements of the transport.
    private(set) var report = TransportReport()

    /// Creates the recording of a request.
    init(_ request: HARDocument.Request) { self.request = request }

    /// Whether the head of a response has been received.
    var hasResponse: Bool { head != nil }

    /// Whether the request was being sent when the exchange failed.
    var isConnected: Bool { replay.failure?.isConnected ?? false }

    /// Records the head of the response.
    mutating func begin(_ response: Response) {
        head = response.head
        headInstant = .now
        lastInstant = headInstant
        if !response.informational.isEmpty {
            replay.informational = response.informational.map {
                HARDocument.Replay.Head(status: $0.status.code, headers: HARMessages.fields($0.headers))
            }
        }
        let codings = response.headers[values: .contentEncoding].flatMap { $0.split(atByte: ",") }
            .map(\.withoutBlanks)
        // A body with codings that cannot be removed is recorded as it is.
        decoder = codings.isEmpty ? nil : BodyDecoder(codings: codings)
        isCoded = !codings.isEmpty && decoder == nil
        if isCoded { replay.isCoded = true }
    }

    /// Records a chunk of the body, and returns it without its content codings, unless it ``isCoded``.
    ///
    /// - Throws: ``TrellisError`` if the body does not conform to its codings.
    mutating func append(_ chunk: Data) throws -> Data {
        let decoded = try decode(chunk)
        body.append(decoded)
        chunks.append([milliseconds(from: lastInstant), Double(decoded.count)])
        lastInstant = .now
        return decoded
    }

    private func decode(_ chunk: Data) throws -> Data {
        guard let decoder else { return chunk }
        do {
            var decoded = try decoder.decode(chunk) ?? Data()
            while let piece = try decoder.next() { decoded.append(piece) }
            return decoded
        } catch {
            throw Self.failure(error)
        }
    }

    /// Checks that the coded body is complete.
    func finishDecoding() throws {
        do { try decoder?.finish() } catch { throw Self.failure(error) }
    }

    private static func failure(_ error: any Error) -> TrellisError {
        let reason = (error as? ContentDecoder.Failure)?.message ?? "\(error)"
        return TrellisError(.invalidResponse(.contentCoding(reason)), phase: .receiving)
    }

    /// Records the end of a complete response.
    mutating func end(_ response: Response) {
        if !response.trailers.isEmpty { replay.trailers = HARMessages.fields(response.trailers) }
        take(response.metrics)
    }

    /// Records the failure of the exchange.
    mutating func fail(_ error: TrellisError) {
        replay.failure = CassetteFailure.recorded(error)
        self.error = "\(error.reason)"
        take(error.metrics)
    }

    /// Records that the reader has left before the end of the body.
    mutating func cut() {
        replay.isCut = true
        error = "the reader left"
    }

    private mutating func take(_ metrics: Metrics) {
        receivedBytes = metrics.bytesReceived
        report.bytesReceived = metrics.bytesReceived
        report.bytesSent = metrics.bytesSent
    }

    /// Returns the recording, without what the scrubbers remove.
    func entry(_ cassette: Cassette) -> HARDocument.Entry {
        var response = head.map(HARMessages.response) ?? HARDocument.Response()
        if head != nil { response.setBody(body, size: body.count) } else { response.content.size = 0 }
        response.transferSize = receivedBytes
        response.error = error.map { cassette.scrubbed($0) }
        var entry = HARDocument.Entry(
            startedDateTime: started.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)),
            request: request, response: cassette.scrubbed(response))
        entry.request.httpVersion = response.httpVersion
        entry.timings.wait = milliseconds(from: start, to: head == nil ? .now : headInstant)
        entry.timings.receive = head == nil ? 0 : milliseconds(from: headInstant, to: lastInstant)
        entry.time = entry.timings.sum
        var replay = scrubbedReplay(cassette)
        if !chunks.isEmpty { replay.chunks = chunks }
        if replay != HARDocument.Replay() { entry.replay = replay }
        return entry
    }

    /// Returns the section for a replay, without what the scrubbers remove.
    private func scrubbedReplay(_ cassette: Cassette) -> HARDocument.Replay {
        var replay = replay
        replay.informational = replay.informational?.map { head in
            HARDocument.Replay.Head(
                status: head.status, headers: cassette.scrubbed(head.headers, status: head.status))
        }
        replay.trailers = replay.trailers.map { cassette.scrubbed($0, status: head?.status.code ?? 0) }
        if let reason = replay.failure?.reason { replay.failure?.reason = cassette.scrubbed(reason) }
        return replay
    }

    /// Returns a time in milliseconds, with three decimals.
    private func milliseconds(
        from start: ContinuousClock.Instant, to end: ContinuousClock.Instant = .now
    ) -> Double {
        let (seconds, attoseconds) = start.duration(to: end).components
        return Double(seconds * 1_000_000 + attoseconds / 1_000_000_000_000) / 1000
    }
}
