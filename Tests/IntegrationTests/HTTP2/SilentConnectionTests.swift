import Foundation
import Synchronization
import TestSupport
import Testing
import Trellis
import TrellisTesting

@testable import CurlEngine

/// A connection that has brought no byte when the time of a request is over gets no further request. The other streams on it go on.
@Suite(.timeLimit(.minutes(3)))
struct SilentConnectionTests {
    /// A server that answers every request but the second one, and the third one after a gate was opened.
    private final class Peer: Sendable {
        /// The numbers of the connections of the requests, in the order in which the requests arrived.
        private let log = Locked<[Int]>([])
        private let connectionCount = Atomic(0)
        let second = LoopbackServer.Gate(), third = LoopbackServer.Gate(), answersThird = LoopbackServer.Gate()

        var connections: [Int] { log.withLock { $0 } }

        func serve(_ connection: LoopbackServer.Connection) throws {
            let number = connectionCount.add(1, ordering: .relaxed).newValue
            let http2 = RawHTTP2(connection: connection)
            var stream = try http2.readRequest()
            while true {
                let request = log.withLock { log in
                    log.append(number)
                    return log.count
                }
                if request == 2 { second.open() }
                if request == 3 {
                    third.open()
                    try connection.wait(for: answersThird)
                }
                let flags = RawHTTP2.endHeaders | RawHTTP2.endStream
                if request != 2 {
                    try connection.write(
                        RawHTTP2.frame(RawHTTP2.headers, flags, stream: stream, RawHTTP2.statusOK))
                }
                stream = try http2.readFurtherRequest()
            }
        }
    }

    private let peer = Peer()
    private let clock = TestClock()
    private let server: LoopbackServer
    private let session: Session
    private let request: Request

    init() throws {
        let peer = peer
        server = try LoopbackServer { try peer.serve($0) }
        session = Session(configuration: Self.configuration, clock: clock)
        request = Request(server.url())
    }

    private static var configuration: SessionConfiguration {
        var configuration = SessionConfiguration()
        configuration.httpVersion = .http2PriorKnowledge
        configuration.engines = .fixed(1)
        configuration.timeouts = Timeouts(responseHead: nil, idle: nil)
        return configuration
    }

    private func send() async throws {
        #expect(try await session.data(request).1.status.code == 200)
    }

    /// Sends a request that is not answered within five seconds. `meanwhile` runs when the server has the request, and the time is over
    /// after it.
    private func lose(_ timeouts: Timeouts, meanwhile: () async throws -> Void) async throws {
        let lost = Task { [session, request] in _ = try await session.data(request.withTimeouts(timeouts)) }
        try await peer.second.opened()
        try await meanwhile()
        clock.move(by: .seconds(5))
        let error = await #expect(throws: TrellisError.self) { try await lost.value }
        #expect(error?.isTimeout == true)
    }

    private func end() async throws {
        await session.shutdown()
        try await server.waitUntilAllClosed()
    }

    private static let limits = [
        Timeouts(idle: nil, total: .seconds(5)), Timeouts(responseHead: nil, idle: .seconds(5)),
        Timeouts(responseHead: .seconds(5), idle: nil),
    ]

    @Test(arguments: limits)
    func aSilentConnectionGetsNoFurtherRequest(_ timeouts: Timeouts) async throws {
        try await send()
        try await lose(timeouts) {}
        peer.answersThird.open()
        try await send()
        try await send()
        let connections = peer.connections
        try #require(connections.count == 4)
        #expect(!connections[2...].contains(connections[1]))
        try await end()
    }

    @Test func aRetryOpensAnotherConnection() async throws {
        var configuration = Self.configuration
        configuration.steps.retriers = [RetryPolicy(retryLimit: 1, exponentialBackoffScale: .zero)]
        let session = Session(configuration: configuration, clock: clock)
        _ = try await session.data(request)
        peer.answersThird.open()
        let retried = Task { [request] in
            try await session.data(
                request.withTimeouts(Timeouts(responseHead: .seconds(5), idle: nil))
            ).1.status.code
        }
        try await peer.second.opened()
        clock.move(by: .seconds(5))
        #expect(try await retried.value == 200)
        let connections = peer.connections
        try #require(connections.count == 3)
        #expect(connections[2] != connections[1])
        await session.shutdown()
        try await end()
    }

    @Test func theOtherStreamsOfASilentConnectionGoOn() async throws {
        try await send()
        let late = Locked<Task<Void, any Error>?>(nil)
        try await lose(Self.limits[0]) {
            let task = Task { try await send() }
            late.withLock { $0 = task }
            try await peer.third.opened()
        }
        try await send()
        peer.answersThird.open()
        try await late.withLock { $0 }?.value
        try await send()
        let connections = peer.connections
        try #require(connections.count == 5)
        #expect(!connections[3...].contains(connections[1]))
        #expect(connections[2] == connections[1])
        #expect(connections[4] == connections[3])
        try await end()
    }

    @Test func aConnectionThatHasBroughtBytesIsUsedAgain() async throws {
        try await send()
        peer.answersThird.open()
        try await lose(Self.limits[0]) {
            clock.move(by: .seconds(1))
            try await send()
        }
        try await send()
        #expect(Set(peer.connections).count == 1)
        try await end()
    }
}
