import FoundationEssentials
import HTTPTypes

@testable import TrellisCore

/// The model of multipart forms: the expected bytes, and whether a form is valid.
extension FormDataSpec {
    /// Returns whether the form breaks no rule.
    func isPossible(inside outer: [String] = []) -> Bool {
        let characters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'()+_,-./:=?"
        guard 1...70 ~= boundary.utf8.count, boundary.utf8.allSatisfy(characters.utf8.contains),
            !outer.contains(where: { boundary.utf8.starts(with: $0.utf8) })
        else { return false }
        return parts.allSatisfy { part in
            if part.name == nil, isForm, part.fields[.contentDisposition] == nil { return false }
            if let type = part.type, part.fields[.contentType] == nil,
                type.utf8.contains(where: { [0, 10, 13].contains($0) })
            {
                return false
            }
            switch part.content {
            case .data: return true
            case .stream(_, let promised): return promised == nil || promised == Int64(part.content.bytes.count)
            case .mixed(let inner): return inner.isPossible(inside: outer + [boundary])
            }
        }
    }

    /// Whether the length is known before the streams are read.
    var hasLength: Bool {
        parts.allSatisfy {
            switch $0.content {
            case .data, .stream(_, _?): true
            case .stream(_, nil): false
            case .mixed(let inner): inner.hasLength
            }
        }
    }

    /// Returns whether a line in a part begins with the boundary of this form or of a form around it. Only the user can prevent this.
    func holdsBoundary(around: [String] = []) -> Bool {
        let markers = around + ["--\(boundary)"]
        return parts.contains { part in
            if part.fields.contains(where: { field in markers.contains { field.name.rawName.hasPrefix($0) } }) {
                return true
            }
            if case .mixed(let inner) = part.content { return inner.holdsBoundary(around: markers) }
            return part.content.bytes.split(separator: 10, omittingEmptySubsequences: false).contains { line in
                markers.contains { line.starts(with: $0.utf8) }
            }
        }
    }

    /// The form's `Content-Type`.
    var type: String {
        let isToken = !boundary.utf8.contains { "(),/:=?".utf8.contains($0) }
        return "multipart/\(isForm ? "form-data" : "mixed"); boundary=\(isToken ? boundary : "\"\(boundary)\"")"
    }
}

extension FormDataSpec.Part.Content {
    /// The bytes of data and streams.
    var bytes: [UInt8] {
        switch self {
        case .data(let data): Array(data)
        case .stream(let chunks, _): chunks.flatMap { $0 }
        case .mixed: []
        }
    }
}

extension FormDataSpec.Part {
    /// Returns the lines of the head as the encoder should write them.
    func head(isForm: Bool) -> [[UInt8]] {
        var lines: [[UInt8]] = []
        let hasDisposition = isForm || name != nil || fileName != nil
        if hasDisposition, fields[.contentDisposition] == nil {
            var line = Array("Content-Disposition: \(isForm ? "form-data" : "attachment")".utf8)
            if let name { line += "; name=\"".utf8 + Self.escaped(Self.paired(name.unicodeScalars)) + "\"".utf8 }
            if let fileName { line += "; filename=\"".utf8 + Self.escaped(fileName.unicodeScalars) + "\"".utf8 }
            lines.append(line)
        }
        if fields[.contentType] == nil, let type = expectedType { lines.append(Array("Content-Type: \(type)".utf8)) }
        return lines + fields.map { Array("\($0.name.rawName): \($0.value)".utf8) }
    }

    private var expectedType: String? {
        if let type { return type }
        if case .mixed(let inner) = content { return inner.type }
        return fileName.map { MIMETypes.system.type(ofFileNamed: $0) ?? "application/octet-stream" }
    }

    /// Returns the text with every line break as CR LF.
    private static func paired(_ text: String.UnicodeScalarView) -> String.UnicodeScalarView {
        var result = String.UnicodeScalarView()
        var rest = Substring.UnicodeScalarView(text)
        while let scalar = rest.popFirst() {
            if scalar == "\r", rest.first == "\n" { rest.removeFirst() }
            result.append(
                contentsOf: scalar == "\r" || scalar == "\n" ? "\r\n".unicodeScalars : String(scalar).unicodeScalars)
        }
        return result
    }

    private static func escaped(_ text: String.UnicodeScalarView) -> [UInt8] {
        text.flatMap { scalar -> [UInt8] in
            switch scalar {
            case "\"": Array("%22".utf8)
            case "\r": Array("%0D".utf8)
            case "\n": Array("%0A".utf8)
            default: Array(String(scalar).utf8)
            }
        }
    }
}
