import CurlEngine
import TrellisCore

/// The data with which an unfinished download is resumed: the path of its partial file, and the representation that this is a
/// part of.
///
/// ```swift
/// if let data = await download.cancelProducingResumeData() {
///     try JSONEncoder().encode(data).write(to: url)
/// }
/// …
/// let data = try JSONDecoder().decode(ResumeData.self, from: Data(contentsOf: url))
/// let file = try await session.downloadRequest(resuming: data, to: .file(path)).value
/// ```
///
/// The value holds the URL as it was requested, without user information, the URL that redirects led to, without the query, and
/// no header fields of the request. The bytes themselves are in the partial file alone: the value is small.
public struct ResumeData: Sendable, Hashable {
    /// The URL that was requested.
    public let url: String
    /// The path of the partial file.
    public let path: String
    /// The number of bytes that have arrived.
    public var receivedBytes: Int64 { done.reduce(0) { $0 + Int64($1.count) } }
    /// The total number of bytes; `nil` if unknown.
    public let totalBytes: Int64?
    /// The validator with which the rest is requested.
    let validator: StrongValidator
    /// The URL of the response, after all redirects; `nil` if unknown.
    let resource: String?
    /// The byte ranges that are on the disk and not only on their way there, in order, apart from each other.
    let done: [Range<Int64>]
    /// The bytes that were written, which count as long as the same boot of the machine lasts; `nil` if only ``done`` counts.
    let pending: Pending?
    /// The size and the modification time of the partial file after the last byte was written; `nil` if more may have been written
    /// since.
    let stamp: PartialFile.Stamp?

    /// Bytes that the kernel has been given, and the disk may not have.
    struct Pending: Hashable, Sendable {
        /// The ``BootID/id`` of the boot in which they were written.
        let boot: String
        /// The byte ranges, in order, as far as the partial file is long enough.
        let written: [Range<Int64>]

        /// Creates the bytes of the present boot; `nil` if the boot has no ID.
        init?(_ written: [Range<Int64>]) {
            guard let boot = BootID.id else { return nil }
            self.init(boot: boot, written: written)
        }

        init(boot: String, written: [Range<Int64>]) {
            self.boot = boot
            self.written = written
        }
    }

    /// The version of the format that is written. Data of another version cannot be read.
    static let version = 1

    init(
        url: String, path: String, done: [Range<Int64>], totalBytes: Int64?, validator: StrongValidator,
        resource: String? = nil, stamp: PartialFile.Stamp? = nil, pending: Pending? = nil
    ) {
        self.resource = resource
        self.pending = pending
        self.url = url
        self.path = path
        self.done = done
        self.totalBytes = totalBytes
        self.validator = validator
        self.stamp = stamp
    }

    /// Creates the data; `nil` if the representation has no validator.
    init?(
        _ representation: Representation, url: String, path: String, done: [Range<Int64>],
        stamp: PartialFile.Stamp? = nil, pending: Pending? = nil
    ) {
        guard let validator = representation.validator else { return nil }
        self.init(
            url: url, path: path, done: done, totalBytes: representation.total, validator: validator,
            resource: representation.resource, stamp: stamp, pending: pending)
    }

    /// Returns a copy with other bytes.
    func with(done: [Range<Int64>], pending: Pending? = nil) -> ResumeData {
        ResumeData(
            url: url, path: path, done: done, totalBytes: totalBytes, validator: validator, resource: resource,
            stamp: stamp, pending: pending)
    }

    /// The representation that the partial file is a part of.
    var representation: Representation {
        Representation(validator: validator, total: totalBytes, resource: resource)
    }
}

extension ResumeData: Codable {
    private enum Key: String, CodingKey {
        case version, url, resource, path, done, total, entityTag, lastModified, size, modified, synced, boot, written
    }

    /// Decodes resume data.
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/resumeData`` if the data are of another version or contradict
    ///   themselves; `DecodingError` if the input is something else.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: Key.self)
        let version = try values.decode(Int.self, forKey: .version)
        guard version == Self.version else {
            throw TrellisError(
                .downloadFailed(.resumeData("it is of version \(version), and \(Self.version) is known")))
        }
        url = try values.decode(String.self, forKey: .url)
        resource = try values.decodeIfPresent(String.self, forKey: .resource)
        path = try values.decode(String.self, forKey: .path)
        totalBytes = try values.decodeIfPresent(Int64.self, forKey: .total)
        if let tag = try values.decodeIfPresent(String.self, forKey: .entityTag) {
            validator = .entityTag(tag)
        } else {
            validator = .lastModified(try values.decode(String.self, forKey: .lastModified))
        }
        let done = try Self.ranges(values.decode([[Int64]].self, forKey: .done))
        let size = try values.decodeIfPresent(Int64.self, forKey: .size)
        let modified = try values.decodeIfPresent(Int64.self, forKey: .modified)
        stamp = size.flatMap { size in modified.map { PartialFile.Stamp(size: size, modified: $0) } }
        // Checkpoints of earlier releases without a stamp may have reached the disk before their bytes.
        let isSynced = try values.decodeIfPresent(Bool.self, forKey: .synced) ?? (stamp != nil)
        self.done = isSynced ? done : []
        let boot = try values.decodeIfPresent(String.self, forKey: .boot)
        let written = try Self.ranges(values.decodeIfPresent([[Int64]].self, forKey: .written) ?? [])
        pending = boot.map { Pending(boot: $0, written: written) }
        let end = max(done.last?.upperBound ?? 0, written.last?.upperBound ?? 0)
        let isSound =
            !path.isEmpty && !path.utf8.contains(0) && validator.text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
        guard isSound, end <= totalBytes ?? .max else {
            throw TrellisError(.downloadFailed(.resumeData("it contradicts itself")))
        }
    }

    private static func pairs(_ ranges: [Range<Int64>]) -> [[Int64]] { ranges.map { [$0.lowerBound, $0.upperBound] } }

    /// Returns the ranges of pairs of positions, which have to be in order and must not overlap.
    private static func ranges(_ pairs: [[Int64]]) throws -> [Range<Int64>] {
        var ranges: [Range<Int64>] = []
        for pair in pairs {
            guard pair.count == 2, pair[0] >= ranges.last?.upperBound ?? 0, pair[0] <= pair[1] else {
                throw TrellisError(.downloadFailed(.resumeData("its ranges are in disorder")))
            }
            if let last = ranges.last, last.upperBound == pair[0] {
                // Adjacent ranges are joined, so that a complete file is one range.
                ranges[ranges.count - 1] = last.lowerBound..<pair[1]
            } else {
                ranges.append(pair[0]..<pair[1])
            }
        }
        return ranges
    }

    /// Encodes the resume data.
    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: Key.self)
        try values.encode(Self.version, forKey: .version)
        try values.encode(url, forKey: .url)
        try values.encodeIfPresent(resource, forKey: .resource)
        try values.encode(path, forKey: .path)
        try values.encode(Self.pairs(done), forKey: .done)
        try values.encode(true, forKey: .synced)
        try values.encodeIfPresent(pending?.boot, forKey: .boot)
        try values.encodeIfPresent(pending.map { Self.pairs($0.written) }, forKey: .written)
        try values.encodeIfPresent(totalBytes, forKey: .total)
        try values.encodeIfPresent(stamp?.size, forKey: .size)
        try values.encodeIfPresent(stamp?.modified, forKey: .modified)
        switch validator {
        case .entityTag(let tag): try values.encode(tag, forKey: .entityTag)
        case .lastModified(let text): try values.encode(text, forKey: .lastModified)
        }
    }
}

extension ResumeData {
    /// Returns the URL of a request as it is stored in resume data: without user information and fragment.
    static func name(of url: String) -> String {
        let text = url.prefix(beforeBytes: "#")
        guard let mark = text.utf8.firstRange(of: "://".utf8) else { return String(text) }
        let authority = text[mark.upperBound...].prefix(beforeBytes: "/?")
        guard let at = authority.lastIndex(ofByte: "@") else { return String(text) }
        return String(text[..<mark.upperBound]) + text[text.utf8.index(after: at)...]
    }
}
