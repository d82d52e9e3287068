import CurlEngine
import FoundationEssentials
import HTTPTypes
import Trellis

/// The credentials that the requests of a cassette were sent with, and that its responses have set, in any form in which a recording could
/// repeat them.
struct UsedCredentials: Sendable {
    /// The length in bytes below which a credential is not looked for: short texts occur by chance.
    static let minimumLength = 8

    private var values: Set<TextBytes> = []
    /// The forms of the credentials, longer ones first.
    private var forms: [String] = []

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
        where TransportRequest.isSecret(item.name) {
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
            let shown = TransportRequest.redactedValue(of: sent)
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
        guard value.utf8.count >= Self.minimumLength, !value.hasSameBytes(as: BodyRedaction.mark),
            values.insert(TextBytes(value)).inserted
        else { return }
        let known = Set(forms.map { TextBytes($0) })
        forms += Self.forms(of: value).filter { !known.contains($0) }.map(\.text)
        forms.sort { $0.utf8.count > $1.utf8.count }
    }

    /// Returns a text as it stands in bodies, in JSON, in JSON within JSON, in URLs and in forms.
    private static func forms(of value: String) -> Set<TextBytes> {
        let escaped = String(ScrubbedText.quoted(value).dropFirst().dropLast())
        let slashes = ScrubbedText.replacing("/", with: "\\/", in: escaped)
        let twice = [escaped, slashes].map { String(ScrubbedText.quoted($0).dropFirst().dropLast()) }
        // A query that the session encodes keeps slashes and question marks.
        let encoded = ["", "/?"].flatMap { kept in
            ["0123456789ABCDEF", "0123456789abcdef"].map { percentEncoded(value, keeping: kept, $0) }
        }
        let form = encoded.map { ScrubbedText.replacing("%20", with: "+", in: $0) }
        return Set(([value, escaped, slashes] + encoded + twice + form).map { TextBytes($0) })
    }

    /// Returns a text in which every byte is percent-encoded that is neither unreserved (RFC 3986, section 2.3) nor kept.
    private static func percentEncoded(_ text: String, keeping kept: String, _ digits: String) -> String {
        let digits = Array(digits.utf8)
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E: bytes.append(byte)
            case _ where kept.utf8.contains(byte): bytes.append(byte)
            default: bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    // MARK: Scrubbing

    /// Returns a request without the credentials.
    func scrubbed(_ request: HARDocument.Request) -> HARDocument.Request {
        guard !forms.isEmpty else { return request }
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
        guard !forms.isEmpty else { return entry }
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
        return ([bytes] + bodies).contains { body in forms.contains { body.firstRange(of: $0.utf8) != nil } }
    }

    private func scrub(_ fields: inout [HARDocument.Field]) {
        for index in fields.indices { fields[index].value = scrubbed(fields[index].value) }
    }

    private func scrubbed(_ text: String) -> String {
        forms.reduce(text) { ScrubbedText.replacing($1, with: BodyRedaction.mark, in: $0) }
    }

    private func scrubbed(_ text: String, encoding: String?) -> String {
        guard let encoding else { return scrubbed(text) }
        guard var bytes = HARMessages.bytes(of: text, encoding: encoding) else { return text }
        var isChanged = false
        for form in forms {
            while let range = bytes.firstRange(of: form.utf8) {
                bytes.replaceSubrange(range, with: BodyRedaction.mark.utf8)
                isChanged = true
            }
        }
        return isChanged ? bytes.base64EncodedString() : text
    }
}
