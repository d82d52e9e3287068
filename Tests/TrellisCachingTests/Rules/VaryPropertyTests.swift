import CurlEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCaching
@testable import TrellisCore

/// No stored byte is ever the response to a request that differs in a field named by `Vary` (RFC 9111, section 4.1): random responses and
/// requests, with the policy and a storage in memory, compared with a reading of the fields that shares no code with them.
struct VaryPropertyTests {
    /// The names of fields, among them those of credentials and of a condition, which decide about more than the selection.
    private static let names = [
        "X-A", "X-B", "Accept", "Accept-Language", "Accept-Encoding", "Authorization", "If-None-Match",
    ]
    private static let elements = ["a", "A", "b", "en", "EN", "de;q=0.5", "de; q=0.5", "\"x, y\"", "\"x,y\"", "*"]

    /// A field as lines.
    private struct Field {
        let name: String
        let lines: [String]
    }

    // MARK: Random messages

    private static func pick<Element>(_ list: [Element], _ generator: inout SeededGenerator) -> Element {
        list[Int.random(in: 0..<list.count, using: &generator)]
    }

    /// Returns a name in some mixture of cases.
    private static func mixed(_ name: String, _ generator: inout SeededGenerator) -> String {
        pick([name, name.lowercased(), name.uppercased()], &generator)
    }

    /// Returns a list spread over lines, with blanks and empty elements.
    private static func lines(_ elements: [String], _ generator: inout SeededGenerator) -> [String] {
        var lines = [""]
        for (index, element) in elements.enumerated() {
            if index > 0 {
                if Bool.random(using: &generator) {
                    lines.append("")
                } else {
                    lines[lines.count - 1] += pick([",", ", ", " ,", ",\t", ", ,"], &generator)
                }
            }
            lines[lines.count - 1] += element
        }
        if Int.random(in: 0..<4, using: &generator) == 0 { lines[lines.count - 1] += "," }
        return lines
    }

    private static func request(_ generator: inout SeededGenerator) -> [Field] {
        names.compactMap { name in
            let count = Int.random(in: -1...2, using: &generator)
            guard count >= 0 else { return nil }
            let chosen = (0..<count).map { _ in pick(elements, &generator) }
            return Field(name: mixed(name, &generator), lines: lines(chosen, &generator))
        }
    }

    private static func vary(_ generator: inout SeededGenerator) -> [Field] {
        var named = names.filter { _ in Int.random(in: 0..<3, using: &generator) == 0 }
            .map { mixed($0, &generator) }
        if let first = named.first, Bool.random(using: &generator) { named.append(mixed(first, &generator)) }
        if Int.random(in: 0..<10, using: &generator) == 0 { named.append("*") }
        named.shuffle(using: &generator)
        return named.isEmpty && Bool.random(using: &generator)
            ? [] : [Field(name: mixed("Vary", &generator), lines: lines(named, &generator))]
    }

    private static func fields(_ fields: [Field]) throws -> HTTPFields {
        var result = HTTPFields()
        for field in fields {
            let name = try #require(HTTPField.Name(field.name))
            for line in field.lines { result.append(HTTPField(name: name, value: line)) }
        }
        return result
    }

    // MARK: The independent reading

    /// Returns the texts between the commas of lines, also those that are empty. A comma in quotation marks separates nothing.
    private static func parts(_ lines: [String]) -> [String] {
        var parts: [String] = []
        var part = ""
        var isQuoted = false
        for character in lines.joined(separator: ",") + "," {
            if character == "\"" { isQuoted.toggle() }
            if character == ",", !isQuoted {
                parts.append(part.trimmingCharacters(in: .whitespaces))
                part = ""
            } else {
                part.append(character)
            }
        }
        return parts
    }

    /// Returns the elements of a list, of which those that are empty mean nothing (RFC 9110, section 5.6.1.2).
    private static func list(_ lines: [String]) -> [String] { parts(lines).filter { !$0.isEmpty } }

    /// Returns the value of a request's field in a form that is equal for equivalent values; `nil` without the field. The field need not be
    /// a list: the number of its commas makes a difference.
    private static func value(_ name: String, of request: [Field]) -> String? {
        guard let field = request.first(where: { $0.name.lowercased() == name }) else { return nil }
        var elements = parts(field.lines)
        if name == "accept-language" || name == "accept-encoding" {
            elements = elements.map { $0.lowercased().filter { !$0.isWhitespace } }
        }
        if name == "accept-encoding" { elements.sort() }
        return elements.joined(separator: "|")
    }

    /// Returns whether a response with a `Vary` to one request is one to another.
    private static func mayServe(_ vary: [Field], _ first: [Field], _ second: [Field]) -> Bool {
        let named = vary.flatMap { list($0.lines) }.map { $0.lowercased() }
        return !named.contains("*") && named.allSatisfy { value($0, of: first) == value($0, of: second) }
    }

    // MARK: The property

    /// A response that was stored, with the request for it.
    private struct Stored {
        let request: [Field]
        let vary: [Field]
    }

    @Test func aStoredResponseServesEquivalentRequestsAlone() async throws {
        var (hits, misses) = (0, 0)
        for seed in 1...40 as ClosedRange<UInt64> {
            let counts = try await play(seed)
            hits += counts.hits
            misses += counts.misses
        }
        #expect(hits > 100 && misses > 100)
    }

    /// Plays a history, and returns the numbers of requests with and without a stored response.
    private func play(_ seed: UInt64) async throws -> (hits: Int, misses: Int) {
        var generator = SeededGenerator(seed: seed)
        let (storage, key) = (MemoryCacheStorage(), CacheKey(url: CacheWorld.url))
        var all: [Stored] = []
        var (hits, misses) = (0, 0)

        func decision(_ request: [Field], at number: Int) throws -> (CacheDecision, [CacheEntry]) {
            let entries = storage.entries(for: key)
            let candidates = entries.map { entry in
                CacheDecision.Candidate(facts: entry.facts(Boxed(CachePolicy())), length: entry.body.length)
            }
            let asked = CacheDecision.Request(method: .get, fields: CacheRequestFields(try Self.fields(request)))
            return (CacheDecision.decision(for: asked, candidates, at: CacheSamples.time(Double(number))), entries)
        }

        for number in 0..<60 {
            // A response without Vary serves all requests after it.
            if Int.random(in: 0..<6, using: &generator) == 0 { storage.removeEntries(for: key) }
            let asked =
                Bool.random(using: &generator) && !all.isEmpty
                ? Self.pick(all.map(\.request), &generator) : Self.request(&generator)
            switch try decision(asked, at: number) {
            case (.use(let use), let entries):
                let body = try #require(entries[use.index].body as? MemoryBody).data
                let stored = all[try #require(Int(String(decoding: body, as: UTF8.self)))]
                let isRight = Self.mayServe(stored.vary, stored.request, asked)
                #expect(isRight, "seed \(seed): \(asked) got the response to \(stored)")
                hits += 1
                continue
            case (.forward, _): misses += 1
            case (let other, _): Issue.record("\(other)")
            }
            // The response is stored, and is that to the same request from now on.
            let new = Stored(request: asked, vary: Self.vary(&generator))
            var headers = try Self.fields(new.vary)
            headers[.cacheControl] = "max-age=100000"
            let head = StoredHead(
                status: 200, headers: headers, requestTime: CacheSamples.time(Double(number)),
                responseTime: CacheSamples.time(Double(number)))
            all.append(new)
            let isAny = new.vary.flatMap { Self.list($0.lines) }.contains("*")
            let cached = CachedHead(head, request: try Self.fields(asked))
            let storability = CacheStorability.decision(
                CacheFacts(cached, Boxed(CachePolicy())), to: .get, CacheRequestFields(try Self.fields(asked)))
            #expect(storability == (isAny ? .refused(.varyAny) : .storable))
            // A storage may have been given a response that nothing may use.
            let writer = try storage.makeWriter(for: key, cached, length: nil)
            try await writer.write(Data("\(all.count - 1)".utf8))
            try await writer.commit()
            let again = try decision(asked, at: number).0
            if case .use = again {
                #expect(!isAny)
            } else {
                #expect(isAny, "\(new) is not the response to its own request")
            }
        }
        return (hits, misses)
    }
}
