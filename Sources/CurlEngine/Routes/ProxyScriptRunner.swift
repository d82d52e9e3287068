import CCurl

/// The evaluation of scripts for the automatic configuration of proxies (PAC), by libpacparser, which is looked up at run time.
///
/// The library has one script at a time and must not be called by several threads. So the evaluations of a process are made one after the
/// other, on a separate thread: scripts look up names, and may loop without end. The first evaluation starts the thread, which ends
/// when there has been none for some seconds. An evaluation cannot be interrupted. If one takes too long, all that wait for their turn
/// fail, and so does every further one until the library has returned.
package enum ProxyScriptRunner {
    /// The name of the library.
    package static var library: String { name.withLock { $0 } }
    private static let name = Locked("libpacparser.so.1")
    /// The time within which a script must return.
    package static let limit = Duration.seconds(10)

    /// The reason why an evaluation has no result.
    package enum Failure: Error, Hashable, Sendable {
        /// The library is not installed.
        case missingLibrary
        /// The script has an error, or has no function `FindProxyForURL`, or the function's result is not a text.
        case script(String)
        /// The script has not returned within its time.
        case overdue
        /// An earlier evaluation, perhaps of another script, has not returned within its time, and still runs.
        case hung
    }

    /// The arguments of an evaluation.
    package struct Question: Hashable, Sendable {
        /// The URL for the script.
        package let url: String
        /// The host for the script.
        package let host: String
        /// The result of `myIpAddress()`; by default the address from which packets leave this machine.
        package let ownAddress: String?

        /// Creates the arguments. Bytes that could end the arguments inside the script are percent-encoded.
        package init(url: String, host: String, ownAddress: String? = nil) {
            self.url = Self.encoded(url)
            self.host = Self.encoded(host)
            self.ownAddress = ownAddress
        }

        private static func encoded(_ text: String) -> String {
            let isPlain = { (byte: UInt8) in byte > 0x20 && byte < 0x7f && !#"'"\<>`"#.utf8.contains(byte) }
            if text.utf8.allSatisfy(isPlain) { return text }
            return text.utf8.map { isPlain($0) ? String(UnicodeScalar($0)) : $0.percentEncoded }.joined()
        }
    }

    private struct Job: Sendable {
        let script: String
        let question: Question
        /// The time within which the script must return.
        let limit: Duration
        let reply: Reply<String>
    }

    /// An evaluation that has begun.
    private struct Evaluation {
        let number: UInt64
        /// The reply; `nil` if it was resumed before the end.
        var reply: Reply<String>?
        /// Whether the script has not returned within its time.
        var isOverdue = false
    }

    private struct State {
        /// The evaluations that have not begun, by their numbers.
        var jobs: [UInt64: Job] = [:]
        /// The numbers of these evaluations in their order, and of others whose tasks were cancelled.
        var order = FIFO<UInt64>()
        var lastNumber: UInt64 = 0
        /// The present evaluation, if any.
        var present: Evaluation?
        /// Whether the thread evaluates.
        var isWorking = false
    }

    private static let state = Locked(State())
    /// The thread that evaluates. It is never one of ``BlockingThreadPool``: a script that does not return would keep it.
    private static let thread = BlockingThreads("trellis-pac", limit: 1)
    /// The script in the library. Only the thread that evaluates uses it.
    private static let loaded = Locked<TextBytes?>(nil)

    /// Whether the library is installed.
    package static var isAvailable: Bool { unsafe ccurl_pac_is_available(library) }

    /// Replaces the name of the library; for tests in a separate process, because a library that was loaded stays.
    package static func replaceLibrary(with name: String) { Self.name.withLock { $0 = name } }

    /// Evaluates the function of a script.
    ///
    /// - Parameter limit: The time within which the script must return. The wait for earlier evaluations does not count.
    /// - Throws: ``Failure``; `CancellationError` in a cancelled task, at once: an evaluation that has begun continues, and its result is
    ///   dropped.
    package static func result(
        of script: String, for question: Question, limit: Duration = ProxyScriptRunner.limit
    ) async throws -> String {
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        return try await withTaskCancellationHandler {
            try await withReply { reply in
                enter(Job(script: script, question: question, limit: limit, reply: reply), number)
                // The task may have been cancelled before there was a reply to resume.
                if Task.isCancelled { leave(number) }
            }
        } onCancel: {
            leave(number)
        }
    }

    private static func enter(_ job: Job, _ number: UInt64) {
        let (isHung, mustStart) = state.withLock { state in
            if state.present?.isOverdue == true { return (true, false) }
            state.jobs[number] = job
            state.order.append(number)
            defer { state.isWorking = true }
            return (false, !state.isWorking)
        }
        if isHung { return job.reply.resume(with: .failure(Failure.hung)) }
        if mustStart { thread.add { work() } }
    }

    /// Ends the wait of a cancelled task.
    private static func leave(_ number: UInt64) {
        let reply: Reply<String>? = state.withLock { state in
            if let job = state.jobs.removeValue(forKey: number) { return job.reply }
            guard state.present?.number == number else { return nil }
            defer { state.present?.reply = nil }
            return state.present?.reply
        }
        reply?.resume(with: .failure(CancellationError()))
    }

    /// Ends the wait for an evaluation that takes too long, and the waits of all that come after it.
    private static func giveUp(_ number: UInt64) {
        let (reply, others) = state.withLock { state -> (Reply<String>?, [Job]) in
            guard state.present?.number == number else { return (nil, []) }
            state.present?.isOverdue = true
            defer {
                state.present?.reply = nil
                (state.jobs, state.order) = ([:], FIFO())
            }
            return (state.present?.reply, Array(state.jobs.values))
        }
        reply?.resume(with: .failure(Failure.overdue))
        for job in others { job.reply.resume(with: .failure(Failure.hung)) }
    }

    // MARK: On the thread

    private static func work() {
        while let (number, job) = next() {
            let watch = Task.detached {
                try await Task.sleep(for: job.limit)
                giveUp(number)
            }
            let result: Result<String, any Error>
            do { result = .success(try evaluate(job)) } catch { result = .failure(error) }
            let reply = state.withLock { state in
                defer { state.present = nil }
                return state.present?.reply
            }
            watch.cancel()
            reply?.resume(with: result)
        }
    }

    private static func next() -> (UInt64, Job)? {
        state.withLock { state in
            while let number = state.order.popFirst() {
                guard let job = state.jobs.removeValue(forKey: number) else { continue }
                state.present = Evaluation(number: number, reply: job.reply)
                return (number, job)
            }
            state.isWorking = false
            return nil
        }
    }

    private static func evaluate(_ job: Job) throws(Failure) -> String {
        guard isAvailable else { throw .missingLibrary }
        let script = TextBytes(job.script)
        if loaded.withLock({ $0 != script }) {
            loaded.withLock { $0 = nil }
            guard unsafe ccurl_pac_load(job.script) else { throw .script(message("it cannot be read")) }
            loaded.withLock { $0 = script }
        }
        let question = job.question
        guard let text = unsafe ccurl_pac_find(question.url, question.host, question.ownAddress) else {
            throw .script(message("its function failed"))
        }
        return try result(unsafe String(cString: text))
    }

    /// Returns the result of the function of a text in which the first character tells its kind.
    private static func result(_ text: String) throws(Failure) -> String {
        let rest = String(text.dropFirst())
        switch text.utf8.first {
        case UInt8(ascii: "s"): return rest
        case UInt8(ascii: "t"): throw .script("the result of its function is \(rest), not a text")
        case UInt8(ascii: "e"): throw .script("its function has thrown: \(line(rest))")
        default: throw .script("it has no function FindProxyForURL")
        }
    }

    /// Returns the library's message about a script, such as `line 3: SyntaxError: missing formal parameter`.
    private static func message(_ fallback: String) -> String {
        let text = line(unsafe String(cString: ccurl_pac_message()))
        if text.isEmpty { return fallback }
        // The library writes `JSERROR: PAC script:3:` before the engine's message, or `JSERROR: NULL:0:` without a line.
        guard let mark = text.utf8.firstRange(of: "PAC script:".utf8) else {
            return text.hasBytePrefix("JSERROR: NULL:0: ") ? String(text.dropFirst(17)) : text
        }
        return "line " + text[mark.upperBound...]
    }

    /// Returns a text as a single line of at most 200 characters.
    private static func line(_ text: String) -> String {
        let words = text.unicodeScalars.split { $0.properties.isWhitespace || $0.value < 0x20 || $0.value == 0x7f }
        return String(words.map { String($0) }.joined(separator: " ").prefix(200))
    }
}
