import CurlEngine
import Testing

@testable import TrellisCore
@testable import TrellisNameServices

/// Questions and responses of DNS, including malformed ones.
struct DNSMessageTests {
    /// The question for the IPv4 addresses of `www.example.com`, as RFC 8484, section 4.1.1, prints it.
    private static let question: [UInt8] =
        [
            0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 3, 0x77, 0x77, 0x77, 7, 0x65, 0x78, 0x61, 0x6d, 0x70, 0x6c, 0x65, 3,
            0x63, 0x6f,
        ]
        + [0x6d, 0, 0, 1, 0, 1]

    private func query(_ name: String = "www.example.com", _ type: DNSRecordType = .a) throws -> DNSQuery {
        DNSQuery(name: try #require(DNSName(name)), type: type)
    }

    @Test func aQuestionIsThatOfTheStandard() throws {
        #expect(try query().bytes == Self.question)
        #expect(try query("WWW.example.COM").bytes == Self.question)
        #expect(try query("a", .aaaa).bytes.suffix(7) == [1, 0x61, 0, 0, 28, 0, 1])
    }

    static let longest = Array(repeating: String(repeating: "a", count: 61), count: 4).joined(separator: ".") + ".abcde"

    @Test(arguments: ["", ".", "a..", ".a", "a..b", String(repeating: "a", count: 64), longest + "x"])
    func whatIsNoNameIsNotAsked(_ name: String) { #expect(DNSName(name) == nil) }

    @Test func theLongestNameIsAsked() {
        #expect(DNSName(Self.longest)?.bytes.count == DNSName.maximumLength)
        #expect(DNSName(String(repeating: "a", count: 63)) != nil)
    }

    // MARK: Responses

    /// A name as labels, or as a pointer to a position.
    private static func name(_ text: String) -> [UInt8] { DNSName(text)?.bytes ?? [0] }
    /// A pointer to the name of the question.
    private static let pointer: [UInt8] = [0xC0, 12]

    private static func record(
        _ owner: [UInt8], _ type: UInt8, _ data: [UInt8], timeToLive: [UInt8] = [0, 0, 0, 60], recordClass: UInt8 = 1
    ) -> [UInt8] {
        owner + [0, type, 0, recordClass] + timeToLive + [0, UInt8(data.count)] + data
    }

    private static func response(
        _ records: [[UInt8]], flags: [UInt8] = [0x81, 0x80], question: [UInt8] = question, count: Int? = nil
    ) -> [UInt8] {
        [0, 0] + flags + [0, 1, 0, UInt8(count ?? records.count), 0, 0, 0, 0] + question[12...] + records.joined()
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let records: [[UInt8]]
        let addresses: [String]
        let timeToLive: UInt32
    }

    static let rows = [
        Row(
            testDescription: "two addresses",
            records: [
                record(pointer, 1, [192, 0, 2, 1]), record(pointer, 1, [192, 0, 2, 2], timeToLive: [0, 0, 0, 9]),
            ], addresses: ["192.0.2.1", "192.0.2.2"], timeToLive: 9),
        Row(testDescription: "no records", records: [], addresses: [], timeToLive: 0),
        Row(
            testDescription: "the owner in another case and without compression",
            records: [record(name("WWW.Example.Com"), 1, [192, 0, 2, 1])], addresses: ["192.0.2.1"], timeToLive: 60),
        Row(
            testDescription: "aliases in any order",
            records: [
                record(name("c.example"), 1, [192, 0, 2, 3]),
                record(name("b.example"), 5, name("c.example"), timeToLive: [0, 0, 0, 5]),
                record(pointer, 5, name("b.example")),
            ], addresses: ["192.0.2.3"], timeToLive: 5),
        Row(
            testDescription: "an alias with compression",
            records: [
                record(pointer, 5, [1, 0x61, 0xC0, 16]), record(name("a.example.com"), 1, [192, 0, 2, 1]),
            ], addresses: ["192.0.2.1"], timeToLive: 60),
        Row(
            testDescription: "an alias without addresses", records: [record(pointer, 5, name("b.example"))],
            addresses: [], timeToLive: 0),
        Row(
            testDescription: "records of other types and classes, and of other names",
            records: [
                record(pointer, 46, [1, 2, 3]), record(pointer, 65, []), record(pointer, 28, [1]),
                record(pointer, 1, [9, 9, 9, 9], recordClass: 3), record(name("other.example"), 1, [9, 9, 9, 9]),
                record([0], 41, [0, 0, 0, 0]), record(pointer, 1, [192, 0, 2, 1]),
            ], addresses: ["192.0.2.1"], timeToLive: 60),
        Row(
            testDescription: "a time with the first bit set",
            records: [record(pointer, 1, [192, 0, 2, 1], timeToLive: [0x80, 0, 0, 1])], addresses: ["192.0.2.1"],
            timeToLive: 0),
        Row(
            testDescription: "sixteen aliases",
            records: chain(16) + [record(name("n16.example"), 1, [192, 0, 2, 1])], addresses: ["192.0.2.1"],
            timeToLive: 60),
    ]

    /// A chain of aliases from the name of the question to `n‹count›.example`.
    private static func chain(_ count: Int) -> [[UInt8]] {
        (1...count).map { number in
            record(number == 1 ? pointer : name("n\(number - 1).example"), 5, name("n\(number).example"))
        }
    }

    @Test(arguments: rows)
    func aResponseIsRead(_ row: Row) throws {
        let answer = try DNSAnswer(Self.response(row.records), to: query())
        #expect(answer.addresses.map(\.description) == row.addresses && answer.timeToLive == row.timeToLive)
    }

    @Test func ipv6AddressesAreRead() throws {
        let query = try query("a.example", .aaaa)
        let address: [UInt8] = [0x20, 1, 0xd, 0xb8] + Array(repeating: 0, count: 11) + [1]
        let response = Self.response(
            [Self.record(Self.pointer, 28, address), Self.record(Self.pointer, 1, [1, 1, 1, 1])], question: query.bytes)
        #expect(try DNSAnswer(response, to: query).addresses.map(\.description) == ["2001:db8::1"])
    }

    /// The rest of a message after the records of the answer is not read: an authority section, additional records, or garbage.
    @Test func theRestIsNotRead() throws {
        let response = Self.response([Self.record(Self.pointer, 1, [192, 0, 2, 1])]) + [0xFF, 0xFF, 0xFF]
        #expect(try DNSAnswer(response, to: query()).addresses.count == 1)
    }

    // MARK: Failures

    static let codes: [(UInt8, DNSFailure)] = [
        (1, .refused(code: 1)), (2, .refused(code: 2)), (3, .noSuchName), (5, .refused(code: 5)),
        (15, .refused(code: 15)),
    ]

    @Test(arguments: codes)
    func theCodeIsTheFailure(_ code: UInt8, _ failure: DNSFailure) throws {
        let query = try query()
        #expect(throws: failure) { try DNSAnswer(Self.response([], flags: [0x81, 0x80 | code]), to: query) }
        // The question may be left out.
        #expect(throws: failure) {
            try DNSAnswer([0, 0, 0x81, 0x80 | code] + Array(repeating: 0, count: 8), to: query)
        }
    }

    struct Malformed: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let bytes: [UInt8]

        init(_ name: String, _ bytes: [UInt8]) { (testDescription, self.bytes) = (name, bytes) }
    }

    private static let address = record(pointer, 1, [192, 0, 2, 1])
    /// The position of the first record.
    private static let start = UInt8(question.count)

    static let malformed = [
        Malformed("nothing", []), Malformed("the question itself", question),
        Malformed("another number", [0, 1] + response([address]).dropFirst(2)),
        Malformed("another operation", response([address], flags: [0x91, 0x80])),
        Malformed("cut short, as it says", response([address], flags: [0x83, 0x80])),
        Malformed("no question", [0, 0, 0x81, 0x80, 0, 0, 0, 1, 0, 0, 0, 0] + address),
        Malformed("another name", response([address], question: question[..<12] + name("a") + [0, 1, 0, 1])),
        Malformed("another type", response([address], question: question.dropLast(3) + [28, 0, 1])),
        Malformed("another class", response([address], question: question.dropLast(1) + [3])),
        Malformed("more records than there are", response([address], count: 2)),
        Malformed("255 records, of which none is there", response([], count: 255)),
        Malformed("an address of five bytes", response([record(pointer, 1, [1, 2, 3, 4, 5])])),
        Malformed("an address without bytes", response([record(pointer, 1, [])])),
        Malformed(
            "a record that is longer than the message", response([pointer + [0, 16, 0, 1, 0, 0, 0, 1, 0xFF, 0xFF, 1]])),
        Malformed("a pointer to itself", response([record([0xC0, start], 1, [1, 2, 3, 4])])),
        Malformed("a pointer ahead", response([record([0xC0, start + 4], 1, [1, 2, 3, 4])])),
        Malformed("a pointer beyond the end", response([record([0xFF, 0xFF], 1, [1, 2, 3, 4])])),
        Malformed("two pointers to each other", response([record([0xC0, start + 2, 0xC0, start], 1, [1, 2, 3, 4])])),
        Malformed("a name that leads back to itself", response([record([1, 0x61, 0xC0, start], 1, [1, 2, 3, 4])])),
        Malformed("half a pointer", response([[0xC0]])), Malformed("a label that ends early", response([[63, 0x61]])),
        Malformed("a label of an unknown kind", response([record([0x41, 0x61, 0], 1, [1, 2, 3, 4])])),
        Malformed("a label of another unknown kind", response([record([0x81, 0x61, 0], 1, [1, 2, 3, 4])])),
        Malformed(
            "a name of 256 bytes",
            response([
                record(Array(repeating: [63] + Array(repeating: 0x61, count: 63), count: 4).joined() + [0], 1, [])
            ])),
        Malformed("an alias that is longer than its record", response([record(pointer, 5, [1, 0x61])]) + [0]),
        Malformed("an alias that is shorter than its record", response([record(pointer, 5, [0, 0])])),
        Malformed("an alias of itself", response([record(pointer, 5, pointer)])),
        Malformed("seventeen aliases", response(chain(17) + [record(name("n17.example"), 1, [192, 0, 2, 1])])),
    ]

    @Test(arguments: malformed)
    func whatIsNoResponseIsAnError(_ row: Malformed) throws {
        let query = try query()
        let error = #expect(throws: DNSFailure.self) { try DNSAnswer(row.bytes, to: query) }
        guard case .malformed(let reason)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(!reason.isEmpty)
    }

    /// A name has no more pointers than labels are possible, so that the records of a message cannot each begin a long chain.
    @Test func aNameHasAtMost127Pointers() throws {
        func response(pointers count: Int) -> [UInt8] {
            func pointer(_ place: Int) -> [UInt8] { [0xC0 | UInt8(place >> 8), UInt8(place & 0xFF)] }
            // The first of the pointers in a text leads to the question, and each of the others to the one before it.
            let text = Int(Self.start) + 12
            let pointers = (0..<(count - 1)).flatMap { pointer($0 == 0 ? 12 : text + 2 * ($0 - 1)) }
            return Self.response([
                Self.record(Self.pointer, 16, pointers),
                Self.record(pointer(text + 2 * (count - 2)), 1, [192, 0, 2, 1]),
            ])
        }
        let query = try query()
        #expect(try DNSAnswer(response(pointers: 127), to: query).addresses.count == 1)
        #expect(throws: DNSFailure.malformed("a name has too many pointers")) {
            try DNSAnswer(response(pointers: 128), to: query)
        }
    }

    /// Every beginning of a response is an error, and every change of one byte is read or is an error.
    @Test func noMessageIsReadBeyondItsEnd() throws {
        let query = try query()
        for row in Self.rows {
            let response = Self.response(row.records)
            let cuts = response.indices.filter { (try? DNSAnswer(Array(response[..<$0]), to: query)) != nil }
            #expect(row.records.isEmpty || cuts == [])
            for index in response.indices {
                for byte in [0, 1, 0x3F, 0x40, 0x80, 0xC0, 0xFF] as [UInt8] {
                    var changed = response
                    changed[index] = byte
                    _ = try? DNSAnswer(changed, to: query)
                }
            }
        }
    }

    // MARK: Two questions

    private func result(_ addresses: [String], _ seconds: Int = 60) throws -> Result<ResolvedAddresses, any Error> {
        .success(try ResolvedAddresses(addresses, timeToLive: .seconds(seconds)))
    }

    @Test func ipv6AddressesAreFirst() throws {
        let both = try DNSOverHTTPS.joined(result(["::1"], 9), result(["192.0.2.1"], 60))
        #expect(both.addresses == ["::1", "192.0.2.1"] && both.timeToLive == .seconds(9))
    }

    /// This network may not have the version of IP of the addresses that are there.
    @Test func anIncompleteAnswerIsNotKeptForLong() throws {
        let failed = Result<ResolvedAddresses, any Error>.failure(DNSFailure.refused(code: 2))
        for other in [nil, failed] {
            #expect(try DNSOverHTTPS.joined(result(["::1"], 3600), other).timeToLive == .seconds(10))
            #expect(try DNSOverHTTPS.joined(other, result(["192.0.2.1"], 3600)).timeToLive == .seconds(10))
        }
        #expect(try DNSOverHTTPS.joined(result([], 0), result(["192.0.2.1"], 3600)).timeToLive == .seconds(3600))
    }

    @Test func oneVersionIsEnough() throws {
        let failed = Result<ResolvedAddresses, any Error>.failure(DNSFailure.refused(code: 2))
        for other in [failed, try result([], 0)] {
            #expect(try DNSOverHTTPS.joined(other, result(["192.0.2.1"])).addresses == ["192.0.2.1"])
            #expect(try DNSOverHTTPS.joined(result(["::1"]), other).addresses == ["::1"])
            #expect(throws: DNSFailure.refused(code: 2)) { try DNSOverHTTPS.joined(other, failed) }
            #expect(throws: DNSFailure.refused(code: 2)) { try DNSOverHTTPS.joined(failed, other) }
        }
        #expect(try DNSOverHTTPS.joined(result([]), result([])).addresses == [])
    }

    @Test(arguments: ["http://dns.example/", "dns.example", "ftp://dns.example/", "", "https://"])
    func aServerHasAnHTTPSURL(_ url: String) {
        let error = #expect(throws: TrellisError.self) { try DNSOverHTTPS(url) }
        #expect(error?.kind == .invalidURL)
    }

    @Test func aTemplateIsAURL() throws {
        #expect(try DNSOverHTTPS("https://dns.example/q{?dns}").url == "https://dns.example/q")
        #expect(try DNSOverHTTPS("http://127.0.0.1:1/q").url == "http://127.0.0.1:1/q")
        #expect(throws: TrellisError.self) { try DNSOverHTTPS("https://dns.example/", bootstrap: ["dns.example"]) }
    }

    @Test func aDotAtTheEndOfANameSaysNothing() {
        #expect(DNSName("api.example.com.") == DNSName("api.example.com"))
        #expect(DNSName("api.example.com..") == nil && DNSName(".") == nil)
    }

    /// The URL of a server may have credentials.
    @Test func aResolverIsShownWithoutItsSecrets() throws {
        let resolver = try DNSOverHTTPS("https://ada:hush@dns.example/dns-query?token=hush")
        var configuration = SessionConfiguration()
        configuration.resolver = resolver
        var dumped = ""
        dump(resolver, to: &dumped)
        for text in ["\(resolver)", String(reflecting: resolver), dumped, "\(configuration)"] {
            #expect(text.contains("DNSOverHTTPS(https://dns.example/dns-query?token=REDACTED)"))
            #expect(!text.contains("hush"))
        }
    }
}
