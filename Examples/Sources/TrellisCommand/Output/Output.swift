import Trellis

/// An output for a response, which arrives part by part.
protocol Output: Sendable {
    /// Receives the head of the response, after the heads of the earlier responses on the way to it, each with an empty line.
    mutating func begin(_ head: Response, after earlier: String) async throws

    /// Receives the heads of the responses on the way to one that did not come, each with an empty line. The failure follows.
    mutating func end(after earlier: String) async throws

    /// Receives bytes of the body. Returns `false` if no more bytes are needed.
    mutating func chunk(_ bytes: Data) async throws -> Bool

    /// Receives an item of the body, instead of bytes.
    mutating func item(_ item: StreamItem) async throws

    /// Receives the beginning of the body of a response that is not accepted, instead of the body. The failure follows.
    mutating func refuse(_ beginning: Data) async throws

    /// Ends the output. Called after a success and after a failure.
    mutating func end(_ outcome: Outcome) async throws
}

/// The end of the reader of the output, which is a reason to stop, but not a failure.
struct ReaderHasGone: Error {}
