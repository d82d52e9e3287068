public import FoundationEssentials

/// A recording of exchanges in the HTTP Archive format, version 1.2 (HAR), which the network panels of browsers read and write.
///
/// ``HARRecorder`` writes documents, and the cassettes of `TrellisTesting` are documents with sections of their own. Properties that HAR
/// does not know have names that begin with an underscore in the file (HAR 1.2, section "Custom fields"). Objects that this type does not
/// know, such as pages, are not kept.
public struct HARDocument: Sendable, Hashable {
    /// The name and the version of a program.
    public struct Creator: Sendable, Hashable, Codable {
        /// The name.
        public var name: String
        /// The version.
        public var version: String

        /// Creates the name and the version of a program.
        public init(name: String, version: String) {
            self.name = name
            self.version = version
        }
    }

    /// The program that has made the document. The default is the framework.
    public var creator: Creator
    /// The exchanges, in any order; their times are in ``Entry/startedDateTime``.
    public var entries: [Entry]
    /// A comment.
    public var comment: String?

    /// Creates a document.
    public init(entries: [Entry] = [], creator: Creator = .trellis, comment: String? = nil) {
        self.entries = entries
        self.creator = creator
        self.comment = comment
    }

    /// Creates a document from JSON.
    ///
    /// - Throws: `DecodingError` for data that is not a document.
    public init(json: Data) throws { self = try JSONDecoder().decode(HARDocument.self, from: json) }

    /// Returns the document as JSON with sorted keys.
    ///
    /// - Throws: `EncodingError` for a number that JSON does not have.
    public func json() throws -> Data { try Self.encoder.encode(self) }

    /// The encoder of documents and entries.
    package static var encoder: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }
}

extension HARDocument {
    /// Returns the comment of a document whose recorder has lost events; `nil` if there are none. No character of it is escaped in JSON.
    ///
    /// - Parameter count: The number of the events.
    static func comment(droppedEventCount count: Int) -> String? {
        guard count > 0 else { return nil }
        let events = count == 1 ? "1 event was" : "\(count) events were"
        return "\(events) lost, because the recorder was too slow: entries can be missing, or incomplete"
    }
}

extension HARDocument.Creator {
    /// The framework, with its version.
    public static let trellis = HARDocument.Creator(name: "Trellis", version: "0.2.0")
}

extension HARDocument: Codable {
    private enum Keys: String, CodingKey { case log }

    /// The one object of a document.
    private struct Log: Codable {
        var version: String?
        var creator: Creator?
        /// The pages. There are none, but some readers require the list.
        var pages: [Never]?
        var entries: [Entry]
        var comment: String?

        private enum CodingKeys: String, CodingKey { case version, creator, pages, entries, comment }

        init(_ document: HARDocument) {
            version = "1.2"
            creator = document.creator
            pages = []
            entries = document.entries
            comment = document.comment
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            creator = try container.decodeIfPresent(Creator.self, forKey: .creator)
            entries = try container.decode([Entry].self, forKey: .entries)
            comment = try container.decodeIfPresent(String.self, forKey: .comment)
        }
    }

    /// Decodes a document.
    ///
    /// - Throws: `DecodingError` if it has no log or no entries, or if one lacks its request or its response.
    public init(from decoder: any Decoder) throws {
        let log = try decoder.container(keyedBy: Keys.self).decode(Log.self, forKey: .log)
        self.init(
            entries: log.entries, creator: log.creator ?? Creator(name: "", version: ""), comment: log.comment)
    }

    /// Encodes the document.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Keys.self)
        try container.encode(Log(self), forKey: .log)
    }
}
