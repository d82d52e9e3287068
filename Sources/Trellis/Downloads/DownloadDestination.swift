/// Where a download goes.
///
/// The bytes are written to a partial file in the same folder, `.NAME.trellis-part`, which takes its name when it is whole and
/// has been checked: whoever looks at the place sees no file, the old one, or the new one, and never a part.
public struct DownloadDestination: Sendable {
    /// What is done about the place.
    public struct Options: OptionSet, Sendable, Hashable {
        /// The bits.
        public let rawValue: Int

        /// Options of bits.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// Folders that are missing on the way are made.
        public static let createIntermediateDirectories = Options(rawValue: 1)
        /// A file that is there is replaced. Without it, that is an error.
        public static let removePreviousFile = Options(rawValue: 2)
        /// The file is on the disk, and not only on its way there, when the download returns (`fsync`).
        public static let synchronize = Options(rawValue: 4)
    }

    /// Chooses a path by the head of the response.
    public typealias Choice = @Sendable (_ response: Response) throws -> String

    enum Place: Sendable {
        case file(String)
        case directory(String)
        case choice(Choice)
        case temporary
    }

    let place: Place
    let options: Options

    /// A path, relative to the working directory of the process unless it is absolute. The file at the end of a symbolic link
    /// is meant, not the link.
    public static func file(_ path: String, _ options: Options = []) -> DownloadDestination {
        DownloadDestination(place: .file(path), options: options)
    }

    /// A folder. The file gets the name that the response suggests (`Content-Disposition`, RFC 6266), or the last part of the
    /// URL's path, or else `download`; of a suggested name only what is harmless is used: one component of a path, without
    /// leading dots and control characters, and 200 bytes of UTF-8 at most.
    public static func directory(_ path: String, _ options: Options = []) -> DownloadDestination {
        DownloadDestination(place: .directory(path), options: options)
    }

    /// A path that a closure chooses when the head of the response has come. What it throws is the download's error.
    ///
    /// For a safe name that the response suggests, see ``Response/suggestedFileName``.
    public static func choosing(_ options: Options = [], _ choice: @escaping Choice) -> DownloadDestination {
        DownloadDestination(place: .choice(choice), options: options)
    }

    /// A new file in the folder for temporary files (`TMPDIR`, `/tmp`), which is the caller's to move or to delete. Nobody but
    /// the process's user may read it.
    public static let temporary = DownloadDestination(place: .temporary, options: [])
}

extension Response {
    /// What a file with the body should be called, made harmless: see ``DownloadDestination/directory(_:_:)``.
    public var suggestedFileName: String {
        FileName.suggested(disposition: headerFields[.contentDisposition], url: url).text
    }
}
