import Trellis

/// Where an answer goes, part by part.
protocol Output: Sendable {
    /// The head has come.
    mutating func begin(_ head: Response) async throws

    /// Bytes of the body; `false` when no more are wanted.
    mutating func chunk(_ bytes: Data) async throws -> Bool

    /// An item of the body, instead of bytes.
    mutating func item(_ item: StreamItem) async throws

    /// The response is not accepted: how its body begins, instead of the body. The failure itself follows.
    mutating func refuse(_ beginning: Data) async throws

    /// It is over. Called whatever happened.
    mutating func end(_ outcome: Outcome) async throws
}

/// Nobody reads standard output any more: a reason to stop, but no failure.
struct ReaderHasGone: Error {}
