import FoundationEssentials
import HTTPTypes

@testable import TrellisCore
@testable import TrellisTesting
@testable import TrellisWebSockets

/// A connection whose other side is the test.
final class MockConnection: DuplexConnection {
    struct State: Sendable {
        /// The bytes of the peer that were not read yet.
        var incoming: [Data] = []
        /// The end of the peer's bytes: orderly, or with an error.
        var end: Result<Void, TrellisError>?
        var readCount = 0
        /// Whether a reader waits.
        var hasReader = false
        /// The closure that is called when there is something to read.
        var onReadable: (@Sendable () -> Void)?
        /// Whether bytes are waited for.
        var isRead: Bool { hasReader || onReadable != nil }
        var isReadable: Bool { !incoming.isEmpty || end != nil || isClosed }

        /// Returns the next bytes; `nil` if there is nothing to read.
        mutating func next() -> Result<Data?, any Error>? {
            if isClosed { return .failure(TrellisError(.cancelled(.explicitly))) }
            if !incoming.isEmpty {
                readCount += 1
                return .success(incoming.removeFirst())
            }
            return end.map { end in end.map { nil }.mapError { $0 } }
        }
        var written: [UInt8] = []
        /// Whether writers wait, because the peer reads nothing.
        var isFull = false
        var waitingWriters = 0
        /// Whether readers and writers wait at all.
        var waits = true
        var farewell: Data?
        var isClosed = false
    }

    let state = LoopbackServer.Waiters(State())

    // MARK: The side of the framework

    func waitForBytes() async throws -> Data? {
        try Task.checkCancellation()
        state.update { ($0.hasReader, $0.onReadable) = (true, nil) }
        defer { state.update { $0.hasReader = false } }
        while true {
            try await state.wait { $0.isReadable || !$0.waits }
            // A reader that got bytes does not wait for more.
            let next = state.update { state in
                let next = state.next()
                if next != nil { state.hasReader = false }
                return next
            }
            if let next { return try next.get() }
            if !state.value.waits { return Data() }
        }
    }

    func readAvailable() throws -> Data? { try state.update { $0.next() ?? .success(Data()) }.get() }

    func whenReadable(_ body: @escaping @Sendable () -> Void) {
        state.update { $0.onReadable = body }
        tellReader()
    }

    private func tellReader() {
        let body = state.update { state in
            state.isReadable && !state.hasReader ? state.onReadable.take() : nil
        }
        body?()
    }

    func send(_ bytes: Data) throws -> Bool {
        try state.update { state in
            guard !state.isClosed else {
                return Result<Bool, TrellisError>.failure(TrellisError(.cancelled(.explicitly)))
            }
            state.written += bytes
            return .success(!state.isFull || !state.waits)
        }.get()
    }

    func waitForRoom() async throws {
        state.update { $0.waitingWriters += 1 }
        defer { state.update { $0.waitingWriters -= 1 } }
        try await state.wait { !$0.isFull || !$0.waits || $0.isClosed }
        if state.value.isClosed { throw TrellisError(.cancelled(.explicitly)) }
    }

    func endWaits() { state.update { $0.waits = false } }

    func setFarewell(_ bytes: Data?) { state.update { $0.farewell = bytes } }

    func close() {
        state.update { $0.isClosed = true }
        tellReader()
    }

    // MARK: The side of the test

    /// Sends bytes as the peer, each list as one chunk.
    func send(_ chunks: [UInt8]...) {
        state.update { $0.incoming += chunks.map { Data($0) } }
        tellReader()
    }

    /// Ends the peer's bytes.
    func end(_ end: Result<Void, TrellisError> = .success(())) {
        state.update { $0.end = end }
        tellReader()
    }

    func setFull(_ isFull: Bool) { state.update { $0.isFull = isFull } }

    /// The frames that were written so far.
    var frames: [ClientFrame] { ClientFrame.all(in: state.value.written) }

    /// Waits until as many frames were written, and returns them.
    func frames(_ count: Int) async throws -> [ClientFrame] {
        while true {
            try await state.wait { ClientFrame.all(in: $0.written).count >= count }
            // A frame that is being written hides the frames before it.
            if case let frames = frames, frames.count >= count { return frames }
        }
    }

    func waitUntilClosed() async throws { try await state.wait { $0.isClosed } }

    /// Waits until all bytes of the peer are read, and a reader waits for more.
    func waitUntilRead() async throws { try await state.wait { $0.incoming.isEmpty && $0.isRead } }

    func waitForWriters(_ count: Int) async throws { try await state.wait { $0.waitingWriters == count } }
}

extension MockConnection {
    /// Returns the response that accepts a handshake on the connection (RFC 6455, section 4.2.2).
    func acceptance(of request: TransportRequest) -> MockResponse {
        let accept = WebSocketKey.accept(request.headers[.secWebSocketKey] ?? "")
        return MockResponse(
            switchingTo: self,
            headers: [.upgrade: "websocket", .connection: "Upgrade", .secWebSocketAccept: accept]
        ) { [self] in try await waitUntilClosed() }
    }
}
