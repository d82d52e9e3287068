import CurlEngine
import FoundationEssentials
import Synchronization

/// The media types of files by the last extension of their name.
struct MIMETypes: Sendable {
    /// The media types by extension, in lower case.
    private var types: [String: String]

    /// The tables of the system, completed by a small table of this library. The tables are read once: by ``load()``, or by the
    /// caller's thread if a type is needed before that.
    static let system = {
        let types = MIMETypes(
            mimeTypes: text(ofFileAt: "/etc/mime.types"), globs: text(ofFileAt: "/usr/share/mime/globs2"))
        isLoaded.store(true, ordering: .releasing)
        return types
    }()

    /// Whether the tables of the system have been read.
    static let isLoaded = Atomic(false)

    /// Reads the tables of the system on a thread that may wait for a disk, unless the tables have been read.
    ///
    /// - Throws: `CancellationError` in a cancelled task, without waiting for the disk.
    static func load() async throws {
        guard !isLoaded.load(ordering: .acquiring) else { return }
        try await BlockingThreadPool.runUnlessCancelled { _ = system }
    }

    /// Creates a table from texts. The first source that lists an extension wins: `mimeTypes`, then `globs`, then the built-in
    /// table.
    ///
    /// - Parameters:
    ///   - mimeTypes: The lines of a type and its extensions, as in `/etc/mime.types`.
    ///   - globs: The lines of a weight, a type and a pattern, as in `/usr/share/mime/globs2` of the freedesktop.org
    ///     specification: the heaviest first.
    init(mimeTypes: String, globs: String) {
        types = Self.parse(mimeTypes: mimeTypes)
        types.merge(Self.parse(globs: globs)) { first, _ in first }
        types.merge(Self.builtIn) { first, _ in first }
    }

    /// Returns the type of a file with a name; `nil` if the extension is unknown.
    func type(ofFileNamed name: String) -> String? {
        guard let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")) else { return nil }
        return types[name[name.utf8.index(after: dot)...].lowercasedASCII()]
    }

    private static func text(ofFileAt path: String) -> String {
        guard let bytes = try? Data(contentsOf: URL(filePath: path)) else { return "" }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func parse(mimeTypes text: String) -> [String: String] {
        var types: [String: String] = [:]
        for line in text.utf8.split(separator: 10) {
            let words = line.prefix { $0 != UInt8(ascii: "#") }.split { $0 == 9 || $0 == 13 || $0 == 32 }
            guard words.count > 1, let type = mediaType(words[0]) else { continue }
            for word in words.dropFirst() {
                let ending = String(Substring(word)).lowercasedASCII()
                if types[ending] == nil { types[ending] = type }
            }
        }
        return types
    }

    private static func parse(globs text: String) -> [String: String] {
        var types: [String: String] = [:]
        for line in text.utf8.split(separator: 10) {
            let words = line.split(separator: UInt8(ascii: ":"), maxSplits: 3)
            guard words.count >= 3, let type = mediaType(words[1]), words[2].starts(with: "*.".utf8) else { continue }
            let ending = String(Substring(words[2].dropFirst(2))).lowercasedASCII()
            if types[ending] == nil { types[ending] = type }
        }
        return types
    }

    /// Returns a type as text if it can be a field value of two tokens (RFC 9110, section 8.3.1); `nil` otherwise.
    private static func mediaType(_ bytes: Substring.UTF8View) -> String? {
        let isType = bytes.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            default: "!#$&-^_.+/".utf8.contains(byte)
            }
        }
        guard isType, bytes.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).count == 2
        else { return nil }
        return String(Substring(bytes))
    }

    /// The table of this library, for extensions that the system does not list.
    private static let builtIn: [String: String] = [
        "aac": "audio/aac", "avif": "image/avif", "bin": "application/octet-stream", "bmp": "image/bmp",
        "bz2": "application/x-bzip2", "css": "text/css", "csv": "text/csv", "docx": word,
        "epub": "application/epub+zip",
        "flac": "audio/flac", "gif": "image/gif", "gz": "application/gzip", "heic": "image/heic", "htm": "text/html",
        "html": "text/html", "ico": "image/vnd.microsoft.icon", "ics": "text/calendar", "jpeg": "image/jpeg",
        "jpg": "image/jpeg", "js": "text/javascript", "json": "application/json", "jsonl": "application/jsonl",
        "m4a": "audio/mp4", "md": "text/markdown", "mjs": "text/javascript", "mov": "video/quicktime",
        "mp3": "audio/mpeg", "mp4": "video/mp4", "mpeg": "video/mpeg", "ndjson": "application/x-ndjson",
        "oga": "audio/ogg", "ogg": "audio/ogg", "ogv": "video/ogg", "opus": "audio/ogg", "otf": "font/otf",
        "pdf": "application/pdf", "png": "image/png", "pptx": slides, "rtf": "application/rtf", "svg": "image/svg+xml",
        "tar": "application/x-tar", "tif": "image/tiff", "tiff": "image/tiff", "toml": "application/toml",
        "ttf": "font/ttf", "txt": "text/plain", "wasm": "application/wasm", "wav": "audio/wav", "webm": "video/webm",
        "webp": "image/webp", "woff": "font/woff", "woff2": "font/woff2", "xhtml": "application/xhtml+xml",
        "xlsx": sheet, "xml": "application/xml", "xz": "application/x-xz", "yaml": "application/yaml",
        "yml": "application/yaml", "zip": "application/zip", "zst": "application/zstd",
        "7z": "application/x-7z-compressed",
    ]
    private static let office = "application/vnd.openxmlformats-officedocument."
    private static let word = office + "wordprocessingml.document"
    private static let sheet = office + "spreadsheetml.sheet"
    private static let slides = office + "presentationml.presentation"
}
