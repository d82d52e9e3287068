/// The reason why a cassette cannot answer a request. A request fails with ``/Trellis/TrellisError`` of kind `other`, whose reason is the
/// description of this error.
public enum CassetteError: Error, Sendable, Hashable {
    /// There is no file, and the mode is ``CassetteMode/none``.
    case missing(path: String, command: String)
    /// The file is not a HAR document. The line is counted from 1 on.
    case malformed(path: String, line: Int, reason: String)
    /// No recording matches a request. The request is without its secrets, and `nearest` names the recording that differs least from it,
    /// and the differences.
    case unmatched(request: String, path: String, nearest: String?, command: String)
    /// The file is being recorded by another transport of the process.
    case inUse(path: String)
    /// The file cannot be read or written.
    case file(path: String, reason: String)
    /// The recording ends where its reader left when it was recorded.
    case cut(request: String, command: String)
    /// A credential that a request was sent with, or that a response has set, is in the file that was recorded. The recording is counted
    /// from 1 on. Add a ``Scrubber``, and record anew; do not commit the file.
    case credential(path: String, entry: Int, request: String)
}

extension CassetteError: CustomStringConvertible {
    /// The reason in words, with the command that mends it.
    public var description: String {
        switch self {
        case .missing(let path, let command):
            "the cassette \(path) does not exist, and nothing is sent in the mode none; record it with\n"
                + "  \(command)\(Self.remark)"
        case .malformed(let path, let line, let reason): "the cassette \(path) cannot be read: line \(line): \(reason)"
        case .unmatched(let request, let path, let nearest, let command):
            "no recording in \(path) matches \(request)\n"
                + (nearest.map { "nearest: \($0)\n" } ?? "there are no recordings\n")
                + "record anew with\n  \(command)\(Self.remark)"
        case .inUse(let path):
            "the cassette \(path) is being recorded by another transport: each test needs a cassette of its own"
        case .file(let path, let reason): "the cassette \(path) cannot be used: \(reason)"
        case .cut(let request, let command):
            "the recording of \(request) ends here, because its reader left here; record anew with\n  \(command)"
        case .credential(let path, let entry, let request):
            "the cassette \(path) holds a credential in use, in entry \(entry) (\(request)): add a scrubber that removes it, "
                + "and record anew; do not commit the file"
        }
    }

    /// The remark about an environment variable that has no effect.
    private static var remark: String {
        CassetteMode.unknownValue.map { "\n(\(CassetteMode.variable) is \($0), which is no mode)" } ?? ""
    }
}
