import CurlEngine
import FoundationEssentials
import HTTPTypes
import TrellisCore

/// The form of a request in which it is signed (AWS Signature Version 4, "Create a canonical request").
struct AWSCanonicalRequest {
    /// The canonical request.
    let bytes: [UInt8]
    /// The names of the signed fields in lower case, with semicolons between them.
    let signedFields: String

    /// - Parameters:
    ///   - query: The query, which may have more items than the request's.
    ///   - payload: The hash of the body, or the word for it.
    ///   - unsigned: The names of fields that are not signed, in lower case.
    init(
        _ request: WireRequest, query: String?, payload: String, pathRule: AWSSigner.PathRule, unsigned: Set<String>
    ) {
        var fields: [String: [[UInt8]]] = ["host": [Array(request.authority.utf8)]]
        for field in request.headers where !unsigned.contains(field.name.canonicalName) {
            fields[field.name.canonicalName, default: []].append(field.sentOctets)
        }
        let names = fields.keys.sorted()
        signedFields = names.joined(separator: ";")
        let path = pathRule.canonical(request.target == "*" ? "/" : request.path)
        var bytes = Array("\(request.method.rawValue)\n\(path)\n\(Self.canonical(query: query ?? ""))\n".utf8)
        for name in names {
            let values = (fields[name] ?? []).map(Self.collapsed)
            bytes +=
                Array("\(name):".utf8) + Array(values.joined(separator: [UInt8(ascii: ",")])) + [UInt8(ascii: "\n")]
        }
        self.bytes = bytes + Array("\n\(signedFields)\n\(payload)".utf8)
    }

    /// Returns a query with its items decoded, encoded in the one way that counts, and sorted.
    private static func canonical(query: String) -> String {
        let items = query.split(atByte: "&").map { item in
            let name = item.utf8.prefix { $0 != UInt8(ascii: "=") }
            return (name: AWSEncoding.again(name), value: AWSEncoding.again(item.utf8.dropFirst(name.count + 1)))
        }
        let sorted = items.sorted { ($0.name, $0.value) < ($1.name, $1.value) }
        return sorted.map { "\($0.name)=\($0.value)" }.joined(separator: "&")
    }

    /// Returns a value with one space for several, and none around it.
    private static func collapsed(_ value: [UInt8]) -> [UInt8] {
        let words = value.split { $0 == 0x20 || $0 == 0x09 }
        return Array(words.joined(separator: [0x20]))
    }
}

/// The percent-encoding of AWS: every byte but letters, digits and `-._~`.
enum AWSEncoding {
    static func encode(_ text: String) -> String { PercentEncoding.encode(text, plain: "-._~") }

    /// Returns a part of a URL decoded and encoded: a plus sign is one, and no space.
    static func again(_ text: some Collection<UInt8>) -> String {
        FormText.bytes(text, plusIsSpace: false).map { byte in
            let isPlain = 0x30...0x39 ~= byte || 0x61...0x7A ~= byte | 0x20 || "-._~".utf8.contains(byte)
            return isPlain ? String(UnicodeScalar(byte)) : byte.percentEncoded
        }.joined()
    }
}

extension AWSSigner.PathRule {
    /// Returns the path that is signed, of the one that is sent.
    fileprivate func canonical(_ path: String) -> String {
        let segments = path.split(atByte: "/", omittingEmptySubsequences: false)
        if self == .s3 { return segments.map { AWSEncoding.again($0.utf8) }.joined(separator: "/") }
        var kept: [String] = []
        for segment in segments where !segment.isEmpty && segment != "." {
            if segment == ".." { _ = kept.popLast() } else { kept.append(AWSEncoding.encode(String(segment))) }
        }
        let endsInSlash = segments.last.map { $0.isEmpty || $0 == "." || $0 == ".." } ?? false
        return "/" + kept.joined(separator: "/") + (endsInSlash && !kept.isEmpty ? "/" : "")
    }
}
