import CurlEngine
import FoundationEssentials
import TrellisCore
import TrellisDiagnostics

/// The recordings of a cassette while it is used: which of them were replayed, and what was recorded.
final class CassetteTape: Sendable {
    /// The answer to a request: a recording, or the number under which its exchange is to be recorded.
    enum Answer: Sendable {
        case recording(HARDocument.Entry)
        case record(Int)
    }

    private struct State: Sendable {
        var file = CassetteFile()
        /// The recordings of the file that were replayed.
        var used: Set<Int> = []
        /// The positions of the file's recordings by the keys that their requests have after scrubbing; `nil` until a request is not found.
        var scrubbed: [String: [Int]]?
        /// Whether the file exists.
        var exists = false
        /// Whether requests that are not found are recorded.
        var isRecording = false
        /// The entries that were recorded, by the number of their requests.
        var recorded: [Int: Data] = [:]
        var requestCount = 0
        var unmatched: [CassetteError] = []
        /// The number of bytes that are in the file, and the number of those that were recorded since.
        var (savedSize, newSize) = (0, 0)
        var credentials = UsedCredentials()
        /// The number of credentials that the recorded entries are without.
        var scrubbedCount = 0
    }

    /// The number of bytes up to which the file is written after each recording. A larger one is written when it has grown by a sixteenth.
    private static let alwaysSavedSize = 1 << 20

    let cassette: Cassette
    private let state = Locked(State())
    private let opening = Locked<Task<Void, any Error>?>(nil)
    /// The lock of the file, which has one writer, with the entries in front of the recorded ones; `nil` before the first of these is
    /// written.
    private let writer = Locked<[Data]?>(nil)
    /// The exchanges that are being recorded, by the numbers of their requests.
    private let active = LoopbackServer.Waiters<[Int: CassetteExchange]>([:])
    /// The mark that this tape records its file; `nil` unless it does.
    private let mark = Locked<RecordingMark?>(nil)

    init(_ cassette: Cassette) { self.cassette = cassette }

    deinit { try? save() }

    /// Opens the file, once.
    func open() async throws {
        let task = opening.withLock { opening in
            if let opening { return opening }
            let task = Task.detached { [self] in
                try await BlockingThreadPool.trying { () throws(CassetteError) in try self.load() }
            }
            opening = task
            return task
        }
        try await task.value
    }

    private func load() throws(CassetteError) {
        let file = cassette.mode == .all ? nil : try CassetteFile(cassette)
        let isRecording =
            switch cassette.mode {
            case .none: false
            case .once: file == nil || WrittenCassettes.contain(cassette)
            case .new, .all: true
            }
        state.withLock { state in
            state.exists = file != nil
            state.file = file ?? CassetteFile()
            state.isRecording = isRecording
        }
    }

    // MARK: Credentials

    /// Returns a request without its secrets, and notes its credentials, which recordings of other exchanges may repeat.
    func scrubbed(_ request: HARDocument.Request) -> HARDocument.Request {
        var sent = request
        sent.derive()
        let scrubbed = cassette.scrubbed(request)
        guard cassette.scrubsUsedCredentials else { return scrubbed }
        let credentials = state.withLock { state in
            state.credentials.add(of: sent)
            return state.credentials
        }
        return credentials.scrubbed(scrubbed)
    }

    /// Notes the credentials that a response has set.
    func noteCredentials(of response: Response) {
        guard cassette.scrubsUsedCredentials else { return }
        state.withLock { state in
            for head in response.informational { state.credentials.add(of: head) }
            state.credentials.add(of: response.head)
            state.credentials.add(of: ResponseHead(status: response.status, headers: response.trailers))
        }
    }

    /// Removes the credentials from the entries recorded before they were known.
    private func scrubRecorded() throws {
        let (credentials, recorded) = state.withLock { state in
            (state.credentials, state.credentials.count == state.scrubbedCount ? [:] : state.recorded)
        }
        guard !recorded.isEmpty else { return }
        let scrubbed = try recorded.mapValues { bytes in
            let entry = try JSONDecoder().decode(HARDocument.Entry.self, from: bytes)
            let clean = credentials.scrubbed(entry)
            return clean == entry ? bytes : try CassetteFile.encoded(clean)
        }
        state.withLock { state in
            for (number, bytes) in scrubbed { state.recorded[number] = bytes }
            // What was recorded meanwhile may have credentials.
            if state.recorded.count == scrubbed.count { state.scrubbedCount = credentials.count }
        }
    }

    /// Checks that no credential is in the file, if this tape has written it.
    private func check() throws(CassetteError) {
        let (credentials, hasRecorded) = state.withLock { ($0.credentials, $0.savedSize > 0) }
        guard hasRecorded, credentials.count > 0, let file = try CassetteFile(cassette) else { return }
        for position in 0..<file.count {
            let entry = try file.entry(position, of: cassette)
            guard credentials.areFound(in: entry, file.bytes(position)) else { continue }
            let request = "\(entry.request.method) \(URLRedaction.redact(entry.request.url))"
            throw .credential(path: cassette.path, entry: position + 1, request: request)
        }
    }

    // MARK: Requests

    /// Returns the answer to a request. The file is open.
    ///
    /// - Parameters:
    ///   - request: The request after scrubbing.
    ///   - exchange: The exchange of the request. If it is to be recorded, ``end(_:)`` must follow.
    func answer(to request: HARDocument.Request, in exchange: CassetteExchange) throws(CassetteError) -> Answer {
        try state.withLock { (state: inout State) throws(CassetteError) -> Answer in
            if cassette.mode != .all, let position = try find(request, &state) {
                state.used.insert(position)
                return .recording(try state.file.entry(position, of: cassette))
            }
            guard state.isRecording else {
                let error = failure(request, state)
                state.unmatched.append(error)
                throw error
            }
            try takeMark()
            state.requestCount += 1
            let number = state.requestCount
            active.update { $0[number] = exchange }
            return .record(number)
        }
    }

    private func find(_ request: HARDocument.Request, _ state: inout State) throws(CassetteError) -> Int? {
        let key = cassette.key(request)
        if let position = try find(request, among: state.file.positions(of: key), state) { return position }
        // The scrubbers may have changed since the file was recorded.
        if state.scrubbed == nil { state.scrubbed = try scrubbedPositions(state.file) }
        return try find(request, among: state.scrubbed?[key] ?? [], state)
    }

    /// Returns the first recording that was not used or, if recordings may be repeated, the last one that was.
    private func find(
        _ request: HARDocument.Request, among positions: [Int], _ state: State
    ) throws(CassetteError) -> Int? {
        var repeated: Int?
        for position in positions {
            let isUsed = state.used.contains(position)
            guard !isUsed || cassette.allowsRepeats else { continue }
            if cassette.matching.needsMessage {
                let recorded = cassette.scrubbed(try state.file.entry(position, of: cassette).request)
                guard cassette.matching.differences(recorded, request).isEmpty else { continue }
            }
            if !isUsed { return position }
            repeated = position
        }
        return repeated
    }

    private func scrubbedPositions(_ file: CassetteFile) throws(CassetteError) -> [String: [Int]] {
        var positions: [String: [Int]] = [:]
        for position in 0..<file.count {
            let request = cassette.scrubbed(try file.entry(position, of: cassette).request)
            positions[cassette.key(request), default: []].append(position)
        }
        return positions
    }

    private func failure(_ request: HARDocument.Request, _ state: State) -> CassetteError {
        guard state.exists else { return .missing(path: cassette.path, command: cassette.command(.once)) }
        let recordings = (0..<state.file.count).compactMap { position -> CassetteDifference.Recording? in
            guard let entry = try? state.file.entry(position, of: cassette) else { return nil }
            return CassetteDifference.Recording(
                position: position, request: cassette.scrubbed(entry.request),
                isUsed: state.used.contains(position))
        }
        return .unmatched(
            request: "\(request.method) \(request.url)", path: cassette.path,
            nearest: CassetteDifference.nearest(to: request, among: recordings, cassette.matching),
            command: cassette.command(.all))
    }

    /// The requests that were not found, in the order of their arrival.
    var unmatched: [CassetteError] { state.withLock { $0.unmatched } }

    /// The request lines of the file's recordings that were not replayed, in the order of the file.
    var unused: [String] {
        state.withLock { state in
            guard cassette.mode != .all else { return [] }
            let unused = (0..<state.file.count).filter { !state.used.contains($0) }
            return unused.map { state.file.name($0, of: cassette) }
        }
    }

    // MARK: Recordings

    /// Adds a recording, which is in the file when the method returns, unless the file is large.
    func record(_ entry: HARDocument.Entry, as number: Int) async throws {
        let credentials = state.withLock { $0.credentials }
        let encoded = try CassetteFile.encoded(credentials.scrubbed(entry))
        let isDue = state.withLock { state in
            state.recorded[number] = encoded
            // Others may have become known, and been removed from all entries but this one.
            state.scrubbedCount = min(state.scrubbedCount, credentials.count)
            state.newSize += encoded.count
            return state.savedSize + state.newSize <= Self.alwaysSavedSize || state.newSize >= state.savedSize / 16
        }
        if isDue { try await write() }
    }

    /// Ends the exchange of a recording, which was added or is not known.
    func end(_ number: Int) { active.update { $0[number] = nil } }

    /// Ends the recordings under way, and waits until what their readers have received is recorded.
    func endRecordings() async {
        let exchanges = active.value
        for exchange in exchanges.values { exchange.commands.stop() }
        try? await active.wait { active in active.keys.allSatisfy { exchanges[$0] == nil } }
    }

    /// Writes what was recorded and is not in the file yet, and lets others record the file.
    func finish() async throws {
        try await write()
        try await BlockingThreadPool.trying { [self] () throws(CassetteError) in
            release()
            try check()
        }
    }

    /// Lets others record the file, unless recordings have begun that are not in it.
    private func release() {
        writer.withLock { earlier in
            state.withLock { state in
                guard active.value.isEmpty, state.newSize == 0 else { return }
                // The file has these recordings, and others' when it is recorded again.
                (state.recorded, state.scrubbedCount) = ([:], state.credentials.count)
                earlier = nil
                mark.withLock { $0 = nil }
            }
        }
    }

    private func write() async throws {
        try await BlockingThreadPool.trying { [self] () throws(CassetteError) in try save() }
    }

    private func takeMark() throws(CassetteError) {
        try mark.withLock { (mark: inout RecordingMark?) throws(CassetteError) in
            if mark == nil { mark = try RecordingMark.taken(cassette.path) }
        }
    }

    /// Returns the entries of the file that stay in front of those that are recorded. Waits for the disk.
    private func readEarlier() throws(CassetteError) -> [Data] {
        guard cassette.mode == .new || WrittenCassettes.contain(cassette), let file = try CassetteFile(cassette) else {
            return []
        }
        return (0..<file.count).map(file.bytes)
    }

    /// Writes the file, if there is something new. Waits for the disk.
    private func save() throws(CassetteError) {
        try writer.withLock { (earlier: inout [Data]?) throws(CassetteError) in
            let isDue = state.withLock { state in
                state.newSize > 0 || !state.recorded.isEmpty && state.credentials.count != state.scrubbedCount
            }
            guard isDue else { return }
            // The mark keeps others from changing the file meanwhile.
            if earlier == nil { earlier = try readEarlier() }
            let kept = earlier ?? []
            do { try scrubRecorded() } catch { throw .file(path: cassette.path, reason: "\(error)") }
            let (entries, size) = state.withLock { state -> ([Data], Int) in
                (kept + state.recorded.sorted { $0.key < $1.key }.map(\.value), state.newSize)
            }
            let document: Data
            do {
                document = try CassetteFile.document(entries)
                try FileSystem.makeFolder(FileSystem.folder(of: cassette.path))
                try WholeFile.replace(path: cassette.path, with: document, isDurable: false)
            } catch {
                throw .file(path: cassette.path, reason: (error as? FileError)?.reason ?? "\(error)")
            }
            WrittenCassettes.add(cassette)
            state.withLock { state in
                state.savedSize = document.count
                state.newSize -= size
            }
        }
    }
}

/// The files that the process has recorded. The cases of a test, and the tests of a suite, have their own tapes for one file: the first
/// of them begins the file, and the others add to it.
private enum WrittenCassettes {
    private static let names = Locked<Set<TextBytes>>([])

    /// Returns the name of a file together with the mode in which it is recorded: another mode follows its own rules.
    private static func name(_ cassette: Cassette) -> TextBytes { TextBytes("\(cassette.mode) \(cassette.path)") }

    static func add(_ cassette: Cassette) { names.withLock { _ = $0.insert(name(cassette)) } }

    /// Returns whether the process has recorded the file of a cassette in its mode.
    static func contain(_ cassette: Cassette) -> Bool { names.withLock { $0.contains(name(cassette)) } }
}

/// The mark of a process that a file is being recorded. Two recordings of one file would replace each other.
private final class RecordingMark: Sendable {
    private static let paths = Locked<Set<TextBytes>>([])

    private let path: TextBytes

    private init(_ path: TextBytes) { self.path = path }

    /// Returns the mark of a file.
    ///
    /// - Throws: ``CassetteError/inUse(path:)`` if there is one.
    static func taken(_ path: String) throws(CassetteError) -> RecordingMark {
        let isFirst = paths.withLock { $0.insert(TextBytes(path)).inserted }
        guard isFirst else { throw .inUse(path: path) }
        return RecordingMark(TextBytes(path))
    }

    deinit { Self.paths.withLock { _ = $0.remove(path) } }
}
