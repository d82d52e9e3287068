import Synchronization

/// The system's file of certificate authorities, and its changes.
///
/// libcurl keeps what it has read of a file for a day, by the path of the file. After a change, it therefore gets another spelling of the
/// same path, so that it reads the file again, and resumes no TLS session of the earlier one.
package final class SystemAuthorities: Sendable {
    /// The authorities of this system.
    package static let shared = SystemAuthorities(.first)

    /// The file between two changes.
    package struct Version: Sendable {
        /// The file when the process first needed it.
        package static let first = Version(number: 0, path: CertificateBundle.system, hasDirectory: true)

        /// The number of changes before the version.
        package let number: Int
        /// The path of the file in a spelling that no other version has; `nil` if the system has no such file.
        package let path: String?
        /// Whether the system may have a directory of the same authorities.
        private let hasDirectory: Bool
        private let text: Text

        fileprivate init(number: Int, path: String?, hasDirectory: Bool) {
            self.number = number
            self.path = path.map { Self.spelling(number, of: $0) }
            self.hasDirectory = hasDirectory
            text = Text()
        }

        fileprivate func next(_ path: String) -> Version {
            Version(number: number + 1, path: path, hasDirectory: hasDirectory)
        }

        /// The path of a directory with the same authorities by hash, if any.
        var directory: String? { hasDirectory ? CertificateBundle.systemDirectory : nil }

        /// The contents of the file if there is no directory; empty if there is none, or the file cannot be read. What was read is kept.
        var contents: [UInt8] {
            guard directory == nil, let path else { return [] }
            return text.bytes.withLock { bytes -> [UInt8] in
                if let bytes { return bytes }
                // A failure may pass, such as one because of too many open files.
                guard let read = try? FileContents.read(path: path) else { return [] }
                bytes = read
                return read
            }
        }

        /// Returns one of the authorities as PEM, so that rules that trust the system can be marked; empty if there is none. Waits for a
        /// disk.
        package func example() -> [UInt8] {
            let text = path.flatMap { try? FileContents.read(path: $0) } ?? []
            let mark = Array("-----END CERTIFICATE-----".utf8)
            return text.firstRange(of: mark).map { Array(text[..<$0.upperBound]) + [10] } ?? []
        }

        /// Reads the contents if they are needed to trust the authorities of the file along with others. Waits for a disk.
        package func prepare() { _ = contents }

        /// Returns a path of the same file that is different for each number.
        static func spelling(_ number: Int, of path: String) -> String {
            guard number > 0 else { return path }
            let isAbsolute = path.utf8.first == UInt8(ascii: "/")
            // The digits of the number in base 2: neither a dot nor another slash changes the meaning.
            let digits = String(number, radix: 2).utf8.map { digit in
                digit == UInt8(ascii: "0") ? "/" : isAbsolute ? "/." : "./"
            }
            return digits.joined() + path
        }
    }

    /// The contents of a version, once they were read.
    private final class Text: Sendable {
        let bytes = Locked<[UInt8]?>(nil)
    }

    private struct State {
        var version: Version
        /// The marks of the file when it was last looked at, and could be used; `nil` if there was no file.
        var stamp: FileContents.Stamp?
        /// The marks of contents that cannot be used.
        var refused: FileContents.Stamp?
    }

    /// The path of the file; `nil` if the system has none.
    package let path: String?
    private let state: Locked<State>
    /// The number of the present version.
    private let latest = Atomic<Int>(0)
    /// Whether a thread looks at the file.
    private let isLooking = Atomic(false)

    /// Creates the authorities of a file that is not the system's, for tests.
    package convenience init(path: String) { self.init(Version(number: 0, path: path, hasDirectory: false)) }

    private init(_ version: Version) {
        path = version.path
        state = Locked(State(version: version, stamp: version.path.flatMap { FileContents.Stamp(path: $0) }))
    }

    /// The number of changes that were noticed.
    package var number: Int { latest.load(ordering: .acquiring) }

    /// The present version.
    package var current: Version { state.withLock { $0.version } }

    /// Looks whether the file has changed, unless another thread does. Contents that cannot be used are no change. Waits for a disk.
    package func look() {
        // A disk that does not answer keeps one thread, and not another one for each look of each session.
        guard !isLooking.exchange(true, ordering: .acquiring) else { return }
        defer { isLooking.store(false, ordering: .releasing) }
        guard let path, let stamp = FileContents.Stamp(path: path) else { return }
        guard state.withLock({ $0.stamp != stamp && $0.refused != stamp }) else { return }
        // The next look reads a file that could not be read, for example because of too many open files.
        guard let bytes = try? FileContents.read(path: path) else { return }
        // A file that is being written has no certificate yet, or part of one.
        let isUsable = (ClientCertificate.certificateCount(bytes) ?? 0) > 0
        state.withLock { state in
            guard isUsable else {
                state.refused = stamp
                return
            }
            guard state.stamp != stamp else { return }
            (state.stamp, state.refused) = (stamp, nil)
            state.version = state.version.next(path)
            latest.store(state.version.number, ordering: .releasing)
        }
    }
}
