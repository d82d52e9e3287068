import FoundationEssentials

/// A reader of a body through a ``IncrementalParser``. After an error and after the end, the reader releases the body, which ends the
/// transfer, and returns no more elements.
struct BodyReader<Machine: IncrementalParser>: BufferedIterator {
    typealias Element = Machine.Output

    /// The number of elements between two checks for the cancellation of the task, which are not free.
    private static var elementsPerCheck: Int { 8 }

    private(set) var machine: Machine
    /// The iterator over the body; `nil` if the body has been released.
    private var chunks: ResponseBody.Iterator?
    /// Indicates whether the body has ended, and the parser may have last elements.
    private var isFinishing = false
    private var elementsUntilCheck = 0

    init(_ machine: Machine, _ body: ResponseBody) {
        self.machine = machine
        chunks = body.makeAsyncIterator()
    }

    mutating func take() throws -> Machine.Output? {
        do {
            if chunks == nil { return isFinishing ? try machine.finish() : nil }
            if elementsUntilCheck == 0 {
                // The caller reads the body next, which throws in a cancelled task.
                if Task.isCancelled { return nil }
                elementsUntilCheck = Self.elementsPerCheck
            }
            elementsUntilCheck -= 1
            return try machine.next()
        } catch {
            close()
            throw error
        }
    }

    mutating func feed() async throws -> Bool {
        elementsUntilCheck = 0
        do {
            // After the last elements there are no more.
            guard chunks != nil else {
                isFinishing = false
                return false
            }
            if let chunk = try await chunks?.next() {
                machine.append(chunk)
            } else {
                close()
                isFinishing = true
            }
            return true
        } catch {
            close()
            throw error
        }
    }

    /// Releases the body, which ends the transfer; there are no more elements.
    mutating func close() {
        chunks = nil
        isFinishing = false
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
                close()
                throw error
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
