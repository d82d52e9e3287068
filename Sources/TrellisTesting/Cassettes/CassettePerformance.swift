import CurlEngine
import FoundationEssentials
import HTTPTypes
@_spi(Transport) import TrellisCore
import TrellisDiagnostics

/// The performance of one attempt: the replay of a recording, or an exchange that is recorded.
struct CassettePerformance: Sendable {
    let exchange: CassetteExchange
    let tape: CassetteTape
    let upstream: CassetteUpstream

    private var cassette: Cassette { tape.cassette }
    private var request: TransportRequest { exchange.request }

    /// Plays the attempt, and returns its end.
    func run() async throws -> TransportEnd {
        guard !request.wire.switchesProtocols else {
            throw TransportFailure(noWebSocketsOf: "a cassette")
        }
        let body = try await exchange.requestBody()
        let asked = tape.scrubbed(
            HARMessages.request(
                method: request.method, url: request.wire.url.canonicalText, headers: request.headers, body: body))
        do {
            try await tape.open()
            switch try tape.answer(to: asked, in: exchange) {
            case .recording(let entry): return try await replay(entry)
            case .record(let number): return try await record(asked, body, as: number)
            }
        } catch let error as CassetteError {
            throw TransportFailure(.other("\(error)"))
        }
    }

    // MARK: Replay

    private func replay(_ entry: HARDocument.Entry) async throws -> TransportEnd {
        let replay = entry.replay ?? HARDocument.Replay()
        guard entry.response.status != 0 else {
            if replay.failure?.isConnected ?? true { exchange.connect() }
            let reason = entry.response.error ?? "the recording has no response"
            throw replay.failure.map(CassetteFailure.failure) ?? TransportFailure(.other(reason))
        }
        exchange.connect()
        try await wait(entry.timings.wait)
        for head in replay.informational ?? [] {
            let fields = HARMessages.fields(head.headers)
            try await exchange.receiveInformational(
                ResponseHead(status: .init(code: min(max(head.status, 100), 199)), headers: fields))
        }
        let head = HARMessages.head(of: entry.response)
        try await exchange.receive(received(head, isCoded: replay.isCoded ?? false))
        let content = entry.response.content
        guard let body = HARMessages.bytes(of: content.text ?? "", encoding: content.encoding) else {
            throw TransportFailure(.other("the recorded body of \(entry.request.url) is not Base64"))
        }
        // A browser keeps a body of its cache with a response of status 304.
        if request.allowsBody(of: head) { try await receive(body, in: replay.chunks ?? []) }
        if replay.isCut == true {
            let request = "\(entry.request.method) \(entry.request.url)"
            throw CassetteError.cut(request: request, command: cassette.command(.all))
        }
        if let failure = replay.failure { throw CassetteFailure.failure(failure) }
        var report = TransportReport()
        report.bytesReceived = entry.response.transferSize ?? Int64(body.count)
        return TransportEnd(trailers: HARMessages.fields(replay.trailers ?? []), report: report)
    }

    /// Returns a head as the session receives it, in a replay and while it is recorded. A session that removes content codings itself
    /// receives a body that has none, because recorded bodies do not.
    ///
    /// - Parameter isCoded: Whether the recorded body has its codings, because they cannot be removed.
    private func received(_ head: ResponseHead, isCoded: Bool) -> ResponseHead {
        guard !request.wire.decodesContent, !isCoded, request.allowsBody(of: head),
            head.headers.contains(.contentEncoding)
        else { return head }
        var headers = head.headers
        headers[.contentEncoding] = nil
        headers[.contentLength] = nil
        return ResponseHead(status: head.status, headers: headers, version: head.version)
    }

    /// Delivers a body in chunks of the lengths that were recorded. A scrubber may have changed the length of the whole.
    private func receive(_ body: Data, in chunks: [[Double]]) async throws {
        var rest = body
        for chunk in chunks where chunk.count == 2 {
            try await wait(chunk[0])
            let length = Int(min(max(chunk[1], 0), Double(rest.count)))
            try await exchange.receive(rest.prefix(length))
            rest = rest.dropFirst(length)
        }
        try await exchange.receive(rest)
    }

    /// Waits on the clock of the cassette, if there is one.
    private func wait(_ milliseconds: Double) async throws {
        guard let clock = cassette.clock, milliseconds > 0, milliseconds < 1e12 else { return }
        try await clock.sleep(for: .milliseconds(milliseconds))
    }

    // MARK: Recording

    /// Sends a request, passes the response on as it arrives, and records both.
    private func record(
        _ asked: HARDocument.Request, _ body: Data?, as number: Int
    ) async throws -> TransportEnd {
        defer { tape.end(number) }
        var recording = CassetteRecording(asked)
        do {
            let relayed = request.relayed(body, exchange.requestTrailers)
            let stream = try await upstream.stream(relayed) { [exchange] in exchange.connect() }
            exchange.connect()
            tape.noteCredentials(of: stream.response)
            recording.begin(stream.response)
            for head in stream.response.informational { try await exchange.receiveInformational(head) }
            try await exchange.receive(received(stream.response.head, isCoded: recording.isCoded))
            for try await chunk in stream.chunks { try await pass(chunk, &recording) }
            try recording.finishDecoding()
            let end = try await stream.finalResponse()
            recording.end(end)
            if !end.trailers.isEmpty { tape.noteCredentials(of: end) }
            try await tape.record(recording.entry(cassette), as: number)
            return TransportEnd(trailers: end.trailers, report: recording.report)
        } catch {
            // The reader has left, or the transport ends: a replay needs what was read.
            if exchange.isCancelled || error is CancellationError || (error as? TrellisError)?.isCancellation == true {
                guard recording.hasResponse else { throw error }
                recording.cut()
                try await tape.record(recording.entry(cassette), as: number)
                throw error
            }
            guard let failure = error as? TrellisError else { throw error }
            recording.fail(failure)
            if recording.isConnected { exchange.connect() }
            try await tape.record(recording.entry(cassette), as: number)
            throw TransportFailure(failure.reason)
        }
    }

    /// Records a chunk without its content codings, and passes it on as a replay does.
    private func pass(_ chunk: Data, _ recording: inout CassetteRecording) async throws {
        try await exchange.receive(try recording.append(chunk))
    }
}

extension TransportRequest {
    /// Returns the request for another session.
    fileprivate func relayed(_ body: Data?, _ trailers: HTTPFields?) -> Request {
        var fields = headers
        // The body is complete, so that nothing is to be waited for.
        fields[.expect] = nil
        if wire.decodesContent, !fields.contains(.acceptEncoding) {
            fields[.acceptEncoding] = TrellisRuntime.contentCodings.joined(separator: ", ")
        }
        var request = Request(url, method: method, headers: fields, body: body.map { .data($0) })
        request.sendsURLUnchanged = source.sendsURLUnchanged
        request.httpVersion = source.httpVersion
        if let trailers { request.trailers = { trailers } }
        return request
    }
}
