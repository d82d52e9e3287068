import FoundationEssentials
import HTTPTypes
import Trellis
import TrellisTesting

/// An entry whose head and body say which entry they belong to, so that a mixture is noticed.
struct Sample {
    /// The field whose length varies.
    static let padding = HTTPField.Name.server
    /// The field with the name of the entry.
    private static let name = HTTPField.Name.eTag
    private static let selected = HTTPField.Name.accept

    let number: UInt64
    let size: Int
    let variant: Int

    init(_ numbers: inout SeededGenerator) {
        number = numbers.next()
        size = [0, 90, 3000, 3000, 70_000, 300_000, 1_200_000][numbers.number(below: 7)]
        variant = numbers.number(below: 2)
    }

    private var text: String { "\(number) \(size)" }

    func head(_ key: CacheKey) -> CachedHead {
        let fields: HTTPFields = [Self.name: "\(key.url) \(variant) \(text)", .vary: "Accept"]
        let now = Date()
        return CachedHead(
            status: .ok, headers: fields, requestHeaders: [Self.selected: "\(variant)"], requestDate: now,
            responseDate: now)
    }

    func body(_ key: CacheKey) -> Data { Self.body("\(key.url) \(variant) \(text)", size, number) }

    private static func body(_ text: String, _ size: Int, _ number: UInt64) -> Data {
        // The pattern has a prime length, so that no two blocks of a body are the same.
        var numbers = SeededGenerator(seed: number)
        let pattern = Data((0..<4093).map { _ in UInt8(truncatingIfNeeded: numbers.next()) })
        var body = Data("\(text)\n".utf8)
        let end = body.count + size
        while body.count < end { body += pattern.prefix(end - body.count) }
        return body
    }

    /// Returns the reason why an entry is wrong; `nil` for one as it was stored.
    static func problem(_ key: CacheKey, _ head: CachedHead, _ body: Data) -> String? {
        guard let text = head.headers[name] else { return "no name in \(head.headers)" }
        let parts = text.split(separator: " ")
        guard parts.count == 4, parts[0] == key.url[...], let number = UInt64(parts[2]), let size = Int(parts[3]) else {
            return "another name: \(text)"
        }
        guard head.requestHeaders[selected] == String(parts[1]) else { return "another variant than \(text)" }
        return body == Self.body(text, size, number) ? nil : "\(body.count) other bytes than \(text)"
    }
}

extension SeededGenerator {
    /// Returns a number from 0 to less than `count`.
    mutating func number(below count: Int) -> Int { Int.random(in: 0..<count, using: &self) }
}
