import CurlEngine
import Synchronization

/// The rules of one ``TLSConfiguration``, with the contents of its files, which are read when they are needed and when they have changed.
final class TrustEntry: Sendable {
    /// A change of files.
    struct Change: Sendable {
        /// The paths of the files that differ from the contents in use.
        let paths: [String]
        /// The reason why the earlier contents stay in use; `nil` if the new ones are used.
        let error: TrellisError?
    }

    /// The contents that are used.
    private struct Loaded {
        let contents: TrustContents
        let trust: TransferTrust
    }

    /// The number of the next rules. Sessions share the numbers, because two tables of a session may have rules for the same host, and
    /// libcurl compares the paths of revocation lists, and a later list may have an earlier one's path.
    private static let nextNumber = Atomic<Int>(1)

    /// Returns a number for rules that no other rules of the process have.
    static func takeNumber() -> Int { nextNumber.wrappingAdd(1, ordering: .relaxed).oldValue }

    private struct State {
        var loaded: Loaded?
        /// The marks of the files when they were last read.
        var stamps: [FileContents.Stamp?] = []
        /// The marks of the files when the contents in use were read.
        var loadedStamps: [FileContents.Stamp?] = []
        /// The read in progress, which all requests that need it wait for.
        var work: Task<Void, Never>?
        /// The path of the file for which this read waits; `nil` if it waits for a passphrase, or for no file.
        var pendingPath: String?
        /// The error of the last read before the first that succeeded.
        var failure: TrellisError?
        /// The change that no request has told yet.
        var change: Change?
        /// The reason why the last change was not used, which is reported once.
        var refusal: TrellisError.Reason?
        var keyLog: KeyLogFile?
    }

    let configuration: TLSConfiguration
    /// The rules if nothing has to be read for them; `nil` otherwise.
    let constantRules: ConstantTrust?
    private let system: SystemAuthorities
    /// Whether the system's authorities are trusted, with others or with revocation lists.
    private let usesSystem: Bool
    /// Whether an HTTPS proxy gets the client certificate.
    private let isForProxies: Bool
    private let paths: [String]
    private let state = Locked(State())
    /// The time for which a request waits for the read of a change, in nanoseconds. It is sent with the earlier contents if the read takes
    /// longer, because of a passphrase or of a disk.
    private let patience: UInt64
    /// The time of the next check of the files in nanoseconds: zero before the first read.
    private let nextCheck = Atomic<UInt64>(0)

    init(
        _ configuration: TLSConfiguration, isForProxies: Bool, _ system: SystemAuthorities = .shared,
        patience: Duration = .seconds(1)
    ) {
        self.configuration = configuration
        self.patience = patience.clampedNanoseconds
        self.isForProxies = isForProxies
        self.system = system
        paths = TrustContents.paths(of: configuration)
        usesSystem =
            switch configuration.authorities {
            case .only: false
            case .system, .systemAnd: !configuration.isInsecure
            }
        constantRules = Self.constant(configuration, system).map {
            ConstantTrust($0, system, interval: configuration.fileCheckInterval)
        }
        if constantRules != nil { nextCheck.store(.max, ordering: .releasing) }
    }

    /// Returns the rules of a configuration if nothing has to be read for them; `nil` otherwise.
    private static func constant(_ configuration: TLSConfiguration, _ system: SystemAuthorities) -> TransferTrust? {
        let hasSources = !configuration.authorities.sources.isEmpty || !configuration.revocationLists.isEmpty
        guard configuration.isInsecure || !hasSources, configuration.authorities != .only([]),
            configuration.clientIdentity == nil, configuration.keyLogFile == nil, (try? check(configuration)) != nil
        else { return nil }
        var rules = settings(configuration)
        rules.authorities = configuration.isInsecure ? .unverified : .system
        // A later version has its rules when they are needed.
        if system !== SystemAuthorities.shared { rules.system = system.current }
        let isUsual =
            system === SystemAuthorities.shared && !configuration.isInsecure && !configuration.requiresStapledResponse
            && configuration.minimumVersion == .v1_2 && configuration.maximumVersion == nil
            && configuration.cipherList == nil && configuration.tls13CipherSuites == nil
        return isUsual ? .system : TransferTrust(server: rules, proxy: rules, number: 0)
    }

    /// Returns whether the files must be read, or checked for changes.
    func isDue(now: EngineInstant) -> Bool { nextCheck.load(ordering: .acquiring) <= now.nanoseconds }

    /// Returns whether the last check, or the last wait for a slow one, was less than two intervals ago. Then only the request that begins
    /// the next one waits for it: others have the contents that the requests before them had.
    private func wasChecked(justBefore now: EngineInstant) -> Bool {
        let next = nextCheck.load(ordering: .acquiring)
        return next > 0 && now < EngineInstant(nanoseconds: next).advanced(by: configuration.fileCheckInterval)
    }

    /// The rules for servers, and for a proxy of the same configuration.
    var trust: TransferTrust {
        if let constantRules {
            constantRules.lookIfDue()
            return constantRules.current
        }
        return state.withLock { $0.loaded?.trust } ?? .unread
    }

    /// Reads the files, if they must be read, and returns the change that must be told, if any.
    ///
    /// - Parameter limit: Returns the limit on the first read; `nil` for none. Called only if it is needed.
    /// - Throws: ``TrellisError`` if the files cannot be read and have never been, or not within the limit; `CancellationError` in a
    ///   cancelled task.
    func refresh(now: EngineInstant, limit: @Sendable () -> TrustFileLimit?) async throws -> Change? {
        guard isDue(now: now) else { return nil }
        let wasChecked = wasChecked(justBefore: now)
        let (work, isUsable) = state.withLock { state in
            if let work = state.work { return (wasChecked && state.loaded != nil ? nil : work, state.loaded != nil) }
            let work = Task { await self.update(now: now) }
            state.work = work
            return (work, state.loaded != nil)
        }
        guard let work else { return nil }
        if isUsable {
            await waitForChange(work, now: now)
        } else if let limit = limit() {
            try await waitForFirstRead(work, limit)
        } else {
            await BlockingThreadPool.waitUnlessCancelled(for: work)
        }
        try Task.checkCancellation()
        let (change, failure) = state.withLock { state in
            defer { state.change = nil }
            return (state.change, state.loaded == nil ? state.failure : nil)
        }
        if let failure { throw failure }
        return change
    }

    /// Waits for the first read. The limit ends the wait if a file is the reason for it, and not a passphrase, which has a limit of its
    /// own. The read continues after that, for later requests.
    @inline(never)
    private func waitForFirstRead(_ work: Task<Void, Never>, _ limit: TrustFileLimit) async throws {
        let hasEnded = try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask {
                await BlockingThreadPool.waitUnlessCancelled(for: work)
                return true
            }
            group.addTask {
                try await limit.wait()
                return false
            }
            defer { group.cancelAll() }
            return try await group.next() ?? true
        }
        guard !hasEnded else { return }
        if let path = state.withLock({ $0.pendingPath }) { throw limit.failure(path) }
        await BlockingThreadPool.waitUnlessCancelled(for: work)
    }

    /// Waits for the read of a change, for a limited time. Then, other requests do not wait for it until the next check.
    @inline(never)
    private func waitForChange(_ work: Task<Void, Never>, now: EngineInstant) async {
        await withTaskGroup { group in
            group.addTask { await BlockingThreadPool.waitUnlessCancelled(for: work) }
            group.addTask { [patience] in try? await Task.sleep(for: .nanoseconds(patience)) }
            await group.next()
            group.cancelAll()
        }
        state.withLock { state in
            guard state.work != nil else { return }
            nextCheck.store(now.advanced(byNanoseconds: 2 * patience).nanoseconds, ordering: .releasing)
        }
    }

    // MARK: Reading

    private func update(now: EngineInstant) async {
        setPending(usesSystem ? system.path ?? paths.first : paths.first)
        let stamps = await BlockingThreadPool.run { [self] in
            if usesSystem { system.look() }
            return paths.map { path -> FileContents.Stamp? in
                setPending(path)
                return FileContents.Stamp(path: path)
            }
        }
        let version = system.current
        let hasVersion = !usesSystem || state.withLock { $0.loaded?.trust.server.system.number == version.number }
        let known = hasVersion && state.withLock { $0.loaded != nil && $0.stamps == stamps }
        guard !known else { return finish(now: now) { _ in } }
        do throws(TrellisError) {
            let contents = try await read()
            // A file may have been written again with the same contents.
            let isSame = hasVersion && state.withLock { $0.loaded?.contents.isSame(as: contents) ?? false }
            if isSame {
                return finish(now: now) { state in
                    (state.stamps, state.loadedStamps) = (stamps, stamps)
                    state.refusal = nil
                }
            }
            let loaded = try await load(contents, version)
            finish(now: now) { state in
                state.stamps = stamps
                if let earlier = state.loaded?.contents {
                    let ofSystem = hasVersion ? [] : [system.path].compactMap { $0 }
                    state.change = Change(paths: contents.changedPaths(since: earlier) + ofSystem, error: nil)
                }
                state.loadedStamps = stamps
                state.loaded = loaded
                (state.failure, state.refusal) = (nil, nil)
            }
        } catch {
            finish(now: now) { [paths] state in
                // Without the marks, the next check reads the files again.
                if !error.mayPassWithoutChange { state.stamps = stamps }
                if state.loaded == nil {
                    state.failure = error
                } else if state.refusal != error.reason {
                    let changed = zip(paths, zip(stamps, state.loadedStamps)).filter { $0.1.0 != $0.1.1 }.map(\.0)
                    state.change = Change(paths: changed.isEmpty ? paths : changed, error: error)
                    state.refusal = error.reason
                }
            }
        }
    }

    private func setPending(_ path: String?) { state.withLock { $0.pendingPath = path } }

    /// Ends a read, and sets the time of the next check.
    private func finish(now: EngineInstant, _ change: (inout State) -> Void) {
        state.withLock { state in
            change(&state)
            (state.work, state.pendingPath) = (nil, nil)
            guard state.loaded != nil else { return }
            let isFixed = paths.isEmpty && !usesSystem
            let next = isFixed ? UInt64.max : now.advanced(by: configuration.fileCheckInterval).nanoseconds
            nextCheck.store(max(next, 1), ordering: .releasing)
        }
    }

    private func read() async throws(TrellisError) -> TrustContents {
        try await BlockingThreadPool.trying { [self] () throws(TrellisError) in
            try TrustContents(reading: configuration, willRead: { self.setPending($0) })
        }
    }

    private func load(
        _ contents: TrustContents, _ version: SystemAuthorities.Version
    ) async throws(TrellisError) -> Loaded {
        try Self.check(configuration)
        let identity = try await identity(contents), number = Self.takeNumber()
        return try await BlockingThreadPool.trying { () throws(TrellisError) in
            var rules = Self.settings(self.configuration)
            if self.usesSystem {
                rules.system = version
                self.setPending(self.system.path)
                version.prepare()
            }
            rules.authorities = try contents.authorities(self.configuration, number: number, version)
            rules.revocationLists = try contents.revocationLists(self.configuration)
            rules.identity = identity.map { TransferTrust.marked($0, number) }
            rules.keyLog = try self.keyLog()
            var proxy = rules
            if !self.isForProxies { proxy.identity = nil }
            return Loaded(
                contents: contents, trust: TransferTrust(server: rules, proxy: proxy, number: number))
        }
    }

    /// The rules that need no file.
    private static func settings(_ configuration: TLSConfiguration) -> TransferTrust.Rules {
        var rules = TransferTrust.Rules()
        rules.requiresStapledResponse = configuration.requiresStapledResponse
        rules.minimumVersion = configuration.minimumVersion.engine
        rules.maximumVersion = configuration.maximumVersion?.engine
        rules.cipherList = configuration.cipherList
        rules.cipherSuites = configuration.tls13CipherSuites
        return rules
    }

    private static func check(_ configuration: TLSConfiguration) throws(TrellisError) {
        if let maximum = configuration.maximumVersion, maximum < configuration.minimumVersion {
            let minimum = configuration.minimumVersion.rawValue
            throw TrellisError(.invalidRequest(.tls("TLS \(minimum) at least, and \(maximum.rawValue) at most")))
        }
        for list in [configuration.cipherList, configuration.tls13CipherSuites] where list?.utf8.contains(0) == true {
            throw TrellisError(.invalidRequest(.tls("a list of ciphers contains a NUL byte")))
        }
    }

    private func keyLog() throws(TrellisError) -> KeyLogFile? {
        guard let path = configuration.keyLogFile else { return nil }
        if let known = state.withLock({ $0.keyLog }) { return known }
        setPending(path)
        do throws(FileError) {
            let file = try KeyLogFile(path: path)
            state.withLock { $0.keyLog = file }
            return file
        } catch {
            throw TrellisError(.securityFailed(.keyLogFile(path: path, reason: error.reason)))
        }
    }

    // MARK: Identity

    private func identity(_ contents: TrustContents) async throws(TrellisError) -> [UInt8]? {
        guard let identity = configuration.clientIdentity else { return nil }
        do throws(ClientCertificate.Failure) {
            return try await pem(identity, contents, passphrase: nil)
        } catch {
            guard error == .encrypted, identity.passphrase != nil else { throw Self.failure(error, identity) }
        }
        setPending(nil)
        let passphrase = try await identity.readPassphrase()
        do throws(ClientCertificate.Failure) {
            return try await pem(identity, contents, passphrase: passphrase)
        } catch {
            throw Self.failure(error, identity)
        }
    }

    private func pem(
        _ identity: ClientIdentity, _ contents: TrustContents, passphrase: String?
    ) async throws(ClientCertificate.Failure) -> [UInt8] {
        try await BlockingThreadPool.trying { () throws(ClientCertificate.Failure) in
            try contents.identity(identity, passphrase: passphrase)
        }
    }

    private static func failure(_ failure: ClientCertificate.Failure, _ identity: ClientIdentity) -> TrellisError {
        guard failure != .noLibrary else {
            return TrellisError(.unsupported("client certificates: \(LibcurlFeatures.current.lackOfOpenSSL)"))
        }
        let key = (identity.key ?? identity.certificate).name
        let reason: TrellisError.ClientIdentityFailure =
            switch failure {
            case .noCertificate: .noCertificate(identity.certificate.name)
            case .malformed: .unusable("one of the certificates in \(identity.certificate.name) is malformed")
            case .noKey: .noKey(key)
            case .encrypted: .noPassphrase(key)
            case .wrongPassphrase: .wrongPassphrase(key)
            case .mismatch: .mismatch(key: key, certificate: identity.certificate.name)
            case .unsupported, .noLibrary:
                .unusable(
                    "\(key) is encrypted with an algorithm that OpenSSL has only in its legacy provider, if at all; "
                        + "convert it to a current one")
            }
        return TrellisError(.securityFailed(.clientIdentity(reason)))
    }
}

extension TrellisError {
    /// Whether the same files may be usable later: their contents are not the reason, but the system, or the source of the
    /// passphrase.
    fileprivate var mayPassWithoutChange: Bool {
        switch reason {
        case .securityFailed(.clientIdentity(.file)), .securityFailed(.certificateAuthorityFile),
            .securityFailed(.keyLogFile):
            true
        case .securityFailed(.clientIdentity(.noPassphrase)): underlying != nil
        default: false
        }
    }
}

extension TLSVersion {
    /// The version for the engine.
    fileprivate var engine: TransferTrust.Version { self == .v1_2 ? .v1_2 : .v1_3 }
}
