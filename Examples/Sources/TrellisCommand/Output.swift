import Trellis

/// An output for a response, which comes part by part.
protocol Output: Sendable {
    /// Takes the head of the response.
    mutating func begin(_ head: Response) async throws

    /// Takes bytes of the body. Returns `false` if no more are wanted.
    mutating func chunk(_ bytes: Data) async throws -> Bool

    /// Takes an item of the body, instead of bytes.
    mutating func item(_ item: StreamItem) async throws

    /// Takes the beginning of the body of a response that is not accepted, instead of the body. The failure follows.
    mutating func refuse(_ beginning: Data) async throws

    /// Ends the output. Called after a success and after a failure.
    mutating func end(_ outcome: Outcome) async throws
}

/// The end of the reader of the output: a reason to stop, but not a failure.
struct ReaderHasGone: Error {}
