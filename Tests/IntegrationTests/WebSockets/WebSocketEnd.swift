import Testing
import Trellis

/// Receives the first message of a peer's `/close/CODE`, expects the end of the conversation with that code, and closes the connection.
func expectEnd(_ socket: WebSocket, _ code: UInt16) async throws {
    let first = try await socket.receive()
    #expect(first == .text("first"))
    if code <= 1001 {
        let last = try await socket.receive()
        #expect(last == nil)
    } else {
        let error = await expectFailure([.webSocket]) { try await socket.receive() }
        #expect(error?.reason == .webSocketFailed(.closed(code: WebSocketCloseCode(rawValue: code), reason: "why")))
    }
    #expect(socket.closeCode?.rawValue == code && socket.closeReason == "why")
    try await socket.close()
}

/// Expects the error of a WebSocket whose connection has ended without a Close frame.
func expectLoss(_ error: TrellisError?, sourceLocation: SourceLocation = #_sourceLocation) {
    guard case .webSocketFailed(.lost(_))? = error?.reason else {
        Issue.record("\(String(describing: error))", sourceLocation: sourceLocation)
        return
    }
}

/// Receives the first message of a peer, sends the second one, and expects the loss of the connection. Returns its error.
func expectLossAfterFirst(_ socket: WebSocket) async throws -> TrellisError? {
    let first = try await socket.receive()
    #expect(first == .text("first"))
    try await socket.send("second")
    let error = await expectFailure([.webSocket]) { try await socket.receive() }
    expectLoss(error)
    #expect(socket.closeCode == .abnormalClosure)
    return error
}
