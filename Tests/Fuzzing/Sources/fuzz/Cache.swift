import CurlEngine
import FoundationEssentials
import HTTPTypes

@testable import TrellisCaching
@testable import TrellisCore

/// Checks that any fields of a response give a decision and a lifetime within its limits, that what is stored is read back as it was, and that
/// the directives do not depend on how a list is spread over lines.
func fuzzCacheFields(_ input: FuzzInput) {
    let lines = input.body.split(separator: 10, omittingEmptySubsequences: false).map {
        String(decoding: $0, as: UTF8.self)
    }
    let names: [HTTPField.Name] = [.cacheControl, .expires, .age, .vary, .date, .lastModified, .eTag, .contentRange]
    var fields = HTTPFields()
    for (index, line) in lines.enumerated() {
        let name = names[(index + Int(input.choice)) % names.count]
        fields.append(HTTPField(name: name, lenientValue: Array(line.utf8.filter { $0 >= 0x20 || $0 == 9 })))
    }
    let directives = CacheDirectives(parsing: lines)
    for directive in CacheDirective.allCases {
        if let seconds = directives.seconds(directive).number {
            expect(0...CacheDirectives.Seconds.maximum ~= seconds, "\(seconds) seconds")
        }
    }
    if !lines.contains(where: { $0.contains("\"") }) {
        expect(directives == CacheDirectives(parsing: [lines.joined(separator: ",")]), "other directives in one line")
    }
    _ = StructuredDictionary(parsing: lines)
    let head = StoredHead(
        status: input.choice & 1 == 0 ? 200 : 206, headers: fields, requestTime: CacheTime(milliseconds: 0),
        responseTime: CacheTime(milliseconds: Int64(input.choice)))
    let policy = CachePolicy(sharing: input.choice & 2 == 0 ? .private : .shared)
    let facts = CacheFacts(CachedHead(head, request: fields), Boxed(policy))
    expect(0...CacheDirectives.Seconds.maximum ~= facts.freshness.lifetime, "a lifetime without an end")
    for time in [Int64.min, -10_000, 0, 1, 1 << 40, .max] {
        let usability = CacheUsability(of: facts, for: directives, mode: .default, at: CacheTime(milliseconds: time))
        expect(usability.age >= 0, "a negative age")
    }
    _ = CacheStorability.decision(facts, to: .get, CacheRequestFields(fields))
    expectIsKept(CacheFileHead(CacheKey(url: lines[0], partition: "p"), CachedHead(head, request: fields)))
}

/// Checks that any bytes are no head, or one that is written as the same bytes' head is.
func fuzzCacheFile(_ input: FuzzInput) {
    let data = Data(input.body)
    if let head = CacheFileHead(data) { expectIsKept(head) }
    _ = CacheFileFormat.Prologue(data)
    _ = CacheFileFormat.Trailer(data)
    _ = CacheFileFormat.head(in: data, number: UInt64(input.choice))
    let place = CacheFileFormat.place(data, revision: UInt64(input.choice) + 1, number: 7)
    let read = CacheFileFormat.head(in: place + Data(count: Int(input.choice)), number: 7)
    expect(read?.head == data && read?.revision == UInt64(input.choice) + 1, "another head in the place")
    expect(CacheFileFormat.head(in: place, number: 8) == nil, "the head of another file")
    expect(CacheFileFormat.head(in: place.dropLast(), number: 7) == nil, "a head without its end")
}

/// Checks that a head is read as it was written, with the fields of the request that `Vary` names.
private func expectIsKept(_ head: CacheFileHead) {
    let encoded = head.encoded
    guard let read = CacheFileHead(encoded) else { return expect(false, "a head that cannot be read") }
    expect(read.encoded == encoded, "another head")
    expect(read.key.hasSameBytes(as: head.key), "another key")
}
