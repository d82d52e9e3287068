import FoundationEssentials

/// Makes elements of the chunks of a body, however it is cut: chunks in, elements out.
protocol BodyMachine {
    /// What it makes.
    associatedtype Output

    /// Adds the next chunk. Called only when ``fill(_:)`` has added nothing.
    mutating func append(_ chunk: Data)

    /// Adds the next elements that are complete, a few at most; nothing where more bytes are needed.
    ///
    /// - Throws: What is wrong with the element after those that were added.
    mutating func fill(_ elements: inout [Output]) throws

    /// Adds the last elements, at the end of the body.
    mutating func finish(_ elements: inout [Output]) throws
}

/// Reads a body through a machine. After an error and after the end it lets go of the body, which ends the transfer, and
/// gives nothing.
struct BodyReader<Machine: BodyMachine> {
    private(set) var machine: Machine
    private var chunks: ResponseBody.Iterator?
    private var failure: (any Error)?
    /// Elements that are ready, the next one last.
    private var ready: [Machine.Output] = []

    init(_ machine: Machine, _ body: ResponseBody) {
        self.machine = machine
        chunks = body.makeAsyncIterator()
    }

    /// The next element, `nil` at the end.
    mutating func next() async throws -> Machine.Output? {
        if let element = ready.popLast() { return element }
        var elements = ready
        ready = []
        try await next(reusing: &elements)
        elements.reverse()
        ready = elements
        return ready.popLast()
    }

    /// The next elements; none at the end.
    mutating func next(reusing elements: inout [Machine.Output]) async throws {
        elements.removeAll(keepingCapacity: true)
        do {
            if let failure { throw failure }
            repeat {
                // In a cancelled task the body throws.
                if chunks != nil, !Task.isCancelled { try take(&elements) { try $0.fill(&$1) } }
                guard elements.isEmpty else { break }
                guard let chunk = try await chunks?.next() else {
                    try finish(&elements)
                    break
                }
                machine.append(chunk)
            } while true
        } catch {
            chunks = nil
            failure = nil
            throw error
        }
    }

    /// Lets go of the body, which ends the transfer; nothing comes any more.
    mutating func close() {
        chunks = nil
        failure = nil
        ready = []
    }

    private mutating func finish(_ elements: inout [Machine.Output]) throws {
        guard chunks != nil else { return }
        chunks = nil
        try take(&elements) { try $0.finish(&$1) }
    }

    /// Takes elements; a failure that comes after them waits until they are handed out.
    private mutating func take(
        _ elements: inout [Machine.Output], _ make: (inout Machine, inout [Machine.Output]) throws -> Void
    ) throws {
        do {
            try make(&machine, &elements)
        } catch {
            guard !elements.isEmpty else { throw error }
            failure = error
        }
    }
}

extension BodyReader: Sendable where Machine: Sendable, Machine.Output: Sendable {}
