import Testing

/// Unsafe constructs occur in no file, or only in the files that may use them.
struct SafetyTests {
    private static func violations(
        _ word: String, in files: [SourceFile], except isAllowed: (String) -> Bool = { _ in false }
    ) -> [String] {
        files.filter { !isAllowed($0.path) }.flatMap { file in file.lines(mentioning: word).map { "\(file.path):\($0)" }
        }
    }

    @Test func unsafeStaysInTheEngine() {
        // The exceptions are the tests' server, with its sockets and threads, and the decoder of Redis' protocol: with it, the engine would
        // need hiredis.
        let violations = Self.violations("unsafe", in: SourceTree.sources) { path in
            path.hasPrefix("Sources/CurlEngine/") || path.hasPrefix("Sources/TrellisTesting/LoopbackServer")
                || path == "Sources/TrellisRedis/Wire/RedisReader.swift"
        }
        #expect(violations == [])
    }

    @Test(arguments: [
        "fatalError", "DispatchQueue", "NSLock", "NSRecursiveLock", "OSAllocatedUnfairLock", "usleep",
        "preconditionFailure",
    ])
    func noFileUses(_ word: String) {
        #expect(Self.violations(word, in: SourceTree.sources) == [])
    }

    /// The functions of the runtime are called only where the thread sanitizer is shown a resumption that precedes its await.
    @Test(arguments: [
        "withCheckedContinuation", "withCheckedThrowingContinuation", "withUnsafeContinuation",
        "withUnsafeThrowingContinuation",
    ])
    func continuationsAreMadeInOnePlace(_ word: String) {
        let violations = Self.violations(word, in: SourceTree.sources) {
            $0 == "Sources/CurlEngine/Concurrency/Reply.swift"
        }
        #expect(violations == [])
    }

    /// The thread sanitizer sees no order between the threads that lock such a mutex; it sees ``Locked``.
    @Test func theThreadSanitizerSeesAllLocks() {
        // The storage of the article about the cache is a user's code.
        let violations = Self.violations("Mutex", in: SourceTree.all) { $0.hasSuffix("/RecordStorage.swift") }
        #expect(violations == [])
    }

    @Test func nothingIsTriedByForce() {
        let violations = SourceTree.all.filter { file in
            file.words.contains { ["try", "as"].contains($0.text) && $0.after == UInt8(ascii: "!") }
        }.map(\.path)
        #expect(violations == [])
    }

    @Test func uncheckedSendableIsProved() {
        // A comment that gives the reason is within six lines of the declaration.
        let violations = SourceTree.sources.flatMap { file in
            file.code.split(separator: "\n", omittingEmptySubsequences: false).enumerated().compactMap {
                index, line -> String? in
                guard line.contains("@unchecked Sendable") else { return nil }
                let around = file.lines[max(0, index - 6)..<min(file.lines.count, index + 6)]
                return around.contains { $0.contains("Unchecked") } ? nil : "\(file.path):\(index + 1)"
            }
        }
        #expect(violations == [])
    }

    @Test func testsDoNotSleepToWait() {
        // Tests of the test clock sleep on that.
        let violations = SourceTree.tests.filter { file in
            zip(file.words, file.words.dropFirst()).contains { before, word in
                let isOfClock = word.isMember ? !["Task", "Thread"].contains(before.text) : before.text == "func"
                return word.text == "sleep" && !isOfClock
            }
        }.map(\.path)
        #expect(violations == [])
    }

    /// The time limit of a test cancels its task. A loop that looks at its condition alone would go round until the process is ended.
    @Test func loopsThatWaitEndWithTheTask() {
        let violations = SourceTree.tests.flatMap { file in
            let lines = file.code.split(separator: "\n", omittingEmptySubsequences: false)
            return lines.indices.compactMap { index -> String? in
                guard lines[index].contains("await Task.yield()") else { return nil }
                let text = lines[index].contains("while ") || index == 0 ? lines[index] : lines[index - 1]
                return text.contains("while ") && !text.contains("isCancelled") ? "\(file.path):\(index + 1)" : nil
            }
        }
        #expect(violations == [])
    }

    /// `WireTable` asks the egress policy before it makes a connection. A socket that is opened elsewhere would pass the policy by.
    @Test(
        arguments: [
            ("WireRace", ["Wire/WireTable+Transfers"]),
            ("beginHTTP3", ["Engine/CurlEngine", "Wire/WireTable+Transfers"]),
            ("ccurl_tcp_connect", ["Wire/WireOptions"]),
            ("ccurl_unix_connect", ["Wire/WireRace", "Wire/WireTable+TLS"]),
            ("ccurl_socket_open", ["HTTP3/HTTP3Exchange"]),
            ("ccurl_socket_open_unix", ["Wire/WireRace", "Wire/WireTable+TLS"]), ("curl_easy_perform", []),
        ] as [(String, [String])])
    func socketsAreOpenedBehindTheEgressPolicy(_ function: String, _ places: [String]) {
        let callers = SourceTree.sources.filter { file in
            file.words.contains { $0.text == function && $0.after == UInt8(ascii: "(") }
        }
        #expect(callers.map(\.path) == places.map { "Sources/CurlEngine/\($0).swift" })
    }

    @Test func theScannerTellsCodeFromCommentsAndStrings() {
        let text = #"let a = "try! \(b + "c") // d" // e"# + "\n/* f */ g(\"\"\"\nh\n\"\"\") ///i\n"
        let words = SourceTree.withoutCommentsAndStrings(text).split { !$0.isLetter }
        #expect(words == ["let", "a", "b", "g"])
    }
}
