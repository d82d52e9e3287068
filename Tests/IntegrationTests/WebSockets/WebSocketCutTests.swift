import Foundation
import Testing
import Trellis
import TrellisTesting

/// WebSockets through a proxy that cuts the connection: in the head of the tunnel, in the handshake, within a frame, and between frames.
@Suite(.timeLimit(.minutes(3)))
struct WebSocketCutTests {
    /// The ways in which a proxy cuts.
    static let endings = [Ending.close, .reset]

    /// A proxy that opens a tunnel, and plays the server behind it.
    private static func proxy(
        _ script: @escaping @Sendable (LoopbackServer.Connection, LoopbackServer.ReceivedRequest) throws -> Void
    ) throws -> LoopbackServer {
        try LoopbackServer { connection in
            guard try connection.readHead() != nil else { return }
            try connection.write("HTTP/1.1 200 OK\r\n\r\n")
            guard let request = try connection.readHead() else { return }
            try script(connection, request)
        }
    }

    /// Opens a WebSocket through the proxy.
    private static func open(_ session: Session) async throws -> WebSocket {
        try await session.webSocket("ws://far.invalid/")
    }

    private static func finish(_ session: Session, _ proxy: LoopbackServer) async throws {
        while await session.liveRequestCount > 0, !Task.isCancelled { await Task.yield() }
        await session.shutdown()
        try await proxy.waitUntilAllClosed()
    }

    @Test(arguments: HostileProxyTests.halves, endings)
    func inTheHeadOfTheTunnel(_ half: String, _ ending: Ending) async throws {
        let proxy = try LoopbackServer { connection in
            _ = try connection.readHead()
            try connection.write(half)
            ending.apply(to: connection)
        }
        let session = Session(configuration: try ProxyPeer.configuration(proxy))
        let error = await expectFailure([.proxy]) { try await Self.open(session) }
        // The handshake was not sent to the server.
        #expect(error?.mayHaveSentBytes == false && error?.isConnectionFailure == true)
        try await Self.finish(session, proxy)
    }

    @Test(
        arguments: ["", "H", "HTTP/1.1 101", "HTTP/1.1 101 Yes\r\n", "HTTP/1.1 101 Yes\r\nUpgrade: websocket\r\n"],
        endings)
    func inTheHandshake(_ half: String, _ ending: Ending) async throws {
        let proxy = try Self.proxy { connection, _ in
            try connection.write(half)
            ending.apply(to: connection)
        }
        let session = Session(configuration: try ProxyPeer.configuration(proxy))
        let error = await expectFailure([.receive, .malformedResponse]) { try await Self.open(session) }
        #expect(error?.mayHaveSentBytes == true && error?.response == nil)
        try await Self.finish(session, proxy)
    }

    /// The bytes before a cut, by their names.
    static let beginnings: [(String, [UInt8])] = [
        ("between two frames", []), ("in the head of a frame", [0x81]), ("in a long length", [0x82, 127, 0, 0]),
        ("before a payload", [0x81, 2]), ("in a payload", [0x81, 5, 0x68, 0xC3]),
        ("between two fragments", [0x01, 1, 0x61]), ("in the last fragment", [0x01, 1, 0x61, 0x80, 2, 0x62]),
        ("in a compressed payload", [0xC1, 7, 0xF2, 0x48]), ("in a ping", [0x89, 4, 0x61]),
        ("in a Close frame", [0x88, 2, 3]),
    ]

    /// The messages before the cut are received, and then an error, which every later call gets too.
    @Test(arguments: beginnings, endings)
    func afterAMessage(_ beginning: (String, [UInt8]), _ ending: Ending) async throws {
        let proxy = try Self.proxy { connection, request in
            let peer = try connection.acceptWebSocket(
                request, headers: [("Sec-WebSocket-Extensions", "permessage-deflate")])
            try peer.send("first")
            _ = try peer.receive()
            try connection.write(beginning.1)
            ending.apply(to: connection)
        }
        let session = Session(configuration: try ProxyPeer.configuration(proxy))
        let socket = try await Self.open(session)
        let error = try await expectLossAfterFirst(socket)
        for _ in 0..<2 {
            let later = await expectFailure([.webSocket]) { try await socket.receive() }
            #expect(later?.reason == error?.reason)
        }
        let late = await expectFailure([.webSocket]) { try await socket.send("late") }
        #expect(late?.reason == error?.reason)
        try await socket.close()
        try await Self.finish(session, proxy)
    }

    /// A connection that ends after its Close frame was not cut.
    @Test(arguments: endings)
    func afterTheCloseFrame(_ ending: Ending) async throws {
        let proxy = try Self.proxy { connection, request in
            let peer = try connection.acceptWebSocket(request)
            try peer.send(LoopbackServer.WebSocketFrame(0x88, [3, 0xE8]))
            // The client's own Close frame.
            _ = try peer.receiveFrame()
            ending.apply(to: connection)
        }
        let session = Session(configuration: try ProxyPeer.configuration(proxy))
        let socket = try await Self.open(session)
        let last = try await socket.receive()
        #expect(last == nil && socket.closeCode == .normalClosure)
        try await socket.close()
        try await Self.finish(session, proxy)
    }

    /// A task that waits for room is told.
    @Test(arguments: endings)
    func whileMessagesAreSent(_ ending: Ending) async throws {
        let proxy = try Self.proxy { connection, request in
            _ = try connection.acceptWebSocket(request)
            _ = try connection.read(exactly: 100_000)
            ending.apply(to: connection)
        }
        let session = Session(configuration: try ProxyPeer.configuration(proxy))
        let socket = try await Self.open(session)
        let error = await expectFailure([.webSocket]) {
            while true { try await socket.send(Data(count: 1 << 20)) }
        }
        expectLoss(error)
        await expectFailure([.webSocket]) { try await socket.receive() }
        #expect(socket.closeCode == .abnormalClosure)
        try await socket.close()
        try await Self.finish(session, proxy)
    }

    /// A sequence of connections continues after each cut.
    @Test(arguments: endings)
    func aSequenceOpensTheNextConnection(_ ending: Ending) async throws {
        let proxy = try Self.proxy { connection, request in
            let peer = try connection.acceptWebSocket(request)
            try peer.send("hello")
            _ = try peer.receive()
            try connection.write([0x81])
            ending.apply(to: connection)
        }
        let session = Session(configuration: try ProxyPeer.configuration(proxy))
        let delay = Duration.milliseconds(1)
        let rules = ReconnectionPolicy(initialDelay: delay, minimumDelay: delay, maximumBackoff: delay)
        var count = 0
        for try await socket in session.reconnectingWebSockets("ws://far.invalid/", reconnecting: rules) {
            let greeting = try await socket.receive()
            #expect(greeting == .text("hello"))
            count += 1
            if count == 3 {
                try await socket.close()
                break
            }
            try await socket.send("next")
            await expectFailure([.webSocket]) { try await socket.receive() }
        }
        #expect(proxy.requests.filter { $0.method == "GET" }.count == 3)
        try await Self.finish(session, proxy)
    }
}
