import CurlEngine
import FoundationEssentials
import TrellisCore

/// The search for partial files and their names.
///
/// Two downloads to the same destination, in one process or in two, do not interfere: the second one has a partial file of its
/// own, which no other download resumes. The download that ends last replaces the file of the other, or fails because that must
/// not be replaced. Such files are numbered, so that the next download finds the files of processes that were killed: their locks are
/// free.
extension DownloadFile {
    /// The suffix of the names of partial files.
    private static let suffix = ".trellis-part"
    /// The suffix of the names of checkpoint files.
    private static let checkpointSuffix = ".trellis-note"

    /// Opens the partial file of a download.
    ///
    /// - Parameters:
    ///   - isPrivate: Whether only the user of the process may read the file.
    static func opened(
        at path: String, _ options: DownloadDestination.Options, isPrivate: Bool = false
    ) throws(TrellisError) -> DownloadFile {
        let target = try target(of: path, options)
        return try attributingErrors(to: path) { () throws(FileError) in
            let folder = FileSystem.folder(of: target)
            if options.contains(.createIntermediateDirectories) { try FileSystem.makeFolder(folder) }
            return try opened(
                target, options, at: place(of: target), mode: isPrivate ? 0o600 : FileSystem.mode(of: target) ?? 0o666)
        }
    }

    private static func opened(
        _ target: String, _ options: DownloadDestination.Options, at place: String, mode: UInt32
    ) throws(FileError) -> DownloadFile {
        if let partial = try PartialFile.opened(path: place + suffix, mode: mode) {
            removeAbandoned(from: 2, place)
            return DownloadFile(
                target: target, options: options, partial: partial, checkpointPath: place + checkpointSuffix)
        }
        for number in 2...Int.max {
            guard let partial = try PartialFile.opened(path: own(number, place), mode: mode) else { continue }
            removeAbandoned(from: number + 1, place)
            return DownloadFile(target: target, options: options, partial: partial, checkpointPath: nil)
        }
        throw FileError(reason: "too many downloads write to it")
    }

    /// Returns the path of a numbered partial file.
    private static func own(_ number: Int, _ place: String) -> String { "\(place)\(suffix).\(number)" }

    /// Deletes the numbered partial files that processes left which ended suddenly. Stops after four missing numbers in a row,
    /// after 1000 numbers, or if the system does not report whether a file exists.
    private static func removeAbandoned(from first: Int, _ place: String) {
        var missing = 0
        for number in first..<first + 1000 {
            switch PartialFile.removeAbandoned(path: own(number, place)) {
            case .removed, .held: missing = 0
            case .missing: missing += 1
            case .unknown: return
            }
            if missing == 4 { return }
        }
    }

    /// Returns the hidden path beside the destination, to which the suffixes are added.
    private static func place(of target: String) -> String {
        let folder = FileSystem.folder(of: target)
        return "\(folder == "/" ? "" : folder)/.\(hiddenName(target))"
    }

    /// Returns a new path for a partial file that only its resume data names.
    static func placeAside(of target: String) -> String {
        place(of: target) + ".kept-" + String(UInt64.random(in: .min ... .max), radix: 16) + suffix
    }

    /// Returns the path that the file is to get. For a symbolic link that is its target, which need not exist, so that the link
    /// stays a link.
    private static func target(
        of path: String, _ options: DownloadDestination.Options
    ) throws(TrellisError) -> String {
        switch try attributingErrors(to: path, { () throws(FileError) in try FileSystem.kind(at: path) }) {
        case .nothing:
            let target = WholeFile.target(of: path)
            guard target.utf8.last == UInt8(ascii: "/") else { return target }
            throw TrellisError.download(
                path, FileError(reason: "the path ends with a slash, and so names a folder"))
        case .file where options.contains(.removePreviousFile): return WholeFile.target(of: path)
        case .file: throw TrellisError(.downloadFailed(.exists(path: path)))
        case .folder: throw TrellisError.download(path, FileError(reason: "it is a folder"))
        case .other: throw TrellisError.download(path, FileError(reason: "it is not a regular file"))
        }
    }

    /// Checks before anything is sent that the folder exists, or creates it.
    static func check(folder: String, _ options: DownloadDestination.Options) throws(TrellisError) {
        try attributingErrors(to: folder) { () throws(FileError) in
            if options.contains(.createIntermediateDirectories) { try FileSystem.makeFolder(folder) }
            switch try FileSystem.kind(at: folder) {
            case .folder: break
            case .nothing: throw FileError(reason: "there is no such folder")
            case .file, .other: throw FileError(reason: "it is not a folder")
            }
        }
    }

    /// Returns the last component of a path, shortened to bounded length.
    static func hiddenName(_ path: String) -> String {
        let name = path.lastIndex(ofByte: "/").map { path[path.utf8.index(after: $0)...] } ?? path[...]
        guard name.utf8.count > 200 else { return String(name) }
        // The FNV-1a hash distinguishes names that begin alike.
        let hash = name.utf8.reduce(UInt64(0xcbf2_9ce4_8422_2325)) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
        var room = 160
        let start = name.unicodeScalars.prefix { scalar in
            room -= UTF8.width(scalar)
            return room >= 0
        }
        return String(start) + "-" + String(hash, radix: 16)
    }

    /// Returns the file with the bytes of the partial file that resume data names; `nil` if that file has changed or does not
    /// exist any more.
    ///
    /// - Throws: ``TrellisError``; `CancellationError` in a cancelled task, which leaves the bytes at their path.
    func adopting(_ resumeData: ResumeData) async throws -> DownloadFile? {
        let elsewhere = resumeData.path
        guard !WholeFile.target(of: elsewhere).hasSameBytes(as: WholeFile.target(of: path)) else {
            return isAsLeft(by: resumeData) ? self : nil
        }
        // Resume data may be forged: only partial files, which have the suffix, are moved or deleted.
        guard elsewhere.utf8.suffix(Self.suffix.utf8.count).elementsEqual(Self.suffix.utf8),
            (try? FileSystem.kind(at: elsewhere)) == .file
        else { return nil }
        let other = try Self.attributingErrors(to: target) { () throws(FileError) in
            try PartialFile.opened(path: elsewhere)
        }
        // The lock is required: without it another download may be writing to the partial file.
        guard let other else {
            throw TrellisError.download(target, FileError(reason: "another download writes to \(elsewhere)"))
        }
        guard resumeData.stamp != nil, other.stamp == resumeData.stamp else { return nil }
        let file = try await adopting(other)
        FileSystem.deleteIfPossible(
            String(decoding: elsewhere.utf8.dropLast(Self.suffix.utf8.count), as: UTF8.self) + Self.checkpointSuffix)
        return file
    }

    /// Calls `body`, and turns its failure into an error that names the path.
    static func attributingErrors<Value>(
        to path: String, _ body: () throws(FileError) -> Value
    ) throws(TrellisError) -> Value {
        do throws(FileError) { return try body() } catch { throw TrellisError.download(path, error) }
    }
}

extension TrellisError {
    static func download(_ path: String, _ failure: FileError) -> TrellisError {
        TrellisError(.downloadFailed(.file(path: path, reason: failure.reason)))
    }
}
