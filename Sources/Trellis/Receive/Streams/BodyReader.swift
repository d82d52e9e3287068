import FoundationEssentials

/// Reads a body through a machine. After an error and after the end it lets go of the body, which ends the transfer, and
/// gives nothing.
struct BodyReader<Machine: BodyMachine>: StagedIterator {
    typealias Element = Machine.Output

    /// So many elements are taken before it is asked anew whether the task is cancelled, which is not free.
    private static var elementsPerCheck: Int { 8 }

    private(set) var machine: Machine
    private var chunks: ResponseBody.Iterator?
    /// The body has ended, and the machine may have last elements.
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
                // In a cancelled task the body throws.
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
            // When the last elements have been taken, nothing comes any more.
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

    /// Lets go of the body, which ends the transfer; nothing comes any more.
    mutating func close() {
        chunks = nil
        isFinishing = false
    }
}

extension BodyReader: Sendable where Machine: Sendable {}
