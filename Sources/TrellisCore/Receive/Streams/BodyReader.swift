import FoundationEssentials

/// A reader of a body through a ``IncrementalParser``. After an error and after the end, the reader releases the body, which ends the
/// transfer, and returns no more elements.
struct BodyReader<Machine: IncrementalParser>: BufferedIterator {
    typealias Element = Machine.Output

    /// The number of elements between two checks for the cancellation of the task, which are not free.
    private static var elementsPerCheck: Int { 8 }

    private(set) var machine: Machine
    /// The iterator over the body; `nil` if the body has been released or has ended.
    private var chunks: ResponseBody.Iterator?
    /// The iterator over a body that has ended, and whose parser may have last elements, for their errors; `nil` otherwise.
    private var ended: ResponseBody.Iterator?
    private var elementsUntilCheck = 0

    init(_ machine: Machine, _ body: ResponseBody) {
        self.machine = machine
        chunks = body.makeAsyncIterator()
    }

    mutating func take() throws -> Machine.Output? {
        do {
            if chunks == nil { return ended != nil ? try machine.finish() : nil }
            if elementsUntilCheck == 0 {
                // The caller reads the body next, which throws in a cancelled task.
                if Task.isCancelled { return nil }
                elementsUntilCheck = Self.elementsPerCheck
            }
            elementsUntilCheck -= 1
            return try machine.next()
        } catch {
            throw end(error)
        }
    }

    mutating func feed() async throws -> Bool {
        elementsUntilCheck = 0
        do {
            // After the last elements there are no more.
            guard chunks != nil else {
                ended = nil
                return false
            }
            if let chunk = try await chunks?.next() {
                machine.append(chunk)
            } else {
                ended = chunks
                chunks = nil
            }
            return true
        } catch {
            throw end(error)
        }
    }

    /// Releases the body because of an error, and returns the error with the request and the response of the body.
    @inline(never)
    private mutating func end(_ error: any Error) -> any Error {
        let completed = completed(error)
        close()
        return completed
    }

    /// Returns an error about the body with its request and its response, unless the body has been released.
    func completed(_ error: any Error) -> any Error { (chunks ?? ended)?.completed(error) ?? error }

    /// Releases the body, which ends the transfer; there are no more elements.
    mutating func close() {
        chunks = nil
        ended = nil
    }
}

extension BodyReader: Sendable where Machine: Sendable {}

extension BodyReader where Machine.Output == RawElement {
    /// Returns the next value from the bytes received so far, decoded on demand in the reader's task. An element that cannot be
    /// decoded ends the transfer.
    ///
    /// Inlined if the type of the parser is known, so that the code that finds the elements is not generic, even if the value is.
    @inline(__always)
    mutating func take<Value>(_ decoder: ElementDecoder<Value>) throws -> Value? {
        while let element = try take() {
            do {
                if let value = try decoder.decode(element) { return value }
            } catch {
                throw end(error)
            }
        }
        return nil
    }
}

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
