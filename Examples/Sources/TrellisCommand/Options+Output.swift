import Glibc

/// Where the body goes.
enum OutputPlace {
    case standardOutput
    /// A device, a pipe: something that is written to rather than replaced.
    case special(String)
    /// A file, or files in a folder: whole or not at all.
    case file
}

extension Options {
    /// Where the body goes.
    var place: OutputPlace {
        guard let output, output != "-" else { return .standardOutput }
        let type = Self.fileType(output)
        return type == nil || type == S_IFREG || type == S_IFDIR ? .file : .special(output)
    }

    /// The folder of files that the server names: one that is there, or ends with a slash.
    var outputFolder: String? {
        guard let output, output != "-" else { return nil }
        return Self.fileType(output) == S_IFDIR || output.utf8.last == UInt8(ascii: "/") ? output : nil
    }

    /// What is at a path; `nil`: nothing.
    private static func fileType(_ path: String) -> mode_t? {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_mode & S_IFMT : nil
    }
}
