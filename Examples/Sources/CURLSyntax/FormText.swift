public import FoundationEssentials
import Glibc

/// The values of curl's options about forms and data.
public enum FormText {
    /// Returns the text that `--data-urlencode` sends: `content`, `=content`, `name=content`, `@file` or `name@file`.
    static func urlencoded(_ argument: String) throws -> String {
        // An equals sign counts before an @: `me@home=1` is no file.
        let bytes = argument.utf8
        guard let mark = bytes.firstIndex(of: UInt8(ascii: "=")) ?? bytes.firstIndex(of: UInt8(ascii: "@")) else {
            return encoded(Data(argument.utf8))
        }
        let name = argument[..<mark]
        let rest = String(argument[argument.utf8.index(after: mark)...])
        let content = argument.utf8[mark] == UInt8(ascii: "@") ? try contents(of: rest) : Data(rest.utf8)
        return (name.isEmpty ? "" : "\(name)=") + encoded(content)
    }

    /// Returns bytes as curl encodes them: every byte but letters, digits and `-._~` is a percent sign and two digits.
    private static func encoded(_ bytes: Data) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        let text = bytes.flatMap { byte -> [UInt8] in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E: [byte]
            default: [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Returns the value of `-F` as one of `--part`: `name=<file` is the text of the file, and a text may have a type.
    static func part(_ argument: String) throws -> String {
        guard let mark = argument.utf8.firstIndex(of: UInt8(ascii: "=")) else { return argument }
        let name = argument[..<mark], value = argument[argument.utf8.index(after: mark)...]
        switch value.utf8.first {
        case UInt8(ascii: "@"): return argument
        case UInt8(ascii: "<"):
            let path = value.dropFirst()
            let type = path.cut(before: ";type=")
            let text = String(decoding: try contents(of: String(type?.0 ?? path)), as: UTF8.self)
            return type.map { Marker.typed + "\(name)=\(text)\($0.1)" } ?? Marker.literal + "\(name)=\(text)"
        default: return (value.contains(";type=") ? Marker.typed : Marker.literal) + argument
        }
    }

    /// Returns the lines of a file that are not empty.
    static func lines(of path: String) throws -> [String] {
        try contents(of: path).split { $0 == 0x0A || $0 == 0x0D }.map { String(decoding: $0, as: UTF8.self) }
    }

    /// Returns the bytes of a file; `-` is standard input.
    public static func contents(of path: String) throws -> Data {
        // FoundationEssentials reads regular files alone.
        let descriptor = path == "-" ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC)
        let failure = { UsageFailure("The file \(path) cannot be read: \(String(cString: strerror(errno))).") }
        guard descriptor >= 0 else { throw failure() }
        defer { close(descriptor) }
        var bytes = Data(), chunk = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = read(descriptor, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw failure() }
            guard count > 0 else { return bytes }
            bytes += chunk.prefix(count)
        }
    }
}

/// A number of bytes as curl writes it: `1000`, `200K`, `1.5M`, `2G`.
public enum ByteCount {
    /// Returns the number of bytes.
    public static func bytes(_ text: String, _ option: String) throws -> Int {
        let units = Dictionary(uniqueKeysWithValues: zip("bkmgt".utf8, [1, 1024, 0x1p20, 0x1p30, 0x1p40]))
        // The bit in which the cases of an ASCII letter differ.
        let unit = text.utf8.last.flatMap { units[$0 | 0x20] }
        guard let number = Double(unit == nil ? text : String(text.dropLast())), number >= 0, number < 1e15 else {
            throw UsageFailure("\(option): '\(text)' is no number of bytes, such as 500, 200K or 1M.")
        }
        return Int(number * (unit ?? 1))
    }
}

extension Substring {
    /// Returns the text before some ASCII text, and the rest; `nil` if it is not there.
    func cut(before mark: String) -> (Substring, Substring)? {
        var index = startIndex
        while index < endIndex {
            if utf8[index...].starts(with: mark.utf8) { return (self[..<index], self[index...]) }
            index = utf8.index(after: index)
        }
        return nil
    }

    /// Returns the text without a suffix.
    func dropping(suffix: String) -> Substring { hasSuffix(suffix) ? dropLast(suffix.count) : self }
}
