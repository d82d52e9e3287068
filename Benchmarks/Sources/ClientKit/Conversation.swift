public import FoundationEssentials

/// A WebSocket of a client that is measured.
public protocol Conversation: Sendable {
    /// Sends a binary message.
    func send(_ message: Data) async throws

    /// Returns the next message, which must be binary; `nil` after the last one.
    func receive() async throws -> Data?

    /// Closes the WebSocket, and returns when it has ended.
    func close() async throws
}

/// The WebSocket of a client that is not measured with WebSockets. There is no value of it.
public enum NoConversation: Conversation {
    /// Sends nothing, because there is no value.
    public func send(_ message: Data) async throws {}

    /// Returns nothing, because there is no value.
    public func receive() async throws -> Data? { nil }

    /// Closes nothing, because there is no value.
    public func close() async throws {}
}
