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
