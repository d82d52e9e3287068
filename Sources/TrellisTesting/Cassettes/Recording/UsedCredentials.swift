import CurlEngine
import FoundationEssentials
import HTTPTypes
import TrellisCore
import TrellisDiagnostics

/// The credentials that the requests of a cassette were sent with, and that its responses have set, in any form in which a recording could
/// repeat them.
struct UsedCredentials: Sendable {
    /// The length in bytes below which a credential is not looked for: short texts occur by chance.
    static let minimumLength = 8

    private var values: Set<TextBytes> = []

    /// The number of credentials.
    var count: Int { values.count }

    // MARK: Collecting

    /// Adds the credentials of a request that was not scrubbed: of its secret fields, of its cookies, and of secret items of its query.
    mutating func add(of request: HARDocument.Request) {
        add(of: request.headers)
        for cookie in request.cookies { add(cookie.value) }
        let query = request.url.utf8.drop { $0 != UInt8(ascii: "?") }.prefix { $0 != UInt8(ascii: "#") }.dropFirst()
        // The items of the request are decoded, and a URL may be repeated as it was sent.
        for (item, sent) in zip(request.queryString, query.split(separator: UInt8(ascii: "&")))
        where URLRedaction.isSecret(item.name[...]) {
            add(item.value)
            add(String(Substring(sent.drop { $0 != UInt8(ascii: "=") }.dropFirst())))
        }
    }

    /// Adds the credentials that a response sets: of its secret fields, and of its cookies.
    mutating func add(of response: ResponseHead) {
        var recorded = HARMessages.response(response)
        recorded.derive()
        add(of: recorded.headers)
        for cookie in recorded.cookies { add(cookie.value) }
    }

    private mutating func add(of fields: [HARDocument.Field]) {
        for field in fields {
            guard let name = HTTPField.Name(field.name), name != .cookie, name != .setCookie else { continue }
            var sent = HTTPField(name: name, value: field.value)
            if field.isMarkedSecret { sent.indexingStrategy = .disallow }
            let shown = SecretFields.redacted(sent)
            // What is shown in front of the mark is the scheme.
            guard shown.hasByteSuffix(BodyRedaction.mark) else { continue }
            let scheme = shown.utf8.count - BodyRedaction.mark.utf8.count
            guard field.value.utf8.prefix(scheme).elementsEqual(shown.utf8.prefix(scheme)) else { continue }
            let value = String(Substring(field.value.utf8.dropFirst(scheme)))
            add(value)
            // The password of `Basic` (RFC 7617, section 2).
            if shown.lowercasedASCII().utf8.starts(with: "basic ".utf8), let pair = Data(base64Encoded: value),
                let colon = pair.firstIndex(of: UInt8(ascii: ":"))
            {
                add(String(decoding: pair[(colon + 1)...], as: UTF8.self))
            }
        }
    }

    private mutating func add(_ value: String) {
        guard value.utf8.count >= Self.minimumLength, !value.hasSameBytes(as: BodyRedaction.mark) else { return }
        values.insert(TextBytes(value))
    }

    // MARK: Scrubbing

    /// Returns a request without the credentials.
    func scrubbed(_ request: HARDocument.Request) -> HARDocument.Request {
        guard !values.isEmpty else { return request }
        var request = request
        request.url = scrubbed(request.url)
        scrub(&request.headers)
        if let body = request.postData, let text = body.text {
            request.postData?.text = scrubbed(text, encoding: body.encoding)
        }
        request.derive()
        return request
    }

    /// Returns a recording without the credentials.
    func scrubbed(_ entry: HARDocument.Entry) -> HARDocument.Entry {
        guard !values.isEmpty else { return entry }
        var entry = entry
        entry.request = scrubbed(entry.request)
        scrub(&entry.response.headers)
        let content = entry.response.content
        entry.response.content.text = content.text.map { scrubbed($0, encoding: content.encoding) }
        entry.response.error = entry.response.error.map { scrubbed($0) }
        entry.response.derive()
        guard var replay = entry.replay else { return entry }
        replay.informational = replay.informational?.map { head in
            var head = head
            scrub(&head.headers)
            return head
        }
        if var trailers = replay.trailers {
            scrub(&trailers)
            replay.trailers = trailers
        }
        if let reason = replay.failure?.reason { replay.failure?.reason = scrubbed(reason) }
        entry.replay = replay
        return entry
    }

    /// Returns whether the credentials are in a recording of a file, in any of their forms.
    func areFound(in entry: HARDocument.Entry, _ bytes: Data) -> Bool {
        let encoded = [
            (entry.request.postData?.text, entry.request.postData?.encoding),
            (entry.response.content.text, entry.response.content.encoding),
        ]
        let bodies = encoded.compactMap { text, encoding in
            text.flatMap { HARMessages.bytes(of: $0, encoding: encoding) }
        }
        return ([bytes] + bodies).contains { !places(in: [UInt8]($0)).isEmpty }
    }

    private func scrub(_ fields: inout [HARDocument.Field]) {
        for index in fields.indices { fields[index].value = scrubbed(fields[index].value) }
    }

    private func scrubbed(_ text: String) -> String {
        scrubbed([UInt8](text.utf8)).map { String(decoding: $0, as: UTF8.self) } ?? text
    }

    private func scrubbed(_ text: String, encoding: String?) -> String {
        guard let encoding else { return scrubbed(text) }
        guard let bytes = HARMessages.bytes(of: text, encoding: encoding) else { return text }
        return scrubbed([UInt8](bytes)).map { Data($0).base64EncodedString() } ?? text
    }

    /// Returns bytes without the credentials; `nil` if there are none.
    private func scrubbed(_ bytes: [UInt8]) -> [UInt8]? {
        let places = places(in: bytes)
        guard !places.isEmpty else { return nil }
        var (result, end) = ([UInt8](), 0)
        for place in places {
            result += bytes[end..<place.lowerBound]
            result += BodyRedaction.mark.utf8
            end = place.upperBound
        }
        return result + bytes[end...]
    }

    // MARK: Searching

    /// Returns the places of the credentials in order: as they are, in JSON, in JSON within JSON, in URLs and in forms.
    private func places(in bytes: [UInt8]) -> [Range<Int>] {
        let plain = DecodedBytes(bytes)
        let once = plain.withoutEscapesOfJSON()
        let forms = [plain, once, once?.withoutEscapesOfJSON()].compactMap(\.self)
        let decoded =
            forms
            + forms.flatMap { form in
                [form.withoutPercentEncoding(plusIsBlank: false), form.withoutPercentEncoding(plusIsBlank: true)]
            }.compactMap(\.self)
        let found = decoded.flatMap { form in values.flatMap { form.places(of: $0.text) } }
        var places: [Range<Int>] = []
        for place in found.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = places.last, place.lowerBound < last.upperBound {
                places[places.count - 1] = last.lowerBound..<max(last.upperBound, place.upperBound)
            } else {
                places.append(place)
            }
        }
        return places
    }
}

/// Bytes without an encoding that they have, with the places at which they stand in the encoded ones.
private struct DecodedBytes {
    private var bytes: [UInt8]
    /// The indices after the characters that were decoded, and their places.
    private var shifts: [(index: Int, place: Int)] = []

    /// Creates bytes without an encoding.
    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Returns the bytes without the escapes of JSON's strings (RFC 8259, section 7); `nil` if there are none. A writer may escape any
    /// character.
    func withoutEscapesOfJSON() -> DecodedBytes? {
        guard bytes.contains(UInt8(ascii: "\\")) else { return nil }
        return decoded { index in
            guard bytes[index] == UInt8(ascii: "\\"), index + 1 < bytes.count else { return nil }
            let byte = bytes[index + 1]
            if byte != UInt8(ascii: "u") { return ([Self.escapes[byte] ?? byte], 2) }
            guard let unit = unit(at: index) else { return nil }
            if UTF16.isLeadSurrogate(unit), let next = unitOfEscape(at: index + 6), UTF16.isTrailSurrogate(next) {
                return (Array(String(decoding: [unit, next], as: UTF16.self).utf8), 12)
            }
            return (Array(String(decoding: [unit], as: UTF16.self).utf8), 6)
        }
    }

    /// Returns the bytes without percent-encoding (RFC 3986, section 2.1); `nil` if they have none.
    ///
    /// - Parameter plusIsBlank: Whether a plus sign stands for a blank, as in forms.
    func withoutPercentEncoding(plusIsBlank: Bool) -> DecodedBytes? {
        guard bytes.contains(plusIsBlank ? UInt8(ascii: "+") : UInt8(ascii: "%")) else { return nil }
        return decoded { index in
            if plusIsBlank, bytes[index] == UInt8(ascii: "+") { return ([UInt8(ascii: " ")], 1) }
            guard bytes[index] == UInt8(ascii: "%"), let value = number(index + 1..<index + 3) else { return nil }
            return ([UInt8(value)], 3)
        }
    }

    /// Returns the places of a text in the encoded bytes.
    func places(of text: String) -> [Range<Int>] {
        var (found, rest) = ([Range<Int>](), bytes[...])
        while let range = rest.firstRange(of: text.utf8) {
            found.append(place(of: range.lowerBound)..<place(of: range.upperBound))
            rest = rest[range.upperBound...]
        }
        return found
    }

    /// Returns the place of the byte at an index, which begins a character, or the end of the last one.
    private func place(of index: Int) -> Int {
        var (low, high) = (0, shifts.count)
        while low < high {
            let middle = (low + high) / 2
            if shifts[middle].index <= index { low = middle + 1 } else { high = middle }
        }
        return low == 0 ? index : shifts[low - 1].place + index - shifts[low - 1].index
    }

    private static let escapes: [UInt8: UInt8] = [
        UInt8(ascii: "b"): 8, UInt8(ascii: "t"): 9, UInt8(ascii: "n"): 10, UInt8(ascii: "f"): 12, UInt8(ascii: "r"): 13,
    ]

    /// Returns the code unit of an escape such as `\u0026`; `nil` if there is no other than a backslash at the index.
    private func unit(at index: Int) -> UInt16? { number(index + 2..<index + 6).map { UInt16($0) } }

    private func unitOfEscape(at index: Int) -> UInt16? {
        guard index + 1 < bytes.count, bytes[index] == UInt8(ascii: "\\"), bytes[index + 1] == UInt8(ascii: "u") else {
            return nil
        }
        return unit(at: index)
    }

    /// Returns the number of hexadecimal digits; `nil` if they are none.
    private func number(_ range: Range<Int>) -> Int? {
        guard range.upperBound <= bytes.count else { return nil }
        var number = 0
        for byte in bytes[range] {
            guard let value = byte.hexValue else { return nil }
            number = number << 4 | Int(value)
        }
        return number
    }

    /// Returns the decoded bytes.
    ///
    /// - Parameter decode: Returns the bytes that an encoded character at an index stands for, and its length; `nil` if there is none.
    private func decoded(_ decode: (Int) -> (bytes: [UInt8], length: Int)?) -> DecodedBytes {
        var (result, index, shift) = (DecodedBytes([]), 0, 0)
        while index < bytes.count {
            if let character = decode(index) {
                result.bytes += character.bytes
                index += character.length
                result.shifts.append((result.bytes.count, place(of: index)))
            } else {
                result.bytes.append(bytes[index])
                index += 1
                guard shift < shifts.count, shifts[shift].index <= index else { continue }
                result.shifts.append((result.bytes.count, place(of: index)))
            }
            while shift < shifts.count, shifts[shift].index <= index { shift += 1 }
        }
        return result
    }
}
