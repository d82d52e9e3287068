@testable import CurlEngine

/// Checks that a response on HTTP/1.1 does not depend on how its bytes are cut, and that its fields and its body keep their rules.
func fuzzResponse(_ input: FuzzInput) {
    let traits = HTTP1RequestTraits(rawValue: input.choice & 15)
    let limit = input.choice & 0x80 == 0 ? 1 << 16 : 64
    let whole = ResponseOutcome([input.body], traits, limit)
    for pieces in input.cuts {
        expect(ResponseOutcome(pieces, traits, limit) == whole, "the response depends on the cut")
    }
    for fields in whole.heads.map(\.fields) + [whole.trailers] {
        expect(fields.bytes.count <= 2 * limit, "more than the limit")
        var count = 0
        fields.forEachLine { line, parts in
            count += 1
            expect(parts.nameEnd > 0 && parts.nameEnd < line.count, "a line without a name")
            expect(line.indices.allSatisfy { ![0, 10, 13].contains(line[$0]) }, "a line with a line break")
        }
        expect(count == fields.count, "another number of fields")
    }
    if whole.isReusable {
        expect(whole.hasEnded && whole.failure == nil, "a connection is reused in the middle of a response")
        expect(whole.framing != .untilEnd, "a connection is reused after its end")
        expect(whole.rest.isEmpty, "a connection is reused after bytes that nobody asked for")
    }
    if case .length(let length) = whole.framing, whole.hasEnded { expect(whole.body.count == length, "another length") }
    if whole.framing == .none { expect(whole.body.isEmpty, "a body where there is none") }
    expect(whole.body.count + whole.rest.count <= input.body.count, "bytes that were not sent")
}

/// What the decoder gives for the bytes of a connection that then ends.
private struct ResponseOutcome: Equatable {
    var heads: [WireHead] = []
    var body: [UInt8] = []
    var trailers = WireFields()
    var rest: [UInt8] = []
    var failure: EngineFailure.Kind?
    var framing = HTTP1ResponseDecoder.Framing.none
    var hasEnded = false
    var isReusable = false

    init(_ pieces: [[UInt8]], _ traits: HTTP1RequestTraits, _ limit: Int) {
        var decoder = HTTP1ResponseDecoder(traits, limit: limit)
        do throws(EngineFailure) {
            for piece in pieces { try read(piece, &decoder) }
            isReusable = decoder.isReusable
            if !decoder.hasEnded, !decoder.hasSwitched { _ = try decoder.connectionEnded() }
        } catch {
            failure = error.kind
            var position = 0
            let event = try? decoder.next(in: [UInt8(0x61)].span.bytes, at: &position)
            if case .more? = event {
                expect(position == 1, "bytes were left")
            } else {
                expect(false, "an event after a failure")
            }
        }
        (framing, hasEnded) = (decoder.framing, decoder.hasEnded)
    }

    private mutating func read(_ piece: [UInt8], _ decoder: inout HTTP1ResponseDecoder) throws(EngineFailure) {
        var position = 0
        var isComplete = decoder.hasEnded || decoder.hasSwitched
        while !isComplete {
            let start = position
            switch try decoder.next(in: piece.span.bytes, at: &position) {
            case .more:
                expect(position == piece.count, "bytes were left")
                return
            case .informational(let head), .head(let head): heads.append(head)
            case .body(let range):
                expect(!range.isEmpty && range.lowerBound >= start && range.upperBound == position, "another range")
                body += piece[range]
            case .end(let fields): (trailers, isComplete) = (fields, true)
            case .switched(let head):
                heads.append(head)
                isComplete = true
            }
        }
        rest += piece[position...]
        _ = try decoder.next(in: piece.span.bytes, at: &position)
    }
}

/// Checks that the head of a request has the fields that it was made of, and no others, whatever they hold.
func fuzzRequest(_ input: FuzzInput) {
    guard let url = try? WireURL(parsing: "http://example.com:81/a?b") else { return }
    var choices = input.choices
    let method = choices.bool() ? "PUT" : choices.text()
    var lines = HeaderLines()
    while !choices.isEmpty { _ = lines.append(name: choices.bool() ? "X-Name" : choices.text(), value: choices.text()) }
    let body: [TransferOptions.Body] = [.none, .bytes([0x62]), .stream(length: 7), .stream(length: nil)]
    let options = TransferOptions(
        url: url, method: method, headerLines: lines, body: body[Int(input.choice) % 4], version: .http1)
    var encoder = HTTP1RequestEncoder(defaults: HeaderLines())
    var bytes = Array("before\r\n".utf8)
    let before = bytes.count
    guard let outgoing = try? encoder.append(options, to: &bytes) else {
        return expect(bytes.count == before, "a part of a malformed head is left")
    }
    let head = String(decoding: bytes[before...], as: UTF8.self)
    let parts = head.utf8.split(separator: 13, omittingEmptySubsequences: false)
    let hasBody = input.choice % 4 == 1 && !outgoing.traits.contains(.expectsContinue)
    let fixed = [0, 1, 1, 1][Int(input.choice) % 4]
    expect(parts.first.map { $0.elementsEqual("\(method) /a?b HTTP/1.1".utf8) } ?? false, "another request line")
    // The request line, Host, perhaps Accept, the fields, the framing, the empty line, and what follows it.
    expect(parts.count - 3 <= lines.count + 2 + fixed, "a field was smuggled in")
    expect(
        parts.dropFirst().allSatisfy { $0.first == 10 && !$0.dropFirst().contains(10) && !$0.contains(0) },
        "a line break")
    expect(parts.dropLast(2).dropFirst().allSatisfy { $0.contains(UInt8(ascii: ":")) }, "a line that is no field")
    expect(parts.dropLast().last?.elementsEqual([10]) ?? false, "no empty line")
    expect(parts.last?.elementsEqual(hasBody ? [10, 0x62] : [10]) ?? false, "another body")
}
