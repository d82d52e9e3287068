import FoundationEssentials

/// An incremental parser of a body, independent of how the body is cut into chunks. Performs no I/O: chunks in, elements out.
protocol IncrementalParser {
    /// The type of the elements.
    associatedtype Output

    /// Adds the next chunk. Called only after ``next()`` has returned `nil`.
    mutating func append(_ chunk: Data)

    /// Returns the next complete element; `nil` if more bytes are needed.
    ///
    /// - Throws: The error of an invalid element. No method is called after an error.
    mutating func next() throws -> Output?

    /// Returns the next of the last elements, after the end of the body; `nil` after all of them.
    mutating func finish() throws -> Output?
}
