import CurlEngine
public import TrellisCore

/// The destination of a download.
///
/// The bytes are written to a partial file in the same folder, `.NAME.trellis-part`, which gets its final name when it is complete and has
/// been checked. At the destination there is no file, the old one or the new one, never a part.
public struct DownloadDestination: Sendable {
    /// Options for the handling of existing files and missing folders, and for durability.
    public struct Options: OptionSet, Sendable, Hashable {
        /// The bits of the options.
        public let rawValue: Int

        /// Creates options from their bits.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// The option to create the missing folders of the path.
        public static let createIntermediateDirectories = Options(rawValue: 1)
        /// The option to replace an existing file. Without it, an existing file is an error, unless ``keepIfItMatches`` keeps it.
        public static let removePreviousFile = Options(rawValue: 2)
        /// The option to wait until the file is on the disk (`fsync`) before the download returns, and until its name is. A file
        /// system that cannot synchronize a file fails the download; one that cannot synchronize a folder does not.
        public static let synchronize = Options(rawValue: 4)
        /// The option to keep an existing file that has the digest of the download's ``Checksum``. The download then has
        /// succeeded without a request and without a call of its validators, and ``DownloadedFile/isExisting`` is `true`. For a
        /// destination in a folder, and for one that a closure chooses, the response names the file: there the request is sent,
        /// its response is validated, and its body is not read.
        ///
        /// An existing file with another digest is treated as without this option: see ``removePreviousFile``. A download without
        /// a checksum fails with ``TrellisError/InvalidRequest/checksum(_:)`` before it sends anything.
        public static let keepIfItMatches = Options(rawValue: 8)
    }

    /// A closure that chooses a path by the head of the response.
    public typealias Choice = @Sendable (_ response: Response) throws -> String

    /// The kind of the destination, before the response is known.
    enum Place: Sendable {
        case file(String)
        case directory(String)
        case choice(Choice)
        case temporary
    }

    let place: Place
    let options: Options

    /// The folder of the file, if it is known before the response.
    var folder: String? {
        switch place {
        case .file(let path): FileSystem.folder(of: path)
        case .directory(let path): path
        case .choice: nil
        case .temporary: FileSystem.temporaryFolder
        }
    }

    /// Returns the destination at a path, relative to the working directory of the process unless it is absolute. For a symbolic
    /// link, the destination is the file that the link leads to, even if that file does not exist yet; the link stays.
    public static func file(_ path: some FilePathConvertible, _ options: Options = []) -> DownloadDestination {
        DownloadDestination(place: .file(path.filePath), options: options)
    }

    /// Returns a destination in a folder. The file gets the name that the response suggests (`Content-Disposition`, RFC 6266), or
    /// the last part of the URL's path, or else `download`. A suggested name is reduced to one path component without leading
    /// dots and control characters, of 200 bytes of UTF-8 at most.
    public static func directory(_ path: some FilePathConvertible, _ options: Options = []) -> DownloadDestination {
        DownloadDestination(place: .directory(path.filePath), options: options)
    }

    /// Returns a destination whose path a closure chooses when the head of the response has arrived. An error that the closure
    /// throws is the download's error.
    ///
    /// For a safe name that the response suggests, see ``Response/suggestedFileName``.
    public static func choosing(_ options: Options = [], _ choice: @escaping Choice) -> DownloadDestination {
        DownloadDestination(place: .choice(choice), options: options)
    }

    /// A new file in the folder for temporary files (`TMPDIR`, or else `/tmp`), which is the caller's to move or to delete. Only
    /// the user of the process may read the file, even if it resumes a partial file that others may read. Its partial file stays
    /// only for the resume data of ``DownloadRequest/cancelProducingResumeData()``.
    public static let temporary = DownloadDestination(place: .temporary, options: [])
}

extension Response {
    /// The name that the response suggests for a file with its body, made safe: see ``DownloadDestination/directory(_:_:)``.
    public var suggestedFileName: String {
        FileName.suggested(disposition: headers[.contentDisposition], url: url).text
    }
}
