import FoundationEssentials

/// Makes elements of the chunks of a body, however it is cut: chunks in, elements out. A pure machine.
protocol BodyMachine {
    /// What it makes.
    associatedtype Output

    /// Adds the next chunk. Called only when ``next()`` has returned `nil`.
    mutating func append(_ chunk: Data)

    /// The next element that is complete, `nil` where more bytes are needed.
    ///
    /// - Throws: What is wrong with the element. Nothing is called after it.
    mutating func next() throws -> Output?

    /// The next of the last elements, when no more bytes come; `nil` after all of them.
    mutating func finish() throws -> Output?
}
