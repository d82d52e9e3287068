import Glibc

/// The destination of the body.
enum OutputPlace {
    case standardOutput
    /// A device or a pipe, to which bytes are written and which is not replaced.
    case special(String)
    /// A file, or files in a folder. Each is complete, or it does not exist.
    case file
}

extension Options {
    /// The destination of the body.
    var place: OutputPlace {
        guard let output = places.output, output != "-" else { return .standardOutput }
        let type = Self.fileType(output)
        return type == nil || type == S_IFREG || type == S_IFDIR ? .file : .special(output)
    }

    /// The folder for files that the server names: a folder that exists, or a path that ends with a slash.
    var outputFolder: String? {
        guard let output = places.output, output != "-" else { return nil }
        return Self.fileType(output) == S_IFDIR || output.utf8.last == UInt8(ascii: "/") ? output : nil
    }

    /// Returns the type of the file at a path; `nil` if there is none.
    private static func fileType(_ path: String) -> mode_t? {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_mode & S_IFMT : nil
    }
}
