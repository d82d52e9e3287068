import CurlEngine
import FoundationEssentials

/// How partial files are found and named.
///
/// Two downloads to the same place, of one process or of two, do not get into each other's way: the second one has a partial
/// file of its own, which no other goes on with. Whichever ends last replaces the file of the other, or finds that it must not.
extension DownloadFile {
    /// The end of the names of partial files.
    static let suffix = ".trellis-part"

    /// Opens the file of a download.
    ///
    /// - Parameters:
    ///   - isPrivate: Nobody but the user of the process may read it.
    ///   - resumeData: A partial file at another place that is to be gone on with.
    static func opened(
        at path: String, _ options: DownloadDestination.Options, isPrivate: Bool = false,
        takingOver resumeData: ResumeData? = nil
    ) async throws(TrellisError) -> DownloadFile {
        let target = try target(of: path, options)
        let file = try naming(path) { () throws(FileReader.Failure) in
            let folder = FilePlaces.folder(of: target)
            if options.contains(.createIntermediateDirectories) { try FilePlaces.makeFolder(folder) }
            let place = "\(folder == "/" ? "" : folder)/.\(hiddenName(target))"
            return try opened(target, options, place, mode: isPrivate ? 0o600 : FilePlaces.mode(of: target) ?? 0o666)
        }
        guard let resumeData, resumeData.path != file.path else { return file }
        return try await file.takingOver(resumeData)
    }

    private static func opened(
        _ target: String, _ options: DownloadDestination.Options, _ place: String, mode: UInt32
    ) throws(FileReader.Failure) -> DownloadFile {
        if let partial = try PartialFile.opened(path: place + suffix, mode: mode) {
            return DownloadFile(target: target, options: options, partial: partial, note: place + ".trellis-note")
        }
        while true {
            let own = place + "." + String(UInt64.random(in: .min ... .max), radix: 16) + suffix
            guard let partial = try PartialFile.opened(path: own, mode: mode) else { continue }
            return DownloadFile(target: target, options: options, partial: partial, note: nil)
        }
    }

    /// Where a file at a path is to go: a symbolic link goes on to be one.
    private static func target(
        of path: String, _ options: DownloadDestination.Options
    ) throws(TrellisError) -> String {
        switch try naming(path, { () throws(FileReader.Failure) in try FilePlaces.thing(at: path) }) {
        case .nothing where path.hasSuffix("/"): throw .download(path, FileReader.Failure(why: "it names a folder"))
        case .nothing: return path
        case .file where options.contains(.removePreviousFile): return WholeFile.target(of: path)
        case .file: throw TrellisError(.downloadFailed(.exists(path: path)))
        case .folder: throw .download(path, FileReader.Failure(why: "it is a folder"))
        case .other: throw .download(path, FileReader.Failure(why: "it is no regular file"))
        }
    }

    /// Checks before anything is sent that there is a folder, or makes it.
    static func check(folder: String, _ options: DownloadDestination.Options) throws(TrellisError) {
        try naming(folder) { () throws(FileReader.Failure) in
            if options.contains(.createIntermediateDirectories) { try FilePlaces.makeFolder(folder) }
            switch try FilePlaces.thing(at: folder) {
            case .folder: break
            case .nothing: throw FileReader.Failure(why: "there is no such folder")
            case .file, .other: throw FileReader.Failure(why: "it is no folder")
            }
        }
    }

    /// The last part of a path, of bounded length.
    static func hiddenName(_ path: String) -> String {
        let name = path.lastIndex(of: "/").map { path[path.index(after: $0)...] } ?? path[...]
        guard name.utf8.count > 200 else { return String(name) }
        // FNV-1a: names that begin alike are told apart.
        let hash = name.utf8.reduce(UInt64(0xcbf2_9ce4_8422_2325)) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
        var room = 160
        let start = name.unicodeScalars.prefix { scalar in
            room -= UTF8.width(scalar)
            return room >= 0
        }
        return String(start) + "-" + String(hash, radix: 16)
    }

    /// The file with the bytes of a partial file from elsewhere.
    private func takingOver(_ resumeData: ResumeData) async throws(TrellisError) -> DownloadFile {
        let elsewhere = resumeData.path
        guard (try? FilePlaces.thing(at: elsewhere)) == .file else { return self }
        let (target, path) = (target, path)
        let isMoved = try Self.naming(target) { () throws(FileReader.Failure) in
            // Nobody else writes to it meanwhile.
            guard let lock = try PartialFile.opened(path: elsewhere) else {
                throw FileReader.Failure(why: "another download writes to \(elsewhere)")
            }
            return try withExtendedLifetime(lock) { () throws(FileReader.Failure) in
                try FilePlaces.move(elsewhere, to: path)
            }
        }
        guard isMoved else {
            try reset()
            try await copy(from: elsewhere)
            return self
        }
        return try reopened()
    }

    static func naming<Value>(
        _ path: String, _ body: () throws(FileReader.Failure) -> Value
    ) throws(TrellisError) -> Value {
        do throws(FileReader.Failure) { return try body() } catch { throw .download(path, error) }
    }
}

extension TrellisError {
    static func download(_ path: String, _ failure: FileReader.Failure) -> TrellisError {
        TrellisError(.downloadFailed(.file(path: path, why: failure.why)))
    }
}
