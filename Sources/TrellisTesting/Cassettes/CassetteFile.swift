import CurlEngine
import FoundationEssentials
import TrellisCore
import TrellisDiagnostics

/// The recordings in the file of a cassette, which are decoded when they are needed.
struct CassetteFile: Sendable {
    private let document: Data
    private let index: CassetteIndex
    /// The positions of the entries that have the same method and URL, in the order of the file.
    private let positions: [String: [Int]]

    /// The largest size of a file in bytes.
    private static let maximumSize = 1 << 30

    /// Creates a file without recordings.
    init() { (document, index, positions) = (Data(), CassetteIndex(), [:]) }

    /// Reads the file of a cassette, if any. Waits for the disk.
    init?(_ cassette: Cassette) throws(CassetteError) {
        let document: Data
        do throws(FileError) {
            guard let file = try WholeFile.read(path: cassette.path, limit: Self.maximumSize) else { return nil }
            document = file.data
        } catch {
            throw .file(path: cassette.path, reason: error.reason)
        }
        try self.init(document, cassette)
    }

    /// Creates the recordings of a document.
    init(_ document: Data, _ cassette: Cassette) throws(CassetteError) {
        do throws(CassetteIndex.Malformed) {
            index = try CassetteIndex(document)
        } catch {
            throw .malformed(path: cassette.path, line: Self.line(of: error.offset, in: document), reason: error.reason)
        }
        self.document = document
        var positions: [String: [Int]] = [:]
        positions.reserveCapacity(index.places.count)
        for (position, place) in index.places.enumerated() {
            positions[cassette.matching.key(method: place.method, url: place.url), default: []].append(position)
        }
        self.positions = positions
    }

    /// The number of recordings.
    var count: Int { index.places.count }

    /// Returns the positions of the recordings with a key, in the order of the file.
    func positions(of key: String) -> [Int] { positions[key] ?? [] }

    /// Returns the request line of a recording without what the scrubbers remove: a file of a browser has its secrets.
    func name(_ position: Int, of cassette: Cassette) -> String {
        let place = index.places[position]
        let request = cassette.scrubbed(HARDocument.Request(method: place.method, url: place.url))
        return "\(request.method) \(request.url)"
    }

    /// Returns the bytes of a recording.
    func bytes(_ position: Int) -> Data {
        let range = index.places[position].range
        return document.subdata(in: range.lowerBound + document.startIndex..<range.upperBound + document.startIndex)
    }

    /// Returns a recording.
    func entry(_ position: Int, of cassette: Cassette) throws(CassetteError) -> HARDocument.Entry {
        do {
            return try JSONDecoder().decode(HARDocument.Entry.self, from: bytes(position))
        } catch {
            let line = Self.line(of: index.places[position].range.lowerBound, in: document)
            throw .malformed(
                path: cassette.path, line: line, reason: "the entry that begins here: \(Self.text(of: error))")
        }
    }

    private static func line(of offset: Int, in document: Data) -> Int {
        document.prefix(offset).reduce(1) { $1 == 0x0A ? $0 + 1 : $0 }
    }

    /// Returns an error of a decoder in words.
    private static func text(of error: any Error) -> String {
        switch error as? DecodingError {
        case .keyNotFound(let key, let context)?: "\(path(context)) has no member \"\(key.stringValue)\""
        case .typeMismatch(_, let context)?, .valueNotFound(_, let context)?:
            "\(path(context)) has a value of another type: \(context.debugDescription)"
        case .dataCorrupted(let context)?: context.debugDescription
        default: "\(error)"
        }
    }

    private static func path(_ context: DecodingError.Context) -> String {
        context.codingPath.isEmpty ? "it" : context.codingPath.map(\.stringValue).joined(separator: ".")
    }
}

extension CassetteFile {
    /// Returns recordings as a document.
    static func document(_ entries: [Data]) throws -> Data {
        let creator = try HARDocument.encoder.encode(HARDocument.Creator.trellis)
        var document = Data("{\"log\": {\"version\": \"1.2\", \"creator\": ".utf8)
        document.append(creator)
        document.append(contentsOf: ", \"pages\": [], \"entries\": [\n".utf8)
        for (number, entry) in entries.enumerated() {
            if number > 0 { document.append(contentsOf: ",\n".utf8) }
            document.append(entry)
        }
        document.append(contentsOf: "\n]}}\n".utf8)
        return document
    }

    /// Returns a recording as JSON, with a line for each property, so that changes of a file can be read.
    static func encoded(_ entry: HARDocument.Entry) throws -> Data {
        let encoder = HARDocument.encoder
        encoder.outputFormatting.insert(.prettyPrinted)
        return try encoder.encode(entry)
    }
}
